#!/usr/bin/env bash
# Every shipped spec on the emulator, on the record's data: every bit as an H200 gave it; and what no
# shipped spec has. Fresh data: emu_shapes.sh.
set -eu
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
export TMAGEN_CACHE=$BUILD/tmp/specs
record=tests/emu/results.jsonl

# verify ARGUMENT... - shows the closing line, or what is wrong.
verify() {
    "$TMAGEN" verify "$@" >"$TMPDIR/table" || {
        grep -v ' ok ' "$TMPDIR/table"
        exit 1
    }
    tail -n 1 "$TMPDIR/table"
}

specs=()
for spec in specs/*.yaml; do
    case $spec in
    */gemm_4096.yaml) ;;    # fixed at a size that takes most of a minute
    */gemm_fc1.yaml) ;;     # tanh.approx: within its bound, not bit for bit; emu_shapes.sh has it
    */gemm_fc2.yaml | */gemm_patch_embedding.yaml | */quantise_*) ;;    # no H200 has recorded them yet
    *) specs+=("$spec") ;;
    esac
done
verify --device emu:1 --schedules 1 --against "$record" "${specs[@]}"
[ -n "${SANITIZED:-}" ] ||
    verify --device emu --schedules 1 --against "$record" --shape 4096x4096x4096 gemm_4096

# Descriptors without a swizzle in a cluster, which no shipped spec has: an address has the CTA's
# rank in it.
"$TMAGEN" verify --device emu --shape 256x256x72 --set swizzle_bits.a=0 --set swizzle_bits.b=0 \
    -o "$TMPDIR/out" gemm_phase5

# What else no shipped gemm has: clusters in both directions, the 32-byte swizzle of D.
verify --device emu --schedules 1 -o "$TMPDIR/out" --shape 600x392x136 gemm_phase5 \
    --set cluster.n=2 --set epilogue.store=tma --set swizzle_bits.d=5
verify --device emu --schedules 1 -o "$TMPDIR/out" --shape 600x392x136 gemm_128x128_pingpong \
    --set cluster.n=2

# Vectors narrower than 16 bytes, which no shipped spec has either: rows that they cut in all ways.
verify --device emu --schedules 1 -o "$TMPDIR/out" deform_attn_phase0 --set 'vector=[2,4,8]' \
    --set problem.heads=3 --set problem.channels=24 --set 'problem.levels=[[3,1],[5,7]]' \
    --set problem.points=3 --set 'value_layout=[given,paired]'
verify --device emu --schedules 1 -o "$TMPDIR/out" deform_attn_phase0 --set 'vector=[1,2]' \
    --set problem.dtype=fp32 --set problem.padded=false --set 'problem.levels=[[3,1],[5,7]]'
