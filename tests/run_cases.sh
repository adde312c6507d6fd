#!/usr/bin/env bash
# Runs case folders: tests/NAME/spec.yaml and what tmagen must make of it, as files beside it.
# The expectation is whole files and not patterns, so that a change of any message or any line of output shows.
#
# usage: TMAGEN=build/tmagen tests/run_cases.sh FOLDER...      UPDATE=1 rewrites the expectations that exist
#   spec.yaml       the input; tmagen runs inside the folder, so that messages read spec.yaml:LINE:COLUMN
#   command         one shell line of arguments instead of 'gen -o $OUT spec.yaml'; $OUT is an empty folder
#   templates/      given as --templates where it exists
#   expected.cu     all generated sources, one after the other         expected.json   all manifests
#   expected.out    standard output        expected.err    standard error; then the exit code must be 1 and $OUT empty
#   expected.exit   the exit code, where it is neither 0 nor 1 by the rule above
set -u
TMAGEN=$(realpath "${TMAGEN:-build/tmagen}")

# expect FOLDER KIND ACTUAL - compares where expected.KIND exists.
expect() {
    local expected=$1/expected.$2
    [ -e "$expected" ] || return 0
    if [ -n "${UPDATE:-}" ]; then cp "$3" "$expected"; fi
    diff -u --label "$expected" --label "what tmagen made" "$expected" "$3"
}

all_of() { find "$1" -name "$2" -print0 | sort -z | xargs -0r cat; }

run_case() {
    local folder=${1%/} work status=0 wanted=0 bad=0
    work=$(mktemp -d)
    export OUT=$work/out
    mkdir "$OUT"
    # shellcheck disable=SC2016
    local command='gen -o $OUT spec.yaml'
    [ ! -e "$folder/command" ] || command=$(cat "$folder/command")
    [ ! -d "$folder/templates" ] || export TMAGEN_TEMPLATES=templates
    (cd "$folder" && TMAGEN=$TMAGEN bash -c "\"\$TMAGEN\" $command") >"$work/stdout" 2>"$work/stderr" || status=$?
    all_of "$OUT" '*.cu' >"$work/cu"
    all_of "$OUT" '*.json' >"$work/json"

    ls "$folder"/expected.* >/dev/null 2>&1 || { echo "$folder: expects nothing, so it cannot fail"; bad=1; }
    if [ -e "$folder/expected.exit" ]; then wanted=$(cat "$folder/expected.exit")
    elif [ -e "$folder/expected.err" ]; then
        wanted=1
        [ -z "$(ls -A "$OUT")" ] || { echo "$folder: an error was reported, yet output was written"; bad=1; }
    fi
    [ "$status" = "$wanted" ] || { echo "$folder: exit code $status, expected $wanted"; cat "$work/stderr"; bad=1; }
    expect "$folder" cu "$work/cu" || bad=1
    expect "$folder" json "$work/json" || bad=1
    expect "$folder" out "$work/stdout" || bad=1
    expect "$folder" err "$work/stderr" || bad=1
    rm -rf "$work"
    return $bad
}

failed=0
for folder in "$@"; do (run_case "$folder") || failed=1; done
exit $failed
