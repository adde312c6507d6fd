#!/usr/bin/env bash
# What a table learns of the shapes that it has measured: by half of those of the shipped one it
# chooses better at shapes that were left out, and what is printed is what a table takes.
set -u
# shellcheck source=tests/tables.sh
. tests/tables.sh
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# refused CODE PATTERN TABLE [OPTION...] - it says so.
refused() {
    local code
    "$TMAGEN" tune learn "${@:3}" >"$TMPDIR/out" 2>"$TMPDIR/err"
    code=$?
    [ $code = "$1" ] || fail "$3: exit code $code"
    grep -q -- "$2" "$TMPDIR/err" || { fail "$3: says nothing of $2:"; cat "$TMPDIR/err"; }
    [ ! -s "$TMPDIR/out" ] || fail "$3: printed rows"
}

cp -r specs "$TMPDIR/specs"
part half 2
"$TMAGEN" tune learn "$TMPDIR/specs/half.yaml" >"$TMPDIR/rows" 2>"$TMPDIR/err" ||
    fail "exit code $?"
cat "$TMPDIR/err"
# 1,399 shapes: .0056 more of the best; where all launches weigh alike .0043. Thirds gain .0040
awk '{ for (i = 1; i < NF; ++i) if ($i == "of" && $(i + 1) == "the" && !share) share = $(i - 1)
       for (i = 1; i < NF; ++i) if ($i == "and" && !before) before = $(i + 1) }
     END { exit !(share > before + .0045 && before > .96 && share < 1) }' "$TMPDIR/err" ||
    fail "nothing is gained by it"

# a table takes them, also laid out in several lines, and chooses by them
cp "$TMPDIR/specs/half.yaml" "$TMPDIR/specs/taught.yaml"
cat "$TMPDIR/rows" >>"$TMPDIR/specs/taught.yaml"
for table in half taught; do
    "$TMAGEN" explain "$TMPDIR/specs/$table.yaml" --random 60/5 >"$TMPDIR/$table" ||
        fail "$table: exit code $?"
    sed -i "s/^$table on/table on/" "$TMPDIR/$table"
    grep -o '^table on .*: gemm[a-z0-9_/]*' "$TMPDIR/$table" >"$TMPDIR/$table.first"
done
moved=$(diff "$TMPDIR/half.first" "$TMPDIR/taught.first" | grep -c '^>')
[ "$moved" -ge 6 ] || fail "other choices at $moved of 60 shapes alone"

# the same again, of a table that has learnt before
part few 30
"$TMAGEN" tune learn "$TMPDIR/specs/few.yaml" >"$TMPDIR/once" 2>/dev/null ||
    fail "few: exit code $?"
cat "$TMPDIR/once" >>"$TMPDIR/specs/few.yaml"
"$TMAGEN" tune learn "$TMPDIR/specs/few.yaml" 2>/dev/null | cmp - "$TMPDIR/once" ||
    fail "another time it learnt something else"

# what was learnt of other measurements, rates or kernels is said to be, and taken; the shipped
# tables are fresh, and one with a base is judged by that
# stale COUNT TABLE - gen warns of so many.
stale() {
    "$TMAGEN" gen -o "$TMPDIR/out.d" "$TMPDIR/specs/$2.yaml" >/dev/null 2>"$TMPDIR/err" ||
        fail "$2: exit code $?"
    [ "$(grep -c "$2.yaml:[0-9]*: warning: learned: .*: tmagen tune learn .*$2.yaml$" \
        "$TMPDIR/err")" = "$1" ] || { fail "$2: not $1 warnings:"; cat "$TMPDIR/err"; }
}
stale 0 gemm_bf16_h200
stale 0 gemm_fp16_h200
stale 0 few
cp "$TMPDIR/specs/few.yaml" "$TMPDIR/specs/edited.yaml"
sed -i 's/^\(  - {shape: 4096x4096x4096, kernel: .* us: \)/\11/' "$TMPDIR/specs/edited.yaml"
cmp -s "$TMPDIR/specs/few.yaml" "$TMPDIR/specs/edited.yaml" && fail "nothing is edited"
stale 0 edited              # what was tuned says nothing of it
sed -i '0,/^  - {shape: .*us: {[a-z0-9_/]*: /s//&1/' "$TMPDIR/specs/edited.yaml"
stale 1 edited
grep -v '^  - of ' "$TMPDIR/specs/few.yaml" >"$TMPDIR/specs/unsaid.yaml"
stale 1 unsaid
cp -r templates "$TMPDIR/templates"
sed -i '/"rates"/,$ s/"tensor": /&1/' "$TMPDIR/templates/lib/gpus/nvidia_h200.json"
TMAGEN_TEMPLATES=$TMPDIR/templates stale 1 few

part too_few 500
refused 1 'too_few: it takes 20 measured shapes to learn from, and it has 1' \
    "$TMPDIR/specs/too_few.yaml"
refused 2 'takes a dispatch table' "$TMPDIR/specs/gemm_64x64.yaml"
refused 2 'within says which times rates are fitted to' "$TMPDIR/specs/few.yaml" --within 1.5
printf 'base: gemm_fp8_h200.yaml\n' >"$TMPDIR/specs/alone.yaml"
cat "$TMPDIR/once" >>"$TMPDIR/specs/alone.yaml"
grep -q '^measured' specs/gemm_fp8_h200.yaml ||
    refused 1 'learned: is of what is measured, and measured is missing' "$TMPDIR/specs/alone.yaml"
exit $failed
