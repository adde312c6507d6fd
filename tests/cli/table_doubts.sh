#!/usr/bin/env bash
# The shapes at which tables of two halves of a table's rows choose otherwise: as many as are asked
# for, the same each time; where all rows say the same, there are none.
set -u
# shellcheck source=tests/checks.sh
. tests/checks.sh
# shellcheck source=tests/tables.sh
. tests/tables.sh
doubts() { python3 scripts/table_doubts.py "$@" 2>"$TMPDIR/err"; }

# a tenth of the shipped table
cp -r specs "$TMPDIR/specs"
table=$TMPDIR/specs/part.yaml
part part 10
doubts "$table" 400/3 30 >"$TMPDIR/out" || { fail "exit code $?"; cat "$TMPDIR/err"; }
[ "$(grep -cxE 'bf16( [0-9]+){3}' "$TMPDIR/out")" = 30 ] || fail "not thirty shapes"
[ "$(wc -l <"$TMPDIR/out")" = 30 ] || fail "not thirty lines"
doubts "$table" 400/3 30 | cmp - "$TMPDIR/out" || fail "another time, others"
doubts "$table" 400/3 10 | cmp - <(head -10 "$TMPDIR/out") || fail "fewer are not the first of more"
doubts "$table" 400/3 30 50 >"$TMPDIR/long"
cut -d' ' -f2- "$TMPDIR/long" | tr ' ' x | while read -r shape; do
    "$TMAGEN" explain "$table" --shape "$shape" 2>/dev/null | awk 'NR == 3 && $4 < 35 { exit 1 }' ||
        echo "$shape"
done >"$TMPDIR/short"
[ -s "$TMPDIR/long" ] || fail "none takes 50 us"
[ ! -s "$TMPDIR/short" ] || fail "shorter than was asked: $(tr '\n' ' ' <"$TMPDIR/short")"

# where all rows say the same, both halves do; of too few nothing is learnt
one=$TMPDIR/specs/one.yaml
{
    sed -n '1,/^kernels:/p' "$table"
    printf '  - %s\n' gemm_128x128_pingpong gemm_64x64
    echo measured:
    for m in $(seq 256 16 1200); do
        echo "  - {shape: ${m}x512x512, us: {128x128_pingpong: 5, 64x64: 50}}"
    done
} >"$one"
doubts "$one" 100 10 4 >"$TMPDIR/none" || { fail "exit code $?"; cat "$TMPDIR/err"; }
[ ! -s "$TMPDIR/none" ] || fail "a table whose rows say the same is doubted: $(cat "$TMPDIR/none")"
sed -i '/^  - {shape: [13-9]/d' "$one"
doubts "$one" 100 10 && fail "learnt from two rows"
grep -q 'it takes 20 measured shapes to learn from' "$TMPDIR/err" || fail "no reason is given"
doubts && fail "no usage"
grep -q '^usage: ' "$TMPDIR/err" || fail "no usage is printed"
exit $failed
