#!/usr/bin/env bash
# The emulator gives what an H200 gave for some 4,300 forms of PTX instructions, bit for bit where
# PTX is exact; and a wrong bit in the record is noticed, else this test could not fail.
set -eu
cd "$(dirname "$0")/../.."
vectors=$BUILD/vectors

"$vectors" --device emu

# A record of [table] that was changed by [edit] must be noticed, with words that match [said].
noticed() {
    local table=$1 edit=$2 said=$3
    mkdir -p "$TMPDIR/record"
    sed "$edit" "tests/emu/vectors/$table.txt" >"$TMPDIR/record/$table.txt"
    if "$vectors" --only "$table" --folder "$TMPDIR/record" >"$TMPDIR/log"; then
        echo "a record with other results was taken for equal: $table" >&2
        exit 1
    fi
    grep -q "$said" "$TMPDIR/log"
}

noticed int '/^[0-9a-f]* [0-9a-f]*$/{s/^0/1/;t;s/^./0/;}' 'expected .*, got .*; inputs'
noticed im2col 's/^ 0/ 1/;t;s/^ ./ 0/' 'result 8 differs in a thread behind the first 0'
noticed im2col '/^ /{s/0$/1/;t;s/.$/0/;}' 'result [0-9]* differs in a thread behind the first 0'
