#!/bin/sh
# Runs every fuzz target for some seconds, one on each core, starting from its seeds and from what
# earlier runs found.
# Seeds are committed in tests/fuzz/NAME/ (where there is one), finds stay in the build folder.
#
# usage: scripts/fuzz.sh BUILD SECONDS [NAME]
#   NAME: only this target. Exit 1 if a target crashed; libFuzzer names the input
set -u
build=$1
seconds=$2

if [ $# -lt 3 ]; then
    for source in tests/fuzz/*.c; do basename "$source" .c; done |
        xargs -P "$(nproc)" -n 1 "$0" "$build" "$seconds" || exit 1
    exit 0
fi

name=$3
seeds=
[ ! -d "tests/fuzz/$name" ] || seeds=tests/fuzz/$name
dictionary=
[ ! -e "tests/fuzz/$name.dict" ] || dictionary=-dict=tests/fuzz/$name.dict
mkdir -p "$build/corpus/$name"
bad=0
# shellcheck disable=SC2086
"$build/tests/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=4096 \
    -verbosity=0 -print_final_stats=1 -artifact_prefix="$build/$name-" $dictionary \
    "$build/corpus/$name" $seeds >"$build/$name.log" 2>&1 || bad=1
log=$(
    echo "fuzz: $name for $seconds s"
    [ $bad = 0 ] || tail -n 40 "$build/$name.log"
    grep -E 'number_of_executed_units|new_units_added' "$build/$name.log"
)
echo "$log"
exit $bad
