#!/usr/bin/env bash
# bench from end to end on a stand-in driver with a clock: kernels take 20 us, cuBLASLt's first
# choice 30, its fourth, the best, 24. So every figure is known beforehand.
set -u
fake=$BUILD/tests/fixtures/fake
export TMAGEN_LIBCUDA=$fake/measured.so TMAGEN_NVRTC=$fake/nvrtc.so
export TMAGEN_CUBLASLT=$fake/cublaslt.so FAKE_MEMORY=256    # MB: inputs of an eighth of it
# shellcheck source=tests/checks.sh
. tests/checks.sh
bench() { "$TMAGEN" bench -o "$TMPDIR" "$@" >"$TMPDIR/out" 2>"$TMPDIR/err"; }

FAKE_MEMORY=4096 bench gemm_256x128 gemm_128x128 --vs cublaslt --shape 4096x4096x4096 --rounds 8 ||
    fail "exit code $?"
has "$TMPDIR/out" 'copy 4\.00 TB/s' 'gemm_256x128 +0\.02 ms' \
    '1\.500 \[1\.500, 1\.500\] +1\.200 \[1\.200, 1\.200\]' \
    'cuBLASLt first +0\.03 ms' 'cuBLASLt best of 6 \(#3\) +0\.024 ms' '3 input sets, 8 rounds' \
    '^bf16 4096x4096x4096 .*1\.500 +1\.200$'
[ "$(grep -c '^  \*' "$TMPDIR/out")" = 1 ] || fail "one spec is the best"

# a table is one contestant, and says which kernel it took
bench gemm_bf16_h200 gemm_8x64 --vs cublaslt --shape 64x512x16384 --rounds 5 ||
    fail "exit code $?"
# what the table takes, it says elsewhere too
pick=$("$TMAGEN" explain specs/gemm_bf16_h200.yaml --shape 64x512x16384 |
    sed -n '3s/^\(gemm_[a-z0-9_]*\) .*/\1/p')
[ -n "$pick" ] || fail "explain names no kernel"
has "$TMPDIR/out" " gemm_bf16_h200: $pick(/[0-9]+)? +0\.02 ms" ' gemm_8x64 +0\.02 ms' \
    '^bf16 64x512x16384 +gemm_'
has "$TMPDIR/err" 'the table gemm_bf16_h200 is of NVIDIA H200 with 132 SMs, and this is Fake'
# of a few kernels, which take a tenth of the time to prepare
few=$TMPDIR/few.yaml
cp specs/gemm_{8x64,16x64_split,64x64}.yaml "$TMPDIR"
printf '%s\n' 'dispatch: gemm' 'gpu: nvidia_h200' 'tmagen: 0.1.0' \
    'kernels: [gemm_8x64, {kernel: gemm_16x64_split, splits: [4, 8]}, gemm_64x64]' >"$few"
export TMAGEN_PICK=gemm_64x64
bench "$few" --shape 16x512x8192 --rounds 5 --json || fail "exit code $?"
has "$TMPDIR/out" '"name":"few","role":"own","picked":"gemm_64x64"'
unset TMAGEN_PICK
bench "$few" --overhead || fail "exit code $?"
has "$TMPDIR/out" '^few: launch [0-9.]+ us, .* difference .* new shape [0-9.]+ us;' \
    'us; from opening to the first [0-9.]+ ms$'
[ "$(grep -c 'its entries are hints' "$TMPDIR/err")" = 1 ] || fail "warns anew at each opening"

# semaphores are cleared once a workspace, which no measured launch is, be there more copies of the
# inputs than a kernel keeps prepared launches
for spec in gemm_16x64_split "$few"; do
    FAKE_MEMORY=4096 FAKE_CLEAR_US=5 TMAGEN_PICK=gemm_16x64_split/4 \
        bench "$spec" --shape 16x64x512 --rounds 5 || fail "$spec: exit code $?"
    has "$TMPDIR/out" '1024 input sets' "$(basename "$spec" .yaml).* +0\\.02 ms"
done

# twice the L2 and 256 MiB: copies of 24 MiB
FAKE_MEMORY=4096 bench gemm_256x128 --shape 2048x2048x2048 --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" '11 input sets'

# 2 M N K in 20 us
bench gemm_256x128 --shape 4096x4096x4096 --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" 'gemm_256x128 +0\.02 ms .* 6871\.9 TFLOP/s'

# what a cold chip does slowly is warm-up, and does not count
FAKE_SLOW=24 bench gemm_256x128 --shape 4096x4096x4096 --rounds 40 --json || fail "exit code $?"
has "$TMPDIR/out" '"ms":\{"median":0\.02,"lower":0\.02,.*"least":0\.02,"greatest":0\.02\}'

# the order turns around every round: each of two kernels follows itself as often as the other
FAKE_TRACE=$TMPDIR/trace bench gemm_256x128 --vs gemm_phase6 --rounds 8 || fail "exit code $?"
tail -n 32 "$TMPDIR/trace" | uniq -c | awk '{ print $1, $2 }' >"$TMPDIR/turns"
[ "$(cut -d " " -f 2 "$TMPDIR/turns" | sort -u | wc -l)" = 2 ] || fail "not two kernels in turn"
[ "$(sed '1d;$d' "$TMPDIR/turns" | cut -d " " -f 1 | sort -u)" = 8 ] || {
    fail "turns of another length than two times four replays"
    cat "$TMPDIR/turns"
}

# a result that is 5% off is no figure, one that rounds otherwise is
export FAKE_GEMM=1 TMAGEN_TEMPLATES=tests/fixtures/rungs FAKE_WRONG=one
for spec in one two; do printf 'kernel: steps\nphase: 1\n' >"$TMPDIR/$spec.yaml"; done
FAKE_FACTOR=1.05 bench "$TMPDIR/one.yaml" --vs "$TMPDIR/two.yaml" --shape 64x64x64 --rounds 5
[ $? = 1 ] || fail "5% off passed"
has "$TMPDIR/out" 'WRONG: result differs from two by 0\.05.*: one$'
FAKE_FACTOR=1.004 bench "$TMPDIR/one.yaml" --vs "$TMPDIR/two.yaml" --shape 64x64x64 --rounds 5 ||
    fail "exit code $?"
has "$TMPDIR/out" '1\.000 \[1\.000, 1\.000\]'
unset FAKE_WRONG

# where the library has no epilogue for the ops it computes the product alone: it is held to that,
# and ours, here twice the product, to what the ops make of it
mkdir "$TMPDIR/twice" && cp -r tests/fixtures/rungs/steps "$TMPDIR/twice"
ops='peer = "cublaslt", values = { ops = { { name = "twice" } } },'
sed -i "s/dims = { \"m\", \"n\", \"k\" }, typical/$ops &/" "$TMPDIR/twice/steps/family.lua"
sed -i 's/within(out, sum,/within(out, sum * (*word_of(p, "ops.name", 0) ? 2 : 1),/' \
    "$TMPDIR/twice/steps/reference.c"
alone() {
    TMAGEN_TEMPLATES=$TMPDIR/twice FAKE_WRONG=one FAKE_LEFT=1e9 \
        bench "$TMPDIR/one.yaml" --vs cublaslt --roof 1 --shape 64x64x64 --rounds 5
}
FAKE_FACTOR=2 alone || fail "twice the product beside the product: exit code $?"
has "$TMPDIR/out" '^ +\*? +one +0\.02 ms' 'best of 6 \(#3\), the product alone +0\.024 ms'
FAKE_FACTOR=2.02 alone && fail "1% off passed"
has "$TMPDIR/out" 'WRONG: d\[[0-9]+,[0-9]+\] is .* should be .*: one$' \
    '#3\), the product alone +0\.024 ms'
FAKE_FACTOR=2 FAKE_CUBLASLT_FACTOR=2 alone && fail "a peer's wrong product passed"
has "$TMPDIR/out" '^ +\*? +one +0\.02 ms' \
    'WRONG: d.* should be .*cuBLASLt best of 6 \(#3\), the product alone'
(unset FAKE_GEMM && FAKE_BYTE=255 alone) && fail "NaN beside a product alone passed"
has "$TMPDIR/out" 'WRONG: unwritten elements or NaN.*: one,'

# layers that overlap must give the bits of those that do not
mkdir "$TMPDIR/waiting" && cp -r tests/fixtures/rungs/steps "$TMPDIR/waiting"
sed -i 's/{ "params",/{ "dependent_launch", true }, &/' "$TMPDIR/waiting/steps/family.lua"
export TMAGEN_TEMPLATES=$TMPDIR/waiting
bench "$TMPDIR/one.yaml" --chain --shape 8x64x64 --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" '^ +\*? +one +0\.02 ms'
FAKE_EARLY=1 FAKE_FACTOR=1.004 bench "$TMPDIR/one.yaml" --chain --shape 8x64x64 --rounds 5
[ $? = 1 ] || fail "layers that give other bits passed"
has "$TMPDIR/out" 'WRONG: launches that overlap give other bits'
unset FAKE_GEMM TMAGEN_TEMPLATES

# another spec as the peer; a faster kernel does not exist here, so the ratio is 1
bench gemm_256x128 --vs gemm_phase6 --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" 'x gemm_phase6' '1\.000 \[1\.000, 1\.000\]'

# a chain is possible where the output is as an input
printf 'kernel: gemm\ndependent_launch: prologue\n' >"$TMPDIR/waits.yaml"
bench "$TMPDIR/waits.yaml" gemm_256x128 --chain --shape 64x1024x1024 --shape 64x512x1024 \
    --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" '^bf16 64x1024x1024 ' 'waits +0\.02 ms' 'no chain: no input is as the output'

# problems side by side meet cuBLASLt's strided batches, and the roof is that of one problem
FAKE_MEMORY=4096 bench gemm_batched --vs cublaslt --shape 16x512x512x512 --rounds 5 ||
    fail "exit code $?"
has "$TMPDIR/out" 'matrix [0-9]+' 'gemm_batched +0\.02 ms +[^ ]+ +214\.7 TFLOP/s' \
    'cuBLASLt best of 6 \(#3\) +0\.024 ms' '^bf16 16x512x512x512 .*1\.500 +1\.200$'

# a copy of as many bytes takes 20 us here, as every kernel does
bench gemm_256x128 --vs copy --shape 1x4096x4096 --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" 'x copy' 'gemm_256x128 .* 1\.000 \[1\.000, 1\.000\]' '^ +copy +0\.02 ms'

# shapes of other types are left out, refused shapes are said
printf 'bf16 512 512 512\nfp16 512 512 512\nfp8 1 2 3\nbf16 64 61 64\n' >"$TMPDIR/shapes"
bench gemm_256x128 --shapes "$TMPDIR/shapes" --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" '^bf16 512x512x512'
has "$TMPDIR/err" 'left out 2 shapes of other' 'gemm_256x128: n = 61 is not a multiple of 8'

bench gemm_256x128 --shape 64x61x64 --rounds 5
[ $? = 2 ] || fail "a shape that is refused is no fault of the command line"
has "$TMPDIR/err" 'gemm_256x128: n = 61 is not a multiple of 8' 'no shape is for these kernels'

# kernels that take other tensors do not meet; lines of a file bring together one type alone
bench gemm_128x128 gemm_128x128_fp16 --rounds 5
[ $? = 2 ] || fail "two types in one contest"
has "$TMPDIR/err" 'gemm_128x128 and gemm_128x128_fp16 do not compare: one takes bf16 a\[m, k\], ' \
    ', the other fp16 a\[m, k\]; measure them with --unlike'
bench gemm_128x128 --vs gemm_128x128_b_column --shape 512x512x512 --rounds 5
[ $? = 2 ] || fail "two layouts in one contest"
has "$TMPDIR/err" 'one takes bf16 b\[n, k\], the other bf16 b\[k, n\]'
bench "$few" gemm_128x192_bias --shape 512x512x512 --rounds 5
[ $? = 2 ] || fail "a bias against none"
bench gemm_swiglu gemm_fc1 --vs gemm_128x128_pingpong --unlike --shape 512x512x512 --rounds 5 ||
    fail "exit code $?"
has "$TMPDIR/out" 'gemm_swiglu +0\.02 ms .*1\.000 \[1\.000, 1\.000\]' \
    'gemm_fc1 +0\.02 ms .*1\.000 \['
bench gemm_128x128 gemm_128x128_fp16 --shapes "$TMPDIR/shapes" --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" '^bf16 512x512x512' '^fp16 512x512x512'

# shapes drawn at random are the same ones each time, and over several there are means
bench "$few" --vs cublaslt --random 3/7 --rounds 3 || fail "exit code $?"
grep -E '^bf16 .* few: ' "$TMPDIR/out" | awk '{ print $2 }' >"$TMPDIR/drawn"
printf '43x72x1600\n11x856x128\n' | cmp -s - <(head -n 2 "$TMPDIR/drawn") || fail "other shapes"
has "$TMPDIR/out" '^x first: geometric mean of 3 shapes 1\.5000, least 1\.500 at [0-9]+x[0-9x]+$' \
    '^x best: geometric mean of 3 shapes 1\.2000, least 1\.200 at [0-9]+x[0-9x]+$'

# every line of --json is an object
bench gemm_256x128 --vs cublaslt --json --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" '^\{"device":"Fake H200 0"' '"role":"cublaslt best".*"ms":\{"median":0\.024'
[ "$(grep -c '^{.*}$' "$TMPDIR/out")" = "$(grep -c '' "$TMPDIR/out")" ] || fail "not JSON lines"
has "$TMPDIR/out" '"picked":"tile 20, cluster 2, stages 35"' \
    '"picked":"tile 144, cluster 8, stages 35, 3 parts of K"'

# a result that was never written is no figure
FAKE_BYTE=255 bench gemm_256x128 --rounds 5
[ $? = 1 ] || fail "NaN passed"
has "$TMPDIR/out" 'WRONG: unwritten elements or NaN.*: gemm_256x128$'

# operands of 8 bits: cuBLASLt wants to be asked in other words
for spec in gemm_fp8_mixed gemm_fp8_scaled gemm_s8_128x128; do
    # the calls are looked at, not the values: with scales nothing but 0 is right, without anything
    byte=$([ $spec != gemm_fp8_scaled ] || echo 0)
    FAKE_BYTE=$byte bench $spec --vs cublaslt --shape 1024x1024x1024 --rounds 5 ||
        fail "$spec: exit code $?"
    has "$TMPDIR/out" 'cuBLASLt best of 6'
done

# so with scales of blocks, which the reference draws, and which must lie as cuBLASLt wants them
bench blockscaled_128x128_column --vs cublaslt --shape 1024x1024x1024 --rounds 5 ||
    fail "scales: exit code $?"
has "$TMPDIR/out" 'cuBLASLt best of 6'
bench blockscaled_128x128 --vs cublaslt --shape 1024x1024x1024 --rounds 5 || fail "exit code $?"
has "$TMPDIR/out" 'cuBLASLt wants a_scales in fp32, of 1x128 in order: column'

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
