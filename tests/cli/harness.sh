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

# A run works in a folder of its own, and in the build folder where none can be made.
mkdir -p "$TMPDIR/tests" "$TMPDIR/build" "$TMPDIR/shim" "$TMPDIR/theirs"
where=$TMPDIR/tests/probe_where.sh away=$TMPDIR/tests/probe_away.sh
log=$TMPDIR/build/logs/probe_where.sh.log
# shellcheck disable=SC2016
{
    printf '%s\n' '#!/bin/sh' 'echo "in $TMPDIR"' >"$where"
    printf '%s\n' '#!/bin/sh' 'rm -rf "$SCRATCH"' >"$away"
}
printf '#!/bin/sh\nexit 1\n' >"$TMPDIR/shim/mktemp"
printf '#!/bin/sh\necho 9999999\n' >"$TMPDIR/shim/df"
printf '#!/bin/sh\necho rw\n' >"$TMPDIR/shim/findmnt"
chmod +x "$TMPDIR"/tests/* "$TMPDIR"/shim/*

# probes TEST... - a run of these, one at a time; the shared cache is not theirs.
probes() {
    BUILD=$TMPDIR/build KERNELS=$TMPDIR/kernels ONLY=probe_ TEST_JOBS=1 \
        tests/run_tests.sh "$@" >"$TMPDIR/said" 2>&1
}
wrong() { echo "$*:"; cat "$TMPDIR/said"; bad=1; }

unset SCRATCH
PATH=$TMPDIR/shim:$PATH probes "$where" || wrong "a run without mktemp"
grep -qx "in $TMPDIR/build/tmp/probe_where.sh" "$log" || wrong "no mktemp: $(cat "$log")"
echo "$TMPDIR/theirs" >"$TMPDIR/build/scratch"
SCRATCH=$TMPDIR/tests probes "$where" || wrong "a run in a folder that is named"
grep -q "^in $TMPDIR/tests/tmagen\.[^/]*/probe_where.sh$" "$log" || wrong "SCRATCH: $(cat "$log")"
[ -d "$TMPDIR/theirs" ] || wrong "another's folder was removed"
[ ! -e "$TMPDIR/build/scratch" ] || wrong "the name of a folder that is gone"
if old=$(mktemp -d /dev/shm/tmagen.XXXXXX 2>/dev/null); then
    echo "$old" >"$TMPDIR/build/scratch"
    probes "$where" || wrong "a run after one that was killed"
    [ ! -d "$old" ] || wrong "what a killed run left is there"
fi
probes "$away" "$where" && wrong "passed, though its folder went away"
[ ! -e "$log" ] || wrong "a test began after the run was ended"
exit $bad
