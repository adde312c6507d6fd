#!/usr/bin/env bash
# A spec's kernel straight on the emulator, at a shape: what is found and what it took, as of a
# launch file, and no reference.
set -u
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
# shellcheck source=tests/checks.sh
. tests/checks.sh
emulate() { exits "$1" "$TMAGEN" emulate "${@:2}"; }

emulate 0 gemm_64x64 --shape 136x136x72
says '^gemm_64x64: nothing found, 136x136x72, grid 4x1x1, block 256x1x1, 1 order$' \
    '^  [0-9]+ thread instructions in [0-9.]+ s of a core; [0-9.]+ M a second$'
emulate 0 specs/gemm_64x64.yaml --set stages=3 --shape 136x136x72 --schedules 3 --seed 5
says '3 orders$'
emulate 0 quantise_phase0 --shape 3x256/special
says '3x256/special'

# What cannot be run says why.
emulate 2 gemm_64x64 --shape 136x136x73
says 'error: gemm_64x64: k = 73 is not a multiple of 8$'
emulate 2 gemm_64x64 --shape 136x136
says 'gemm is written with 3 numbers: m n k$'
emulate 1 gemm_64x64 --shape 136x136x72 --set 'stages=[2,3]'
says 'error: specs/gemm_64x64.yaml: is a sweep of 2 kernels; --set chooses one$'
emulate 1 gemm_64x64 --shape 136x136x72 --set stages=0
emulate 1 specs/gemm_64x64.yaml
says 'yaml:[0-9]+:[0-9]+: error: kernel: this file is a spec' 'legal: --shape MxNxK'
emulate 2 gemm_64x64 --shape 8x8x8 --shape 16x16x16
emulate 2 gemm_64x64 --shape 8x8x8 -o "$TMPDIR/npy"
emulate 2 tests/cases/emulate/axpy/spec.yaml --seed 7
says 'a launch file says seed and schedules itself'

# A bug in a template: its line, the order, how the launch ended.
mkdir "$TMPDIR/templates" && cp -r templates/gemm "$TMPDIR/templates"
stage=$TMPDIR/templates/gemm/operand/load.cu.in
line=$(grep -n 'mbarrier_arrive_expect_tx(full, STAGE_BYTES)' "$stage" | head -n 1 | cut -d: -f1)
[ -n "$line" ] || { echo "the template has changed: where does it expect?"; exit 1; }
sed -i "${line}s/STAGE_BYTES/STAGE_BYTES + 16/" "$stage"
emulate 1 gemm_64x64 --templates "$TMPDIR/templates" --shape 72x72x72 --seed 7
says '^deadlock in gemm_64x64, CTA ' \
    'consumer warps 0..3 +waits for full\[0\].*/multiply.cu.in:[0-9]+, ' ' 16 bytes still due' \
    'in the order of seed 7$' 'the launch stopped here: deadlock; 0 of 4 clusters'

# Nothing but the checks is asked of a kernel: wrong numbers are verify's.
(cd "$TMPDIR" && "$TMAGEN" new twice >/dev/null) || { echo "no new family"; exit 1; }
own=$TMPDIR/templates/twice
sed -i 's/= 2 \* x/= 3 * x/' "$own/kernel.cu.in"
emulate 0 "$TMPDIR/specs/twice.yaml" --templates "$TMPDIR/templates" --shape 1000
rm "$own/reference.c"
emulate 0 "$TMPDIR/specs/twice.yaml" --templates "$TMPDIR/templates" --shape 1000
sed -i '/= 3 \* x/d' "$own/kernel.cu.in"
emulate 1 "$TMPDIR/specs/twice.yaml" --templates "$TMPDIR/templates" --shape 1000
says '1000 of 1000 elements never written'
exit $failed
