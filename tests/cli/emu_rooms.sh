#!/usr/bin/env bash
# The files of runtime/emu use each other in one direction: no circle of includes, none of functions
# (as the linker sees them), no room that uses one behind it, and every function of a room's headers
# is defined where its header says: below "// ---- x.c" in x.c, else in the file of the header's
# name.
set -u
rooms='ptx decode model machine check exec launch'
bad=0
finding() {
    echo "$*"
    bad=1
}

sources=(runtime/emu/*/*.c) headers=(runtime/emu/*/*.h)
[ ${#sources[@]} -gt 40 ] || finding "where are the files?"

# ---- who uses whom: "user used", by includes and by symbols ----

awk '/^#include "runtime\/emu\// { split($2, part, "\""); print FILENAME, part[2] }' \
    "${sources[@]}" "${headers[@]}" >"$TMPDIR/includes"
for source in "${sources[@]}"; do
    nm "$BUILD/${source%.c}.o" | awk -v file="$source" '{ print file, $(NF - 1), $NF }'
done >"$TMPDIR/symbols"
awk '$2 ~ /[TDRB]/ { print $3, $1 }' "$TMPDIR/symbols" | sort >"$TMPDIR/defined"
awk 'NR == FNR { where[$1] = $2; next }
     $2 == "U" && $3 in where && where[$3] != $1 { print $1, where[$3] }' \
    "$TMPDIR/defined" "$TMPDIR/symbols" | sort -u >"$TMPDIR/uses"
[ "$(wc -l <"$TMPDIR/uses")" -gt 100 ] || finding "the objects name hardly any function"

for kind in includes uses; do
    loop=$(tsort "$TMPDIR/$kind" 2>&1 >/dev/null)
    [ -z "$loop" ] || finding "a circle of $kind:" "$loop"
done

behind=$(cat "$TMPDIR/includes" "$TMPDIR/uses" | awk -v rooms="$rooms" '
    BEGIN { n = split(rooms, name, " "); for (i = 1; i <= n; i++) rank[name[i]] = i }
    {
        if (split($1, a, "/") < 4 || split($2, b, "/") < 4) next  # emu.h, which all may use
        if (!(a[3] in rank)) print $1 " is in no room of the list"
        if (rank[a[3]] < rank[b[3]]) print $1 " uses " $2
    }')
[ -z "$behind" ] || finding "a room uses one behind it (the order is: $rooms):" "$behind"

# ---- a declaration stands with its definition ----

awk '
    FNR == 1 { file = FILENAME; sub(/h$/, "c", file) }
    match($0, /^\/\/ ---- [a-z0-9_]+\.c/) {
        room = FILENAME
        sub(/[^\/]*$/, "", room)
        file = room substr($0, RSTART + 8, RLENGTH - 8)
    }
    /^[a-z_]/ && !/^(static|typedef)/ && match($0, /(emu|ptx|tmg)_[a-z0-9_]+\(/) {
        print substr($0, RSTART, RLENGTH - 1), file
    }' "${headers[@]}" | sort >"$TMPDIR/declared"
[ "$(wc -l <"$TMPDIR/declared")" -gt 100 ] || finding "the headers declare hardly anything"
elsewhere=$(comm -23 "$TMPDIR/declared" "$TMPDIR/defined")
[ -z "$elsewhere" ] || finding "declared for a file that does not define it:" "$elsewhere"

exit $bad
