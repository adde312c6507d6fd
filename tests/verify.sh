#!/usr/bin/env bash
# verify from end to end on a stand-in driver that computes nothing: no way to be wrong may pass,
# and what one kernel does to its process leaves the next one alone.
set -u
export TMAGEN_LIBCUDA=$BUILD/tests/fake/measured.so TMAGEN_NVRTC=$BUILD/tests/fake/nvrtc.so
failed=0
fail() { echo "FAILED: $*"; failed=1; }
has() {
    local file=$1 pattern
    shift
    for pattern; do
        grep -Eq -- "$pattern" "$file" || { fail "no /$pattern/ in:"; cat "$file"; }
    done
}
# verify EXIT_CODE ARGUMENT...
verify() {
    local wanted=$1
    shift
    "$TMAGEN" verify -o "$TMPDIR" "$@" >"$TMPDIR/out" 2>"$TMPDIR/err"
    local code=$?
    [ $code = "$wanted" ] && return
    fail "exit code $code, not $wanted: verify $*"
    cat "$TMPDIR/out" "$TMPDIR/err"
}

# memory reads as poison: nothing was written
FAKE_BYTE=255 verify 1 gemm_64x64 --shape 72x64x64 --seed 5
has "$TMPDIR/out" '^gemm_64x64 +72x64x64 +WRONG' 'd: 4608 of 4608 elements never written' \
    '1 cases, 1 wrong; seed 5'

# every byte is the same number: written around the tensor
FAKE_BYTE=60 verify 1 gemm_64x64 --shape 72x64x64
has "$TMPDIR/out" 'computed by the reference are wrong' 'd\[0,0\] \(tile 0,0 at 0,0\) is 0\.01' \
    'wrote outside the tensor: before it, byte -65536'

# the default shapes: many, ragged, one of them padded
FAKE_BYTE=255 verify 1 gemm_64x64
has "$TMPDIR/out" ' 1x8x8 ' ' 2048x2048x2048 ' 'x72 padded ' ' 63x64x64 '
[ "$(grep -c WRONG "$TMPDIR/out")" -ge 10 ] || fail "too few shapes"

# a shape that the kernel is not for is refused, which is no fault; but then nothing was verified
FAKE_BYTE=255 verify 1 gemm_64x64 --shape 64x63x64
has "$TMPDIR/out" 'refused +n = 63 is not a multiple of 8' '1 cases, 0 wrong'
has "$TMPDIR/err" 'no shape is for these kernels'

# what kills the process of one kernel leaves the others alone
for how in crash error; do
    FAKE_LAUNCH=$how verify 1 gemm_64x64 gemm_128x128 --shape 64x64x64
    has "$TMPDIR/out" ', 2 wrong;'
done
has "$TMPDIR/out" 'gemm_64x64 +64x64x64 +BROKEN .*cuLaunchKernelEx' 'gemm_128x128 +64x64x64 +BROKEN'
FAKE_LAUNCH=hang verify 1 gemm_64x64 gemm_128x128 --shape 64x64x64 --timeout 1
has "$TMPDIR/err" 'error: gemm_64x64 64x64x64: launch 1: no end after 1 s' \
    'error: gemm_128x128 64x64x64: launch 1: no end after 1 s'

FAKE_BYTE=255 verify 1 gemm_64x64 --shape 64x64x64 --json --seed 7
has "$TMPDIR/out" '^\{"kernel":"gemm_64x64","shape":"64x64x64","verdict":"WRONG".*"seed":7,'

verify 1 gemm_64x64 --shape 64x64
has "$TMPDIR/err" "gemm is written with 3 numbers: m n k"
verify 2 gemm_64x64 --runs 1
TMAGEN_LIBCUDA=/nowhere/libcuda.so verify 3 gemm_64x64 --device cuda
has "$TMPDIR/err" 'no CUDA driver: /nowhere/libcuda.so'
exit $failed
