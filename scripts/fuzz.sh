#!/bin/sh
# Runs every fuzz target for some seconds, starting from its seeds and from what earlier runs found.
# Seeds are committed in tests/fuzz/NAME/ (where there is one), finds stay in the build folder.
#
# usage: scripts/fuzz.sh BUILD SECONDS      exit 1 if a target crashed; libFuzzer names the input
set -u
build=$1
bad=0
for source in tests/fuzz/*.c; do
    [ -e "$source" ] || { echo "fuzz: no targets"; exit 0; }
    name=$(basename "$source" .c)
    seeds=
    [ ! -d "tests/fuzz/$name" ] || seeds=tests/fuzz/$name
    dictionary=
    [ ! -e "tests/fuzz/$name.dict" ] || dictionary=-dict=tests/fuzz/$name.dict
    mkdir -p "$build/corpus/$name"
    echo "fuzz: $name for $2 s"
    # shellcheck disable=SC2086
    "$build/tests/fuzz/$name" -max_total_time="$2" -timeout=10 -rss_limit_mb=1024 -max_len=4096 \
        -verbosity=0 -print_final_stats=1 -artifact_prefix="$build/$name-" $dictionary \
        "$build/corpus/$name" $seeds >"$build/$name.log" 2>&1 || {
        tail -n 40 "$build/$name.log"
        bad=1
    }
    grep -E 'number_of_executed_units|new_units_added' "$build/$name.log"
done
exit $bad
