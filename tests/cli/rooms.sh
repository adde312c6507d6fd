#!/usr/bin/env bash
# The files of gen, measure and runtime use each other in one direction: no circle of includes, none
# of functions (as the linker sees them), no room that uses one behind it. In runtime/emu every
# function of a room's headers is defined where its header says: below "// ---- x.c" in x.c, else in
# the file of the header's name.
set -u
house='runtime measure gen gen/cli' emu='ptx decode model machine check exec launch'
bad=0
finding() {
    echo "$*"
    bad=1
}

sources=({runtime/emu/*,runtime,measure,gen,gen/cli}/*.c)
headers=({runtime/emu/*,runtime,measure,gen,gen/cli}/*.h)
[ ${#sources[@]} -gt 200 ] || finding "where are the files?"

# ---- who uses whom: "user used", by includes and by symbols ----

awk '/^#include "(runtime|measure|gen)\// { split($2, part, "\""); print FILENAME, part[2] }' \
    "${sources[@]}" "${headers[@]}" >"$TMPDIR/includes"
objects=("${sources[@]/%.c/.o}")
(cd "$BUILD" && nm -A "${objects[@]}") |
    awk -F '[: ]+' '{ sub(/o$/, "c", $1); print $1, $(NF - 1), $NF }' >"$TMPDIR/symbols"
awk '$2 ~ /[TDRB]/ { print $3, $1 }' "$TMPDIR/symbols" | sort >"$TMPDIR/defined"
awk 'NR == FNR { where[$1] = $2; next }
     $2 == "U" && $3 in where && where[$3] != $1 { print $1, where[$3] }' \
    "$TMPDIR/defined" "$TMPDIR/symbols" | sort -u >"$TMPDIR/uses"
[ "$(wc -l <"$TMPDIR/uses")" -gt 100 ] || finding "the objects name hardly any function"

for kind in includes uses; do
    loop=$(tsort "$TMPDIR/$kind" 2>&1 >/dev/null)
    [ -z "$loop" ] || finding "a circle of $kind:" "$loop"
done

# uses_behind ROOMS FOLDER: those of the files in FOLDER, "" is all
uses_behind() {
    cat "$TMPDIR/includes" "$TMPDIR/uses" | awk -v rooms="$1" -v folder="$2" '
        BEGIN { n = split(rooms, name, " "); for (i = 1; i <= n; i++) rank[name[i]] = i }
        function room(path) {
            sub(/\/[^\/]*$/, "", path)
            if (!sub("^" folder, "", path)) return 0
            if (!folder) sub(/^runtime\/.*/, "runtime", path)
            if (!(path in rank)) print path " is in no room of the list"
            return rank[path]
        }
        room($1) && room($2) && room($1) < room($2) { print $1 " uses " $2 }'
}
behind=$(uses_behind "$house" '')
[ -z "$behind" ] || finding "a room uses one behind it (the order is: $house):" "$behind"
behind=$(uses_behind "$emu" runtime/emu/)
[ -z "$behind" ] || finding "a room uses one behind it (the order is: $emu):" "$behind"

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
    }' runtime/emu/*/*.h | sort >"$TMPDIR/declared"
[ "$(wc -l <"$TMPDIR/declared")" -gt 100 ] || finding "the headers declare hardly anything"
elsewhere=$(comm -23 "$TMPDIR/declared" "$TMPDIR/defined")
[ -z "$elsewhere" ] || finding "declared for a file that does not define it:" "$elsewhere"

exit $bad
