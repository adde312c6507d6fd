#!/usr/bin/env bash
# Settings that no shipped spec has, on the emulator.
set -eu
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }

# verify ARGUMENT... - shows the closing line, or what is wrong.
verify() {
    "$TMAGEN" verify --device emu --schedules 1 -o "$TMPDIR/out" "$@" >"$TMPDIR/table" || {
        grep -v ' ok ' "$TMPDIR/table"
        exit 1
    }
    tail -n 1 "$TMPDIR/table"
}

# Descriptors without a swizzle in a cluster: an address has the CTA's rank in it.
verify gemm_phase5 --shape 256x256x72 --set swizzle_bits.a=0 --set swizzle_bits.b=0

# Clusters in both directions, the 32-byte swizzle of D.
verify --shape 600x392x136 gemm_phase5 \
    --set cluster.n=2 --set epilogue.store=tma --set swizzle_bits.d=5
verify --shape 600x392x136 gemm_128x128_pingpong \
    --set cluster.n=2

# Vectors narrower than 16 bytes: rows that they cut in all ways.
verify deform_attn_phase0 --set 'vector=[2,4,8]' \
    --set problem.heads=3 --set problem.channels=24 --set 'problem.levels=[[3,1],[5,7]]' \
    --set problem.points=3 --set 'value_layout=[given,paired]'
verify deform_attn_phase0 --set 'vector=[1,2]' \
    --set problem.dtype=fp32 --set problem.padded=false --set 'problem.levels=[[3,1],[5,7]]'
