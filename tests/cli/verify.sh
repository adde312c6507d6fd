#!/usr/bin/env bash
# verify from end to end on a stand-in driver that computes nothing: no way to be wrong may pass,
# and what one kernel does to its process leaves the next one alone.
set -u
fake=$BUILD/tests/fixtures/fake
export TMAGEN_LIBCUDA=$fake/measured.so TMAGEN_NVRTC=$fake/nvrtc.so
# shellcheck source=tests/checks.sh
. tests/checks.sh
verify() { exits "$1" "$TMAGEN" verify -o "$TMPDIR" "${@:2}"; }

# memory reads as poison: nothing was written
FAKE_BYTE=255 verify 1 gemm_64x64 --shape 72x64x64 --seed 5
has "$TMPDIR/out" '^gemm_64x64 +72x64x64 +WRONG' 'd: 4608 of 4608 elements never written' \
    '1 cases, 1 wrong; seed 5'

# every byte is the same number: written around the tensor
FAKE_BYTE=60 verify 1 gemm_64x64 --shape 72x64x64
has "$TMPDIR/out" 'computed by the reference are wrong' 'd\[0,0\] \(tile 0,0 at 0,0\) is 0\.01' \
    'wrote outside the tensor: before it, byte -65536'
# a shape that is asked for twice is verified once
FAKE_BYTE=60 verify 1 gemm_64x64 --shape 72x64x64 --shape 64x64x64 --shape 72x64x64
has "$TMPDIR/out" '^2 cases'
FAKE_BYTE=60 verify 1 gemm_64x64 --shape 72x64x64 --unguarded
grep -q 'outside the tensor' "$TMPDIR/out" && fail "--unguarded has guards"

# the default shapes: many, ragged, one of them padded and as little aligned as may be
FAKE_BYTE=255 verify 1 gemm_64x64
has "$TMPDIR/out" ' 1x8x8 ' ' 2048x2048x2048 ' 'x72 padded unaligned ' ' 63x64x64 '
[ "$(grep -c WRONG "$TMPDIR/out")" -ge 10 ] || fail "too few shapes"
# of those what is odd of one
FAKE_BYTE=255 verify 1 gemm_64x64 --odd
for odd in ' padded unaligned ' '/special ' '/exact '; do has "$TMPDIR/out" " 72x72x72$odd"; done
has "$TMPDIR/out" '^3 cases, 3 wrong'

# a shape that the kernel is not for is refused, which is no fault where others are not; alone it is
# one of the command line
FAKE_BYTE=255 verify 2 gemm_64x64 --shape 64x63x64
has "$TMPDIR/out" 'refused +n = 63 is not a multiple of 8' '^0 cases, 0 wrong, 1 refused; seed'
has "$TMPDIR/err" 'error: gemm_64x64 64x63x64 is refused: n = 63 is not a multiple of 8'
FAKE_BYTE=255 verify 2 gemm_4096 --shape 64x64x64
has "$TMPDIR/err" 'error: gemm_4096 64x64x64 is refused: m = 64, but the kernel is for 4096'
FAKE_BYTE=255 verify 1 gemm_64x64 --shape 64x63x64 --shape 64x64x64
has "$TMPDIR/out" '^1 cases, 1 wrong, 1 refused; seed'

# what kills the process of one kernel leaves the others alone
for how in crash error; do
    FAKE_LAUNCH=$how verify 1 gemm_64x64 gemm_128x128 --shape 64x64x64
    has "$TMPDIR/out" ', 2 wrong;'
done
has "$TMPDIR/out" 'gemm_64x64 +64x64x64 +BROKEN .*cuLaunchKernelEx' 'gemm_128x128 +64x64x64 +BROKEN'
FAKE_LAUNCH=hang verify 1 gemm_64x64 gemm_128x128 --shape 64x64x64 --timeout 2
has "$TMPDIR/err" 'error: gemm_64x64 64x64x64: launch 1: no end after 2 s' \
    'error: gemm_128x128 64x64x64: launch 1: no end after 2 s'
# compiling a kernel, or its reference for the GPU, is none of its time
FAKE_NVRTC_MS=1500 TMAGEN_CACHE=$TMPDIR/slow FAKE_BYTE=255 \
    verify 1 blockscaled_128x128 --shape 64x64x64 --timeout 1
has "$TMPDIR/out" '^blockscaled_128x128 +64x64x64 +WRONG' '^1 cases'
[ "$(find "$TMPDIR/slow" -type f | wc -l)" = 2 ] || fail "kernel and reference were not compiled"

FAKE_BYTE=255 verify 1 gemm_64x64 --shape 64x64x64 --json --seed 7
has "$TMPDIR/out" '^\{"kernel":"gemm_64x64","shape":"64x64x64","verdict":"WRONG".*"seed":7,'

# records: the same bits come again, on the record's data; a moved bit is told and placed
record=$TMPDIR/record
export FAKE_GEMM=1 TMAGEN_TEMPLATES=tests/fixtures/rungs
for spec in one two three; do printf 'kernel: steps\nphase: 1\n' >"$TMPDIR/$spec.yaml"; done
one=$TMPDIR/one.yaml two=$TMPDIR/two.yaml three=$TMPDIR/three.yaml
verify 0 "$one" "$two" --shape 64x64x64 --shape 72x64x64 --seed 5 --record "$record"
[ "$(wc -l <"$record")" = 5 ] || fail "a record of four cases has $(wc -l <"$record") lines"
has "$record" '^{"tmagen_record":1,"device":".+","seed":5}$' '^{"kernel":"two","shape":"72x'
verify 0 "$one" "$two" --against "$record"
has "$TMPDIR/out" '^one +72x64x64 +ok' '^4 cases, 0 wrong; seed 5; every bit as on '
verify 0 "$two" --against "$record" --shape 72x64x64
has "$TMPDIR/out" '^1 cases, 0 wrong'
sed '3s/"digest":"[0-9a-f]/"digest":"x/' "$record" >"$record.odd"
verify 1 "$one" --against "$record.odd"
has "$TMPDIR/err" 'record.odd:3: not a case of a record'
sed 's/"shape":"64x64/"shape":"64xx64/' "$record" >"$record.odd"
verify 1 "$one" --against "$record.odd"
has "$TMPDIR/err" 'record.odd: one: "64xx64x64" is no shape'
for part in parts elements digest; do echo "3s/\"$part\":\"..../\"$part\":\"0000/"; done |
    sed -f - "$record" >"$record.moved"
verify 1 "$one" --against "$record.moved"
has "$TMPDIR/out" '^one +64x64x64 +ok' '^one +72x64x64 +DIFFERS' '1 of 32 parts differ' \
    'elements 0\.\.143' 'd\[[0-9]+,[0-9]+\] .* is .*, was 0 \(0000\)' '^2 cases, 1 wrong; seed 5$'
verify 1 "$one" --against "$record.moved" --json
has "$TMPDIR/out" '"verdict":"DIFFERS"'
sed 's/"inputs":"./"inputs":"-/' "$record" >"$record.inputs"
verify 1 "$one" --against "$record.inputs"
has "$TMPDIR/out" 'the inputs are not those of the record'
verify 1 "$three" --against "$record"
has "$TMPDIR/err" 'error: three: no case is recorded in '
echo before >"$record.wrong"
FAKE_WRONG=one verify 1 "$one" --shape 64x64x64 --record "$record.wrong"
[ "$(cat "$record.wrong")" = before ] || fail "a run with a wrong result took a record's place"
has "$TMPDIR/err" 'record.wrong is not written'
compgen -G "$record.*.??????" >/dev/null && fail "half a record is left behind"
verify 1 "$one" --shape 64x64x64 --record /nowhere/record
mkfifo "$TMPDIR/pipe"
verify 1 "$one" --shape 64x64x64 --record "$TMPDIR/pipe"
[ -p "$TMPDIR/pipe" ] || fail "a pipe was replaced"
verify 2 "$one" --against "$record" --seed 1
verify 2 "$one" --against "$record" --record "$record.2"
verify 2 "$one" --against "$record" --small
verify 0 "$one" --small
has "$TMPDIR/out" '^5 cases'
unset FAKE_GEMM TMAGEN_TEMPLATES

verify 1 gemm_64x64 --shape 64x64
has "$TMPDIR/err" "gemm is written with 3 numbers: m n k"
verify 2 gemm_64x64 --runs 1
TMAGEN_LIBCUDA=/nowhere/libcuda.so verify 3 gemm_64x64 --device cuda
has "$TMPDIR/err" 'no CUDA driver: /nowhere/libcuda.so'
exit $failed
