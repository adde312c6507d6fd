#!/usr/bin/env bash
# Runs case folders, tests/cases/SUBJECT/NAME: spec.yaml and what tmagen must make of it.
# Expectations are whole files and not patterns, so that a change of any line of output shows.
#
# usage: TMAGEN=build/tmagen tests/run_cases.sh FOLDER...
#   UPDATE=1 rewrites those expectations that exist.
#   spec.yaml       the input; tmagen runs in a copy of the folder, so that messages read
#                   spec.yaml:1:1: ...
#   command         one shell line of arguments instead of 'gen -o $OUT spec.yaml'; $OUT is empty
#   templates/      is $TMAGEN_TEMPLATES where it exists; a file `families` beside the cases of a
#                   subject names the folder that stands there for those that have none
#   expected.cu     all generated sources, one after the other;  expected.json  all manifests
#   expected.out    standard output
#   expected.err    standard error; then the exit code must be 1, and $OUT still empty
#   expected.exit   the exit code, where that rule does not hold
set -u
TMAGEN=$(realpath "${TMAGEN:-build/tmagen}")
export TMAGEN

# expect FOLDER KIND ACTUAL - compares where expected.KIND exists.
expect() {
    local expected=$1/expected.$2
    [ -e "$expected" ] || return 0
    if [ -n "${UPDATE:-}" ]; then cp "$3" "$expected"; fi
    diff -u --label "$expected" --label "what tmagen made" "$expected" "$3"
}

all_of() { find "$1" -name "$2" -print0 | sort -z | xargs -0r cat; }

fault() {
    echo "$folder: $*"
    bad=1
}

# A copy of $folder at $work/case, among links to the other cases of its subject.
copy_case() {
    local subject
    subject=$(realpath "$(dirname "$folder")")
    mkdir "$work/subject"
    ln -s "$subject"/* "$work/subject"
    rm "$work/subject/${folder##*/}"
    cp -r "$folder" "$work/subject/${folder##*/}"
    ln -s "subject/${folder##*/}" "$work/case"
    [ -d "$folder/templates" ] || [ ! -e "$subject/families" ] ||
        ln -s "$(realpath "$(cat "$subject/families")")" "$work/case/templates"
}

run_case() {
    local folder=${1%/} work status=0 wanted=0 bad=0
    work=$(mktemp -d)
    copy_case
    export OUT=$work/out
    mkdir "$OUT"
    # shellcheck disable=SC2016
    local command='gen -o $OUT spec.yaml'
    [ ! -e "$folder/command" ] || command=$(cat "$folder/command")
    [ ! -d "$work/case/templates" ] || export TMAGEN_TEMPLATES=templates
    (cd -P "$work/case" && bash -c "'$TMAGEN' $command") >"$work/stdout" 2>"$work/stderr" ||
        status=$?
    all_of "$OUT" '*.cu' >"$work/cu"
    all_of "$OUT" '*.json' >"$work/json"

    compgen -G "$folder/expected.*" >/dev/null || fault "expects nothing, so it cannot fail"
    if [ -e "$folder/expected.exit" ]; then wanted=$(cat "$folder/expected.exit")
    elif [ -e "$folder/expected.err" ]; then
        wanted=1
        [ -z "$(ls -A "$OUT")" ] || fault "an error was reported, yet output was written"
    fi
    [ "$status" = "$wanted" ] || fault "exit code $status, expected $wanted: $(cat "$work/stderr")"
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
