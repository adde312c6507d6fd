#!/usr/bin/env bash
# Runs every test there is, three or $TEST_JOBS at a time, for two cores, since some wait for locks
# and sleep: unit binaries (cmocka), case folders, tests/cli/*.sh. What is timed is timed by the
# CPU's clock.
# A test's cache and temporary files are its own, so that no order matters and nothing of the user's
# is touched. Those that run many real kernels share a cache, $KERNELS, which outlives the run.
#
# usage: BUILD=build NVRTC=LIBRARY tests/run_tests.sh UNIT_BINARY...
#   NVRTC is the libnvrtc.so to use where the library would not find one by itself; or empty.
#   SCRATCH: the folder in which a folder for those files is made; /dev/shm, where there is
#   room, and where none can be made $BUILD/tmp. $BUILD/scratch has its name while it is there, by
#   which the next run removes what a kill left in /dev/shm.
#   ONLY=PATTERN runs the tests whose path matches. TEST_SECONDS: how long one may take; 600.
#   KERNELS: where that cache lies; $BUILD/kernels. It is emptied where the sources that fill it
#   have changed, since what a mistake in them left would be found again.
#   A script passes with exit 0, is skipped with 77 (its last line says why) and fails otherwise. It
#   runs in the tree's root with TMAGEN (the program), BUILD, TMAGEN_CACHE and TMPDIR (both fresh),
#   KERNELS, and SANITIZED in a sanitizer build.
#   The last lines name the ten slowest tests, with the seconds of a core that they took, the sum of
#   all, and say 'N passed, N failed'; exit 1 if any failed. $BUILD/logs has the logs, and every
#   test's times.
set -u
export BUILD=${BUILD:-build}
cd "$(dirname "$0")/.." || exit 1
BUILD=$(realpath "$BUILD")
[ -z "${NVRTC:-}" ] || export TMAGEN_NVRTC=$NVRTC
export TMAGEN=$BUILD/tmagen LOGS=$BUILD/logs TEST_SECONDS=${TEST_SECONDS:-600}

# cpu - milliseconds of CPU time that this shell's children took, to a tick.
cpu() {
    local stat
    read -ra stat </proc/$$/stat
    echo $(((stat[15] + stat[16]) * 1000 / $(getconf CLK_TCK)))
}

# verdict NAME START PASSED FAILED SKIPPED - one line for the person, one row for the sum: counts,
# milliseconds on the clock and of a core, and the name.
verdict() {
    local word=ok skipped="" started=$2
    set -- "$1" "${@:3}"
    [ "$4" = 0 ] || [ "$2" != 0 ] || word=SKIP
    [ "$3" = 0 ] || word=FAIL
    echo "$2 $3 $4 $(((${EPOCHREALTIME/./} - started) / 1000)) $(cpu) $1" >"$LOGS/$1.count"
    printf '%-4s %s' "$word" "$1"
    [ "$4" = 0 ] || skipped=", $4 skipped"
    [ "$(($2 + $3 + $4))" -le 1 ] || printf ' (%d of %d%s)' "$2" $(($2 + $3 + $4)) "$skipped"
    [ $word != SKIP ] || printf ': %s' "$(tail -n 1 "$LOGS/$1.log")"
    echo
    [ $word != FAIL ] || sed 's/^/     | /' "$LOGS/$1.log" | tail -n 40
}

# summary WORD LOG - the count in cmocka's closing line of that word.
# Version 1.1.7 puts the group's name before it.
summary() {
    sed -nE "s/^\[ *$1 *\] (.*: )?([0-9]+) test\(s\).*/\2/p" "$2" | tail -n 1 | grep . || echo 0
}

# unit BINARY LOG - counts as cmocka does; a crash, or no test at all, is one failure more.
unit() {
    timeout "$TEST_SECONDS" "$1" >"$2" 2>&1 </dev/null
    local status=$? passed failed skipped
    passed=$(grep -c '^\[       OK \]' "$2")
    failed=$(summary FAILED "$2")
    skipped=$(summary SKIPPED "$2")
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        echo "exit code $status" >>"$2"
        failed=1
    elif [ $((passed + failed + skipped)) = 0 ]; then
        echo "ran no test" >>"$2"
        failed=1
    fi
    echo "$passed $failed $skipped"
}

# script LOG COMMAND... - one test by its exit code.
script() {
    local log=$1
    shift
    timeout "$TEST_SECONDS" "$@" >"$log" 2>&1 </dev/null
    case $? in
    0) echo 1 0 0 ;;
    77) echo 0 0 1 ;;
    124) echo "ran longer than $TEST_SECONDS s" >>"$log"; echo 0 1 0 ;;
    *) echo 0 1 0 ;;
    esac
}

# sweep FOLDER - removes it, with what tests have made unwritable.
sweep() {
    chmod -R u+rwx "$1" 2>/dev/null
    rm -rf "$1"
}

run_one() {
    local test=$1 name counts started=${EPOCHREALTIME/./}
    name=$(sed 's|.*tests/||; s|^cases/||; s|/*$||; s|/|.|g' <<<"$test")
    export TMPDIR=$SCRATCH/$name
    export TMAGEN_CACHE=$TMPDIR/cache
    [ -d "$SCRATCH" ] || exit 255    # the run was ended; xargs begins no other
    mkdir -p "$TMPDIR"
    case $test in
    */) counts=$(script "$LOGS/$name.log" tests/run_cases.sh "$test") ;;
    *.sh) counts=$(script "$LOGS/$name.log" "$test") ;;
    *) counts=$(unit "$test" "$LOGS/$name.log") ;;
    esac
    # shellcheck disable=SC2086
    verdict "$name" "$started" $counts
    sweep "$TMPDIR"
}
export -f cpu verdict summary unit script sweep run_one

# The folder of the shared cache has the digest of what fills it for its name; others go.
kernels=${KERNELS:-$BUILD/kernels}
fillers=$(cat runtime/{compile,request,directive,resources,nvrtc,key,entry,cache*}.[ch] |
    sha256sum | cut -c 1-16)
export KERNELS=$kernels/$fillers
mkdir -p "$KERNELS"
find "$kernels" -mindepth 1 -maxdepth 1 ! -name "$fillers" -exec rm -rf {} +

# Files that come and go are in memory, where there is room for them and programs may run.
room() {
    local kib
    kib=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)
    [ "${kib:-0}" -gt 4000000 ] &&
        findmnt -no OPTIONS -T /dev/shm 2>/dev/null | grep -qv noexec
}
rm -rf "$LOGS" "$BUILD/tmp"
mkdir -p "$LOGS" "$BUILD/tmp"
left=$(cat "$BUILD/scratch" 2>/dev/null)
[[ ! $left =~ ^/dev/shm/tmagen\.[[:alnum:]]{6}$ ]] || sweep "$left"
in=$(realpath "${SCRATCH:-/dev/shm}")
SCRATCH=$BUILD/tmp
if [ "$in" != /dev/shm ] || room; then
    made=$(mktemp -d "$in/tmagen.XXXXXX" 2>/dev/null) && SCRATCH=$made
fi
echo "$SCRATCH" >"$BUILD/scratch"
chmod 755 "$SCRATCH"    # a test asks for another user's word
export SCRATCH
trap 'sweep "$SCRATCH" && rm -f "$BUILD/scratch"' EXIT
# The long ones first, so that both cores are busy up to the end. Of a shipped kernel compile_specs
# has cubin and PTX of one compile, and others, which would have the PTX alone compiled before, come
# after it; those whose kernels nobody ships run beside it.
first=(compile_specs emu_unshipped gemm_ops grouped gemm_reads pairwise gemm_bytes gemm_blocks)
# shellcheck disable=SC2016
{
    printf 'tests/cli/%s.sh\n' "${first[@]}"
    find tests/cli -maxdepth 1 -name '*.sh' | sort
    printf '%s\n' "$@"
    find tests/cases -mindepth 3 -maxdepth 3 -name spec.yaml -printf '%h/\n' | sort
} | grep . | awk '!there[$0]++' | grep -e "${ONLY:-.}" |
    xargs -r -P "${TEST_JOBS:-3}" -I{} bash -c 'run_one "$1"' run_one {}
[ $? != 124 ] || { echo "$SCRATCH is gone; the other tests were not run"; exit 1; }

[ -n "${ONLY:-}" ] || sort -rnk5 "$LOGS"/*.count |
    awk 'NR <= 10 { printf "%6.1f s %s\n", $5 / 1e3, $6 }
        { all += $5 }
        END { printf "%6.1f s of a core, all tests\n", all / 1e3 }'
awk '{ passed += $1; failed += $2; skipped += $3 }
    END { printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
          exit failed > 0 || passed == 0 }' "$LOGS"/*.count /dev/null
