#!/usr/bin/env bash
# What generation costs, counted and not timed: instructions of the whole process, from a folder
# without templates. test_speed holds the time itself where there is no valgrind.
set -u
bad=0
command -v valgrind >/dev/null || { echo "there is no valgrind"; exit 77; }
[ -z "${SANITIZED:-}" ] || { echo "a sanitizer build"; exit 77; }
specs=$PWD/specs
cd "$TMPDIR" || exit 1

# within SPEC MILLIONS - tmagen gen of it takes at most so many instructions.
within() {
    local said count
    said=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$TMAGEN" gen -o out "$specs/$1.yaml" 2>&1)
    count=$(sed -n 's/.*refs: *//p' <<<"$said" | tr -d ,)
    echo "$1: ${count:-none} instructions"
    [ "${count:-999999999}" -le $(($2 * 1000000)) ] || { echo "$said"; bad=1; }
}

within gemm_256x128 22
within gemm_128x128_repack 24
within deform_attn_padded 15
exit $bad
