#!/bin/sh
# The harness itself: a case must fail for each reason that it has, or no other case means anything.
# tmagen is played by a script that says and writes what the case tells it to.
set -u
bad=0
player=$TMPDIR/player
case_folder=$TMPDIR/case
printf '#!/bin/sh\n. ./play\n' >"$player"
chmod +x "$player"
export OUT

# verdict WANTED WHAT - runs the case; it must pass (0) or fail (1).
verdict() {
    said=$(TMAGEN=$player tests/run_cases.sh "$case_folder")
    code=$?
    [ $code = "$1" ] || { echo "$2: the harness said $code: $said"; bad=1; }
}

# play SCRIPT FILE=CONTENT... - a case folder with this player and these expectations.
play() {
    rm -rf "$case_folder"
    mkdir -p "$case_folder"
    echo "$1" >"$case_folder/play"
    shift
    for file in "$@"; do echo "${file#*=}" >"$case_folder/expected.${file%%=*}"; done
}

# shellcheck disable=SC2016
{
    play 'echo a >$OUT/x.cu' cu=a;            verdict 0 "the expected source"
    play 'echo b >$OUT/x.cu' cu=a;            verdict 1 "another source"
    play 'true' cu=a;                         verdict 1 "no source"
    play 'echo a >$OUT/x.cu; exit 1' cu=a;    verdict 1 "the source, yet an error"
    play 'echo no >&2; exit 1' err=no;        verdict 0 "the expected error"
    play 'echo so >&2; exit 1' err=no;        verdict 1 "another error"
    play 'echo no >&2' err=no;                verdict 1 "an error without its exit code"
    play 'echo no >&2; >$OUT/x.cu; exit 1' err=no; verdict 1 "an error, yet output"
    play 'echo a; exit 2' out=a exit=2;       verdict 0 "the expected exit code"
    play 'kill -SEGV $$' err=;                verdict 1 "a crash"
    play 'true';                              verdict 1 "no expectation at all"
}
exit $bad
