#!/usr/bin/env bash
# What verify says of a kernel whose template has a bug: the template's line, and the seed with
# which it comes again.
set -u
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
# shellcheck source=tests/checks.sh
. tests/checks.sh
# verify ARGUMENT... - must find something, on the emulator.
verify() {
    exits 1 "$TMAGEN" verify --templates "$TMPDIR/templates" --shape 72x72x72 --schedules 3 \
        gemm_64x64 "$@"
}

mkdir "$TMPDIR/templates" && cp -r templates/gemm "$TMPDIR/templates"
stage=$TMPDIR/templates/gemm/operand/load.cu.in
line=$(grep -n 'mbarrier_arrive_expect_tx(full, STAGE_BYTES)' "$stage" | head -n 1 | cut -d: -f1)
[ -n "$line" ] || { echo "the template has changed: where does it expect?"; exit 1; }
sed -i "${line}s|STAGE_BYTES|STAGE_BYTES + 16|" "$stage"

verify --device emu
says '^gemm_64x64 +72x72x72 +BROKEN +gemm_64x64: the emulator reports$' \
    '^    deadlock in gemm_64x64, CTA \(0,0,0\)$' \
    'consumer warps 0..3 +waits for full\[0\].*/multiply.cu.in:[0-9]+, in .*/mbarrier.cuh:[0-9]+' \
    ' 16 bytes still due' 'in the order of seed 0$' '^1 cases, 1 wrong'
line=$(sed -nE 's/.* waits for full.*multiply.cu.in:([0-9]+).*/\1/p' "$TMPDIR/out")
multiply=templates/gemm/mma/wgmma/multiply.cu.in
sed -n "${line:-1}p" $multiply | grep -q 'mbarrier_wait_parity(&smem.full' ||
    { echo "line ${line:-none} of multiply.cu.in waits for nothing"; failed=1; }
# an inlined line is the caller's and its own, each with its file: the partial, then the wrapper
line=$(grep -n 'mbarrier_arrive_expect_tx(full, STAGE_BYTES' "$stage" | head -n 1 | cut -d: -f1)
inner=$(grep -n 'expect_tx.shared' templates/ptx/mbarrier.cuh | head -n 1 | cut -d: -f1)
says "  expected by producer warp 4 at [^ ]*\.cu\.in:[0-9]+, in [^ ]*/load\.cu\.in:$line, \
in templates/ptx/mbarrier\.cuh:($inner|$((inner + 1))) \(gemm_64x64\.cu:"
verify --device emu:5
says 'in the order of seed 5$'
verify --device emu --json
says '^\{"kernel":"gemm_64x64".*"verdict":"BROKEN".*"report":"deadlock in gemm_64x64.*seed 0'
exit $failed
