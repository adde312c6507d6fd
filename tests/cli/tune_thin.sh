#!/usr/bin/env bash
# Which measured shapes of a table the others foretell: what is left of its file chooses at those
# that went what their own rows find as fast as the best.
set -u
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# refused CODE PATTERN TABLE - it says so, and prints no table.
refused() {
    local code
    "$TMAGEN" tune thin "$3" >"$TMPDIR/out" 2>"$TMPDIR/err"
    code=$?
    [ $code = "$1" ] || fail "$3: exit code $code"
    grep -q -- "$2" "$TMPDIR/err" || { fail "$3: says nothing of $2:"; cat "$TMPDIR/err"; }
    [ ! -s "$TMPDIR/out" ] || fail "$3: printed a table"
}

# a fifth of the shipped table, which has been thinned; so each row of 64 and more comes twice
# again, one and two rows of M on
cp -r specs "$TMPDIR/specs"
table=$TMPDIR/specs/part.yaml
awk '/^learned:/ { exit } /^measured:/ { print; rows = 1; next }
    /^  - / && rows { printf "%s%s", twin, next_twin; twin = next_twin = ""; skip = ++row % 5 != 0
        split($3, size, "x"); again = row % 5 == 0 && size[1] >= 64 }
    skip { next }
    { print }
    again { line = $0; sub(/shape: [0-9]+/, "shape: " size[1] + 1, line); twin = twin line "\n"
        sub(/shape: [0-9]+/, "shape: " size[1] + 2, line); next_twin = next_twin line "\n" }
    ' specs/gemm_bf16_h200.yaml >"$table"
"$TMAGEN" tune thin "$table" >"$TMPDIR/thin.yaml" 2>"$TMPDIR/err" || fail "exit code $?"
cat "$TMPDIR/err"
rows() { grep -c '^  - {shape: .* us: {' "$1"; }
gone=$(($(rows "$table") - $(rows "$TMPDIR/thin.yaml")))
grep -q "^$gone shapes less" "$TMPDIR/err" || fail "$gone rows went, and it says otherwise"
[ "$gone" -ge $(($(rows "$table") / 12)) ] || fail "only $gone rows went"
[ "$(rows "$TMPDIR/thin.yaml")" -ge $(($(rows "$table") * 3 / 5)) ] ||
    fail "fewer than three fifths"
last='(alike|quads|even|repack|any|eighths)(_[a-z0-9]+)*: '
diff "$table" "$TMPDIR/thin.yaml" | grep -E "$last" &&
    fail "what names a kernel that is last went"
diff "$table" "$TMPDIR/thin.yaml" | grep '^>' && fail "something came"
diff <(sed '/^measured:/q' "$table") <(sed '/^measured:/q' "$TMPDIR/thin.yaml") ||
    fail "not only rows went"
"$TMAGEN" tune thin "$table" 2>/dev/null | cmp - "$TMPDIR/thin.yaml" || fail "another time, others"

# the order of rows is none of its business, and what stands behind the last, which goes, stays
row=$(diff "$table" "$TMPDIR/thin.yaml" | sed -n 's/^< \(  - {shape: .*}}\)$/\1/p' | head -1)
{ grep -vxF -- "$row" "$table"; printf '%s\n# the end\n' "$row"; } >"$TMPDIR/specs/moved.yaml"
"$TMAGEN" tune thin "$TMPDIR/specs/moved.yaml" 2>/dev/null |
    diff - <(cat "$TMPDIR/thin.yaml"; echo '# the end') || fail "other rows, or no end"

# what went: shape, and what its row finds within 1% of the best
diff "$table" "$TMPDIR/thin.yaml" | sed -n 's/^< //p' | awk '
    / - \{shape:/ { shape = $3; sub(",", "", shape); best = 0 }
    { line = $0; gsub(/.*us: \{|\/1:|[:{},]/, " ", line); count = split(line, word, " ")
      for (i = 1; i < count; i += 2) {
          if (!best) best = word[i + 1]
          if (best && word[i + 1] <= 1.0101 * best) print shape, word[i]
      } }' >"$TMPDIR/best"
cp "$TMPDIR/thin.yaml" "$TMPDIR/specs/thin.yaml"
cut -d' ' -f1 "$TMPDIR/best" | uniq | tr x ' ' | sed 's/^/bf16 /' >"$TMPDIR/shapes"
"$TMAGEN" explain "$TMPDIR/specs/thin.yaml" --shapes "$TMPDIR/shapes" |
    sed -n 's/^thin on [^,]*, \([0-9x]*\): gemm_\([^,]*\),.*/\1 \2/p' >"$TMPDIR/chosen"
good=$(grep -cxFf "$TMPDIR/best" "$TMPDIR/chosen")
echo "$good of $(wc -l <"$TMPDIR/shapes") are foretold by what is left"
[ "$good" -ge $((gone * 19 / 20)) ] || fail "what is left does not foretell what went"

refused 2 'takes a dispatch table' specs/gemm_8x8.yaml
sed '/^measured:/,$d' "$table" >"$TMPDIR/specs/none.yaml"
refused 1 'no rows of measured in lines of their own' "$TMPDIR/specs/none.yaml"
refused 1 'no rows of measured in lines of their own' "$TMPDIR/specs/gemm_fp16_h200.yaml"
exit $failed
