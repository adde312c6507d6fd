#!/usr/bin/env bash
# What a table lacks, by the model: launches of other specs, in the order of what each brings beside
# those before it, with the times that explain predicts.
set -u
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# refused CODE PATTERN ARGUMENT... - it says so, and prints nothing else.
refused() {
    local code wanted=$1 pattern=$2
    shift 2
    "$TMAGEN" tune lack "$@" >"$TMPDIR/out" 2>"$TMPDIR/err"
    code=$?
    [ $code = "$wanted" ] || fail "$*: exit code $code"
    grep -q -- "$pattern" "$TMPDIR/err" || fail "$*: says nothing of $pattern: $(<"$TMPDIR/err")"
    [ ! -s "$TMPDIR/out" ] || fail "$*: printed something"
}

# predicted KERNEL SHAPE [SET] - us, as explain has them.
predicted() {
    "$TMAGEN" explain "specs/$1.yaml" --shape "$2" ${3:+--set "$3"} | awk 'NR == 3 { print $2 }'
}

cp -r specs "$TMPDIR/specs"
printf '%s\n' 'dispatch: gemm' 'gpu: nvidia_h200' 'tmagen: 0.1.0' 'kernels:' '  - gemm_128x128' \
    >"$TMPDIR/specs/large.yaml"
large=$TMPDIR/specs/large.yaml
shapes=(--shape 8x8192x8192 --shape 16x512x16384 --shape 3333x4104x2056)
"$TMAGEN" tune lack "$large" specs/gemm_{64x64,16x64_split,8x64_tiles,128x128}.yaml \
    "${shapes[@]}" >"$TMPDIR/out" 2>"$TMPDIR/err" || { fail "exit code $?"; cat "$TMPDIR/err"; }
cat "$TMPDIR/out"

# what brings most comes first; what has nothing beside it that is 3% faster, not at all
awk 'NR > 1 { print $1 }' "$TMPDIR/out" >"$TMPDIR/names"
[ "$(head -1 "$TMPDIR/names")" = gemm_16x64_split ] || fail "what brings most is not the first"
grep -qx gemm_8x64_tiles "$TMPDIR/names" || fail "what brings something is not named"
grep -qx gemm_128x128 "$TMPDIR/names" && fail "what the table has is no lack"
[ "$(sort "$TMPDIR/names" | uniq -d)" = '' ] || fail "something is named twice"

# the first row's figures: parts, shapes, times as fast as the table, us, and where
read -r name splits count times us at <<<"$(sed -n 2p "$TMPDIR/out")"
[ "$at $count" = '16x512x16384 2' ] || fail "most at $at, of $count shapes"
[ "$us" = "$(predicted "$name" "$at" splits="$splits")" ] || fail "explain predicts other us"
awk -v a="$(predicted gemm_128x128 "$at")" -v b="$us" -v t="$times" \
    'BEGIN { x = a / b / t; exit !(x > .998 && x < 1.002) }' || fail "not $times times as fast"

# of parts the best, whatever a spec divides by
for parts in 2 3 4 5 6 8; do
    awk -v a="$us" -v b="$(predicted "$name" "$at" splits=$parts)" 'BEGIN { exit !(a <= b) }' ||
        fail "$parts parts are faster"
done

"$TMAGEN" tune lack "$large" specs/gemm_{64x64,16x64_split,8x64_tiles}.yaml "${shapes[@]}" \
    --keep 1 | sed 1d | cmp - <(sed -n 2p "$TMPDIR/out") || fail "--keep 1 is not the first"
"$TMAGEN" tune lack "$large" specs/gemm_128x128.yaml --random 20/3 >"$TMPDIR/out" || fail "exit $?"
grep -q '^nothing: at 20 shapes no other launch is predicted 3% faster' "$TMPDIR/out" ||
    fail "a table lacks what it has"

# by default 200 random shapes, and a family's own sweep
"$TMAGEN" tune lack specs/gemm_bf16_h200.yaml gemm >"$TMPDIR/out" || fail "exit code $?"
head -3 "$TMPDIR/out"
grep -q '^gemm_t' "$TMPDIR/out" || fail "nothing of the sweep"

refused 2 'takes a dispatch table first, and specs/gemm_8x8.yaml is none' specs/gemm_8x8.yaml \
    specs/gemm_64x64.yaml
refused 2 'and the specs that it may lack' "$large"
refused 1 'nowhere.yaml' "$large" nowhere.yaml
refused 1 'nowhere.yaml' nowhere.yaml specs/gemm_64x64.yaml
exit $failed
