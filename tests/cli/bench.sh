#!/usr/bin/env bash
# bench from end to end on a stand-in driver with a clock: kernels take 20 us, cuBLASLt's first
# choice 30, its fourth, the best, 24. So every figure is known beforehand.
set -u
fake=$BUILD/tests/fixtures/fake
export TMAGEN_LIBCUDA=$fake/measured.so TMAGEN_NVRTC=$fake/nvrtc.so
export TMAGEN_CUBLASLT=$fake/cublaslt.so
failed=0
fail() { echo "FAILED: $*"; failed=1; }
# has FILE PATTERN...
has() {
    local file=$1 pattern
    shift
    for pattern; do
        grep -Eq -- "$pattern" "$file" || { fail "no /$pattern/ in:"; cat "$file"; }
    done
}
bench() { "$TMAGEN" bench -o "$TMPDIR" "$@" >"$TMPDIR/out" 2>"$TMPDIR/err"; }

bench gemm_256x128 gemm_128x128 --vs cublaslt --shape 4096x4096x4096 --rounds 8 ||
    fail "exit code $?"
has "$TMPDIR/out" 'copy 4\.00 TB/s' 'gemm_256x128 +0\.02 ms' \
    '1\.500 \[1\.500, 1\.500\] +1\.200 \[1\.200, 1\.200\]' \
    'cuBLASLt first +0\.03 ms' 'cuBLASLt best of 6 \(#3\) +0\.024 ms' '3 input sets, 8 rounds' \
    '^bf16 4096x4096x4096 .*1\.500 +1\.200$'
[ "$(grep -c '^  \*' "$TMPDIR/out")" = 1 ] || fail "one spec is the best"

# twice the L2 and 256 MiB: copies of 24 MiB
bench gemm_256x128 --shape 2048x2048x2048 --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" '11 input sets'

# another spec as the peer; a faster kernel does not exist here, so the ratio is 1
bench gemm_256x128 --vs gemm_phase6 --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" 'x gemm_phase6' '1\.000 \[1\.000, 1\.000\]'

# shapes of other types are left out, refused shapes are said
printf 'bf16 512 512 512\nfp16 512 512 512\nfp8 1 2 3\nbf16 64 61 64\n' >"$TMPDIR/shapes"
bench gemm_256x128 --shapes "$TMPDIR/shapes" --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" '^bf16 512x512x512'
has "$TMPDIR/err" 'left out 2 shapes of other' 'gemm_256x128: n = 61 is not a multiple of 8'

# every line of --json is an object
bench gemm_256x128 --vs cublaslt --json --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" '^\{"device":"Fake H200 0"' '"role":"cublaslt best".*"ms":\{"median":0\.024'
[ "$(grep -c '^{.*}$' "$TMPDIR/out")" = "$(grep -c '' "$TMPDIR/out")" ] || fail "not JSON lines"

# a result that was never written is no figure
FAKE_BYTE=255 bench gemm_256x128 --rounds 5
[ $? = 1 ] || fail "NaN passed"
has "$TMPDIR/out" 'WRONG: unwritten elements or NaN.*: gemm_256x128$'

# a peer that offers nothing leaves ours alone
FAKE_CUBLASLT_ALGOS=0 bench gemm_256x128 --vs cublaslt --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" 'cuBLASLt offers nothing for this shape: cuBLASLt$' 'gemm_256x128 +0\.02 ms'

# what is not there is named
TMAGEN_CUBLASLT=/nowhere/libcublasLt.so bench gemm_256x128 --vs cublaslt
[ $? = 3 ] || fail "no cuBLASLt, and exit code $?"
has "$TMPDIR/err" 'no cuBLASLt: looked for .*/nowhere/libcublasLt.so'
TMAGEN_LIBCUDA=/nowhere/libcuda.so bench gemm_256x128
[ $? = 3 ] || fail "no driver, and exit code $?"
has "$TMPDIR/err" 'no CUDA driver'

bench gemm_256x128 --overhead || { fail "exit code $?"; cat "$TMPDIR/err"; }
has "$TMPDIR/out" 'cuLaunchKernelEx' '^gemm_256x128 .* us .* ms'
exit $failed
