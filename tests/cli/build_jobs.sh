#!/usr/bin/env bash
# Kernels are compiled by processes side by side: what they say comes in order and whole, the worst
# is the exit code, and a process that is lost is said of its kernel.
set -u
export TMAGEN_NVRTC=$BUILD/tests/fixtures/fake/nvrtc.so TMAGEN_TEMPLATES=$TMPDIR/families
export FAKE_NVRTC_LOG=$TMPDIR/compiles
# shellcheck source=tests/checks.sh
. tests/checks.sh
cp -r tests/fixtures/families "$TMPDIR/families"
# by stages: 3 warns, 4 does not compile
# shellcheck disable=SC2016
{
    printf '$ if stages == 3 then\n    #pragma warn\n$ elseif stages == 4 then\n    #error\n$ end\n'
    cat tests/fixtures/families/tiny/staged.cu.in
} >"$TMPDIR/families/tiny/staged.cu.in"
mkdir "$TMPDIR/work"
cd "$TMPDIR/work" || exit 1
out=$TMPDIR/out err=$TMPDIR/err compiles=$FAKE_NVRTC_LOG
printf 'kernel: tiny\ntile: {m: 64}\nstages: [2, 3, 4]\n' >s.yaml
printf 'kernel: tiny\ntile: {m: 64}\nbudget: {registers: 39}\n' >tight.yaml
printf 'kernel: tiny\ntile: {m: 64}\nstages: [5, 6, 7, 8]\n' >t.yaml
specs=(s.yaml tight.yaml t.yaml)
names='s_stages2 s_stages3 tight t_stages5 t_stages6 t_stages7 t_stages8 '  # what has a summary

summaries() { grep -Eo '^(s|t|tight)(_stages.)?$' "$1" | tr '\n' ' '; }
compilers() { cut -d ' ' -f 1 "$compiles" | sort -u | wc -l; }
fresh() { rm -rf "$TMAGEN_CACHE" "$compiles"; }

# ---- the same by one and by many, with output and error apart and in one file
for jobs in 1 8; do
    fresh
    exits 1 "$TMAGEN" -j $jobs "${specs[@]}"
    sed 's/in [0-9]* ms//' "$out" >out.$jobs
    cp "$err" err.$jobs
    [ "$(compilers)" = $jobs ] || fail "$(compilers) processes compiled with -j $jobs"
    fresh
    "$TMAGEN" --jobs=$jobs "${specs[@]}" 2>&1 | sed 's/in [0-9]* ms//' >both.$jobs
done
for what in out err both; do
    cmp $what.1 $what.8 || fail "$what depends on how many compile"
done
[ "$(summaries out.1)" = "$names" ] || fail "summaries of $(summaries out.1)"
has err.1 '^s_stages4.cu\(1\): error: #error$' 'tight: uses 40 registers' 'warning: as you wish'
grep -Eo '^(s|t|tight)(_stages.)?$|error: s_stages4|budget|as you wish' both.1 | tr '\n' ' ' >order
has order '^s_stages2 as you wish s_stages3 error: s_stages4 tight budget t_stages5 t_stages6 '

# ---- whoever ends first waits for its turn: the first has to be compiled, the others are there
exits 0 "$TMAGEN" t.yaml
rm "$TMAGEN_CACHE/$(sed -n '0,/ key /s/^  key *//p' "$out")"
exits 0 env FAKE_NVRTC_MS=300 "$TMAGEN" -j 4 t.yaml
[ "$(summaries "$out")" = 't_stages5 t_stages6 t_stages7 t_stages8 ' ] || fail "$(summaries "$out")"
[ "$(grep -c 'cache *hit' "$out")" = 3 ] || fail "$(cat "$out")"

# ---- as many as this process has cores
fresh
exits 0 taskset -c "$(taskset -cp $$ | sed 's/.* //; s/[,-].*//')" "$TMAGEN" t.yaml
[ "$(compilers)" = 1 ] || fail "$(compilers) processes compiled on one core"
fresh
exits 0 "$TMAGEN" t.yaml
cores=$(env -u OMP_NUM_THREADS nproc)
[ "$(compilers)" = $((cores < 4 ? cores : 4)) ] || fail "$(compilers) compiled on $cores cores"
exits 2 "$TMAGEN" -j 0 t.yaml

# ---- one that is killed is said of its kernel, in its place; the others are compiled
for jobs in 1 2 8; do
    fresh
    touch alive
    exits 1 env FAKE_NVRTC_KILL="$PWD/alive" "$TMAGEN" -j $jobs t.yaml
    [ ! -e alive ] || fail "none was killed with -j $jobs"
    has "$err" '^tmagen: error: t_stages[5-8]: the process died: Killed$' \
        '^tmagen: note: the source is in out/t_stages[5-8].cu$'
    lost=$(sed -n 's/.*error: \(.*\): the.*/\1/p' "$err")
    wanted='t_stages5 t_stages6 t_stages7 t_stages8 '
    [ "$(summaries "$out")" = "${wanted/$lost }" ] || fail "$lost was lost, not $(summaries "$out")"
    exits 0 "$TMAGEN" -j $jobs t.yaml
done

# ---- where no process can be made, each kernel has an error
# shellcheck disable=SC2016  # it is the inner shell's
exits 1 sh -c 'ulimit -n 6; exec "$0" -j 2 t.yaml' "$TMAGEN"
[ "$(grep -c '^tmagen: error: t_stages.: no process could be started$' "$err")" = 4 ] ||
    fail "$(cat "$err")"

# ---- the worst of all is the exit code, wherever it stands
exits 0 "$TMAGEN" t.yaml
exits 3 env TMAGEN_NVRTC=/nonexistent "$TMAGEN" -j 2 tight.yaml t.yaml --set scale=1
exits 1 "$TMAGEN" -j 2 tight.yaml t.yaml
exits 1 "$TMAGEN" -j 2 t.yaml tight.yaml
exit $failed
