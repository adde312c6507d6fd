#!/usr/bin/env bash
# The shipped tables on the emulator: what they take at small shapes, aligned or not, computes what
# it should, and $TMAGEN_PICK forces another.
set -u
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
failed=0
fail() { echo "FAILED: $*"; cat "$TMPDIR/out" "$TMPDIR/err"; failed=1; }
table=gemm_bf16_h200
verify() {
    "$TMAGEN" verify --device emu --runs 2 --seed 1 "$@" "$table" >"$TMPDIR/out" 2>"$TMPDIR/err"
}
# has COUNT PATTERN - so many lines of the table match.
has() { [ "$(grep -cE -- "$2" "$TMPDIR/out")" = "$1" ] || fail "not $1 x /$2/"; }

verify --shape 8x512x1024 --shape 128x64x14336 --shape 7x5x3 --shape 130x72x65 ||
    fail "exit code $?"
has 4 ' ok .*; by gemm_'
has 1 '^gemm_bf16_h200 +128x64x14336 .* by gemm_16x64_split/12$'
has 2 ' by gemm_.*_(any|repack|alike)$'

TMAGEN_PICK=gemm_16x64_split/3 verify --shape 40x128x1024 || fail "exit code $?"
has 1 ' ok .*; by gemm_16x64_split/3$'

TMAGEN_PICK=gemm_8x64_tiles verify --shape 7x5x3 && fail "it is refused"
has 1 "refused .*not what is pinned serves m 7 n 5 k 3"

# explain says what would be launched, by name and by whom, and what names no choice
TMAGEN_PICK=gemm_16x64_split/3 "$TMAGEN" explain $table --shape 40x128x1024 >"$TMPDIR/out" \
    2>"$TMPDIR/err" || fail "exit code $?"
has 1 '^gemm_bf16_h200 .*: gemm_16x64_split/3, by .TMAGEN_PICK: [0-9.]+ us, bound by'
has 2 '^gemm_'
TMAGEN_PICK=nothing "$TMAGEN" explain $table --shape 40x128x1024 >"$TMPDIR/out" 2>&1 || fail "$?"
has 1 '^tmagen: warning: .TMAGEN_PICK: gemm_bf16_h200: has no kernel .nothing.$'
has 1 ', by the model: '
"$TMAGEN" explain $table --shape 40x128x1024 --gpu nvidia_b200 >"$TMPDIR/out" 2>&1 || fail "$?"
has 1 '^tmagen: note: gemm_bf16_h200 is a table, of its own GPU whatever --gpu says$'
has 1 '^gemm_bf16_h200 on NVIDIA H200'

# a family's tables are all asked: that one refuses is a note where another answers
mkdir "$TMPDIR/few"
cp -r specs "$TMPDIR/few"
sed -i '/^measured:/,$d; /_repack\|_sixteenths/d' "$TMPDIR/few/specs/gemm_fp8_h200.yaml"
# family CODE SHAPE... - explains them, where FP8 has no kernel for whatever TMA cannot address.
family() {
    local wanted=$1 code shapes=()
    shift
    for shape; do shapes+=(--shape "$shape"); done
    (cd "$TMPDIR/few" && "$TMAGEN" explain gemm "${shapes[@]}") >"$TMPDIR/out" 2>&1
    code=$?
    [ $code = "$wanted" ] || fail "explain gemm $*: exit code $code"
}
family 0 37x53x71
has 2 '^gemm_[bf]p?f?16_h200 on NVIDIA H200, 37x53x71: gemm_'
has 1 '^tmagen: note: gemm_fp8_h200: no kernel serves m 37 n 53 k 71$'
has 0 'error'
family 1 37x53x71 8x8
has 1 '^tmagen: error: no table takes 8x8$'
family 2 8x8

# a word behind a shape is one of the family's
"$TMAGEN" explain $table --shape 64x64x64/special >"$TMPDIR/out" 2>&1 || fail "exit code $?"
"$TMAGEN" explain $table --shape 64x64x64/specal >"$TMPDIR/out" 2>&1
[ $? = 2 ] || fail "specal is none of the family's words"
has 1 '^tmagen: error: gemm_bf16_h200: gemm has no inputs specal; it has: special exact$'

# a table that says nothing of the version by which it was measured
mkdir "$TMPDIR/specs"
cp specs/gemm_64x64.yaml "$TMPDIR/specs"
printf 'dispatch: gemm\ngpu: nvidia_h200\nkernels: [gemm_64x64]\n' >"$TMPDIR/specs/own.yaml"
"$TMAGEN" gen -o "$TMPDIR/made" "$TMPDIR/specs/own.yaml" >"$TMPDIR/out" 2>&1 || fail "own: $?"
has 0 'warning'
echo 'tuned: [{shape: 64x64x64, kernel: gemm_64x64, us: 2}]' >>"$TMPDIR/specs/own.yaml"
"$TMAGEN" gen -o "$TMPDIR/made" "$TMPDIR/specs/own.yaml" >"$TMPDIR/out" 2>&1 || fail "own: $?"
has 1 'own.yaml: warning: tmagen: is missing; nothing says by which version it was measured'
echo 'tmagen: 0.1.0' >>"$TMPDIR/specs/own.yaml"
"$TMAGEN" gen -o "$TMPDIR/made" "$TMPDIR/specs/own.yaml" >"$TMPDIR/out" 2>&1 || fail "own: $?"
has 0 'warning'

# batches, operands by columns, alpha, beta and C are tables of few kernels
printf 'dispatch: gemm\ngpu: nvidia_h200\nkernels:\n' >"$TMPDIR/specs/dense.yaml"
for kernel in 64x64 16x64_tiles 128x128_any; do
    printf 'base: gemm_%s.yaml\nepilogue: {ops: [alpha, beta]}\n' $kernel \
        >"$TMPDIR/specs/scaled_$kernel.yaml"
    echo "  - {kernel: gemm_$kernel, last: $([ $kernel = 128x128_any ] && echo true || echo false)}"
done >>"$TMPDIR/specs/dense.yaml"
cp specs/gemm_[1-9]*.yaml "$TMPDIR/specs"
sed 's/gemm_\([0-9]\)/scaled_\1/' "$TMPDIR/specs/dense.yaml" >"$TMPDIR/specs/scaled.yaml"
own() {  # NAME SET SHAPE... - of those kernels, as they are set
    printf 'base: dense.yaml\nset: %s\nsuffix: %s\n' "$2" "$1" >"$TMPDIR/specs/$1.yaml"
    table=$TMPDIR/specs/$1.yaml
    verify "${@:3}" || fail "$1: exit code $?"
}
own batch '{problem: {batch: dynamic}}' --shape 3x72x72x72 --shape 3x7x5x3
has 1 ' 3x72x72x72 .* ok .*; by gemm_16x64_tiles_batch$'
has 1 ' 3x7x5x3 .* ok .*; by gemm_128x128_any_batch$'
for by in '{a: column}' '{b: column}' '{a: column, b: column}'; do
    own columns "{layout: $by}" --shape 72x72x72 --shape 7x5x3
    has 1 ' 72x72x72 .* ok .*; by gemm_.*_columns$'
    has 1 ' 7x5x3 .* ok .*; by gemm_128x128_any_columns$'
done
table=$TMPDIR/specs/scaled.yaml
verify --shape 72x72x72 --shape 72x72x72/special --shape 7x5x3 || fail "alpha, beta: exit code $?"
has 3 ' ok .*; by scaled_'

# the same kernels in another type
table=gemm_fp16_h200
verify --shape 16x64x4096 --shape 7x5x3 --shape 130x72x72 || fail "exit code $?"
has 3 '^gemm_fp16_h200 .* ok .*; by gemm_.*_f16(/[0-9]+)?$'

# rows of D that TMA cannot address, though those of A and B: stored by lanes, nothing is copied
"$TMAGEN" explain specs/gemm_bf16_h200.yaml --shape 8192x4098x256 >"$TMPDIR/out" 2>&1 ||
    fail "exit code $?"
has 1 '8192x4098x256: gemm_128x192_direct, by the model'

# in FP8: K odd, N odd, M alone odd, and what TMA can address
table=gemm_fp8_h200
verify --shape 1x1x1 --shape 65x64x61 --shape 64x61x64 --shape 61x64x64 --shape 130x71x2063 \
    --shape 600x500x33 --shape 7x100x2051 --shape 129x257x513 || fail "exit code $?"
has 4 '^gemm_fp8_h200 .* ok .*; by gemm_fp8_64x64_repack$'
has 1 '^gemm_fp8_h200 +1x1x1 .* ok .*; by gemm_fp8_16x64_sixteenths$'
has 1 '^gemm_fp8_h200 +7x100x2051 .* ok .*; by gemm_fp8_16x64_sixteenths$'
has 1 '^gemm_fp8_h200 +129x257x513 .* ok .*; by gemm_fp8_32x64_sixteenths$'
has 1 '^gemm_fp8_h200 +61x64x64 .* ok .*; by gemm_fp8_[0-9x]+_tiles$'
# of hundreds of rows what was measured decides, and says nothing of what TMA can address
"$TMAGEN" explain specs/gemm_fp8_h200.yaml --shape 200x4095x4095 --shape 160x5001x5001 \
    --shape 200x4096x4096 >"$TMPDIR/out" 2>&1 || fail "exit code $?"
has 2 'x[45]...x[45]...: gemm_fp8_72x128_repack, by the model'
has 1 '200x4096x4096: gemm_fp8_64x128_pingpong, by the model: 13\.49 us'
# columns sixteen apart: as many tiles for 100 as for 1024
"$TMAGEN" explain gemm_fp8_16x64_sixteenths --gpu nvidia_h200 --shape 16x100x4097 \
    --shape 33x1024x4097 --shape 16x1025x4097 >"$TMPDIR/out" 2>&1 || fail "exit code $?"
has 1 '^gemm_fp8_16x64_sixteenths .* 16  +1 '
has 1 '^gemm_fp8_16x64_sixteenths .* 48  +1 '
has 1 '^gemm_fp8_16x64_sixteenths .* 32  +1 '

# with scales of blocks: K odd, N odd, M and what scales' rows want odd
table=blockscaled_h200
verify --shape 1x1x1 --shape 65x64x61/special --shape 64x61x64 --shape 61x64x128 ||
    fail "exit code $?"
has 3 '^blockscaled_h200 .* ok .*; by blockscaled_128x128_repack$'
has 1 '^blockscaled_h200 +61x64x128 .* ok .*; by blockscaled_[0-9x]+_'
exit $failed
