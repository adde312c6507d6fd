#!/usr/bin/env bash
# tune from end to end on a stand-in driver with a clock, whose kernels compute, hang, die or lie as
# they are told: what it finds is known beforehand.
# shellcheck disable=SC1091,SC2154
set -u
. tests/fixtures/tuned/tune.bash

# ---- the best is found, and everything of it is written
good t.db p.yaml "${shapes[@]}"
has err "^\[3/3\] bf16 48x64x128: $best 0\.011 ms, of 16" \
    '^waiting for compilers [0-9.]+ s, checks [0-9.]+ s, first looks [0-9.]+ s, contests [0-9.]+ s$'
show t.db
has shown "^Fake H200 +bf16 +32x136x72 +$best +0\.011 +0\.00% +20 +1\.091 +16 +0$"
equal "shapes" 3 "$(grep -c '^Fake' shown)"
equal "checks at the shapes" '48|256|1' \
    "$(sql t.db "SELECT count(*), min(checked), max(worst) < 1 FROM result WHERE verdict = 'ok'")"
equal "checks of kernels" '16|1|24x136x72: 3264 elements' \
    "$(sql t.db "SELECT count(*), min(length(manifest)) > 100, min(checks) FROM kernel
        WHERE verdict = 'ok' AND spec LIKE '{kernel: paces, arch: sm_90a, weight: %}'")"
equal "versions" "1|$("$TMAGEN" --version | cut -d ' ' -f 2)|64" \
    "$(sql t.db "SELECT min(compiler LIKE 'nvrtc%'), min(tmagen), min(length(key)) FROM kernel")"
equal "contests: two are within 1.3 of the best, and need one" "0|1 1|20 " \
    "$(sql t.db "SELECT DISTINCT level, rounds FROM result ORDER BY 1" | tr '\n' ' ')"
"$TMAGEN" tune table t.db >rows.yaml || fail "table: exit code $?"
has rows.yaml '^# Fake H200, paces, bf16$' '^tuned:$' \
    "^  - \{shape: 32x136x72, kernel: $best, us: 11\}$" '^measured:$' \
    "^  - \{shape: 32x136x72, us: \{$best: 11, $second: 12\}\}$"
# a contest's winner is 1.5 % ahead of all that lost before, at a clock of .75 of theirs at least
for row in 10.5:10.34:11.29 7.5:8.25:9; do
    IFS=: read -r looks first next <<<"$row"
    cp t.db clocks.db
    sql clocks.db "UPDATE result SET ms = $looks / 1000, lower = ms, upper = ms WHERE level = 0"
    "$TMAGEN" tune table clocks.db | tr -s '[:space:]' ' ' >rows.yaml
    has rows.yaml "shape: 32x136x72, us: \{[^}]*$best: ${first}[,}]" \
        "shape: 32x136x72, us: \{[^}]*$second: ${next}[,}]"
done
cp t.db part.db
sql part.db "DELETE FROM result WHERE shape = '32x136x72' AND ms > .019 AND rowid % 2"
"$TMAGEN" tune table part.db >rows.yaml || fail "table: exit code $?"
has rows.yaml '^  - \{shape: 64x64x64, us:' '^  - \{shape: 32x136x72, kernel:'
hasnt rows.yaml '^  - \{shape: 32x136x72, us:'    # of the others nothing can be said

# ---- the same command again measures nothing
rows t.db >before
FAKE_TRACE=$TMPDIR/trace good t.db p.yaml "${shapes[@]}"
[ ! -e trace ] || fail "measured again what the database has"
rows t.db | cmp - before || fail "nothing to do, yet rows differ"

# ---- a larger sweep meets the best so far
printf 'kernel: paces\nweight: 9\nstep: [long, short]\n' >q.yaml
cp t.db more.db
FAKE_US_q_steplong=10 FAKE_TRACE=$TMPDIR/trace good more.db p.yaml q.yaml --shape 64x64x64
show more.db
has shown '64x64x64 +q_steplong +0\.01 .* 1\.100 +18 +0$'
grep -q "$best" trace || fail "the best so far took no part"

# ---- of many, ever fewer go on
for i in 1 2 4 6 7 8; do export "FAKE_US_p_weight${i}_steplong=$((11 + i / 4))"; done
FAKE_TRACE=$TMPDIR/contests.trace good contests.db p.yaml --shape 64x64x64
equal "contests among eight" "0|8 1|4 2|2 3|2 " \
    "$(sql contests.db "SELECT level, count(*) FROM result GROUP BY 1" | tr '\n' ' ')"
equal "replays, the GPU brought to a contest's clock once" 724 "$(wc -l <contests.trace)"
# --quick: one contest, of half the turns; a tuning without it goes on from there
FAKE_TRACE=$TMPDIR/quick.trace good quick.db p.yaml --shape 64x64x64 --quick
equal "a quick contest" "0|8 1|8 " \
    "$(sql quick.db "SELECT level, count(*) FROM result GROUP BY 1" | tr '\n' ' ')"
equal "its replays" 224 "$(wc -l <quick.trace)"
good quick.db p.yaml --shape 64x64x64
equal "contests behind it" "0|8 1|4 2|2 3|2 " \
    "$(sql quick.db "SELECT level, count(*) FROM result GROUP BY 1" | tr '\n' ' ')"
for i in 1 2 4 6 7 8; do unset "FAKE_US_p_weight${i}_steplong"; done

# all that a quick time has near the best meet first, 32 at most; then eight, four, two
printf 'kernel: paces\nweight: [%s]\nstep: [long, short]\n' "$(seq -s ', ' 1 20)" >w.yaml
for i in $(seq 1 20); do export "FAKE_US_w_weight${i}_steplong=$((11 + i / 8))"; done
for i in $(seq 1 16); do export "FAKE_US_w_weight${i}_stepshort=13"; done
good many.db w.yaml --shape 64x64x64 --keep 0
equal "contests of many" "0|8 1|24 2|4 3|2 4|2 " \
    "$(sql many.db "SELECT level, count(*) FROM result GROUP BY 1" | tr '\n' ' ')"
unset "${!FAKE_US_w_@}"

# ---- what hangs, dies or fails is left out, and said; the rest is found
for how in HANG CRASH ERROR; do
    declare -x "FAKE_$how=$best"
    good $how.db p.yaml "${shapes[@]}" --timeout 2
    case $how in
    HANG) has err "warning: $best: hang: no end after 2 s" ;;
    CRASH) has err "warning: $best: fault: the process died: Aborted" ;;
    ERROR) has err "warning: $best: fault: .*CUDA_ERROR" ;;
    esac
    show $how.db
    equal "$how: the best of the rest" 3 "$(grep -c " $second  *0\.012 " shown)"
    good $how.db p.yaml "${shapes[@]}"
    hasnt err warning
    unset "FAKE_$how"
done
# the same at the shape that is measured, where the kernel was right when an earlier run checked it
cp t.db late.db
FAKE_HANG=$best good late.db p.yaml --shape 16x16x16 --timeout 2
has err "warning: $best at 16x16x16: hang" "\[1/1\] bf16 16x16x16: $second 0\.012"

# where all hang, the time that is given ends it after a few, and another run tries others
FAKE_HANG='*' tune all.db p.yaml --shape 64x64x64 --timeout 1 --seconds .5
equal "where all hang" 1 $?
has err '\[1/1\] bf16 64x64x64: no kernel'
equal "of sixteen" 8 "$(grep -c ': hang: no end after 1 s' err)"
good all.db p.yaml --shape 64x64x64
has err '\[1/1\] bf16 64x64x64: p_weight.* ms, of 8;'
# at another shape none of those is looked at, nor do they take the place of others
good all.db p.yaml --shape 32x136x72 --keep 8
has err '\[1/1\] bf16 32x136x72: p_weight.* ms, of 8;'

# a load that does not end is not the kernel's fault
touch slow
FAKE_LOAD=$TMPDIR/slow good load.db p.yaml --shape 64x64x64 --timeout 2
[ ! -e slow ] || fail "nothing was loaded"
has err "^\[1/1\] bf16 64x64x64: $best 0\.011 ms, of 16" ' 0 left out'

# a compiler that is killed between two kernels is replaced; a sanitizer wants to be loaded first
[ -n "${SANITIZED:-}" ] || {
    touch alive
    LD_PRELOAD=$fake/nice.so FAKE_NICE=$TMPDIR/alive good k.db p.yaml --shape 64x64x64 --jobs 1
    [ ! -e alive ] || fail "no compiler was killed"
    has err "^\[1/1\] bf16 64x64x64: $best 0\.011" '^16 kernels compiled .* 0 left out'
}

# who is killed, by a system that is short of memory say, is tried once more: as it is checked, as
# it is measured and as it compiles; and is left out where it is killed again
for db in killed late_killed; do
    [ $db = killed ] || cp t.db $db.db
    touch alive
    FAKE_KILL=$best FAKE_KILLS=$TMPDIR/alive good $db.db p.yaml --shape 16x16x16
    [ ! -e alive ] || fail "$db: no worker was killed"
    has err "^tmagen: note: $best: its process was killed; it is tried once more$" \
        "^\[1/1\] bf16 16x16x16: $best 0\.011" ' 0 left out'
done
FAKE_KILL=$best good twice_killed.db p.yaml --shape 16x16x16
has err "note: $best: its process was killed" \
    "warning: $best: fault: the process died: Killed" "^\[1/1\] bf16 16x16x16: $second 0\.012"
rm -rf "$TMAGEN_CACHE"
touch alive
FAKE_NVRTC_KILL=$TMPDIR/alive good compile_killed.db p.yaml --shape 16x16x16
[ ! -e alive ] || fail "no compiler was killed"
has err '^tmagen: note: p_weight._step.*: its process was killed' \
    "^\[1/1\] bf16 16x16x16: $best 0\.011 ms, of 16" '^16 kernels compiled .* 0 left out'

# ---- a kernel that computes something else is never the best, however fast
FAKE_WRONG=$best FAKE_FACTOR=1.02 good wrong.db p.yaml "${shapes[@]}"
has err "$best: wrong: 24x136x72: d: "
equal "times of what is wrong at small shapes" 0 \
    "$(sql wrong.db "SELECT count(*) FROM result JOIN kernel USING (key) WHERE name = '$best'")"
show wrong.db
equal "the best that is right" 3 "$(grep -c " $second  *0\.012 " shown)"
cp t.db wrong.db
FAKE_WRONG=$best FAKE_FACTOR=1.02 good wrong.db p.yaml --shape 16x16x16
has err "$best at 16x16x16: wrong: d\[[0-9]+,[0-9]+\] is .*, should be" \
    "\[1/1\] bf16 16x16x16: $second 0\.012"

# ---- compilers run side by side: what would be a second for each three kernels in turn
rm -rf "$TMAGEN_CACHE"
started=${EPOCHREALTIME/./}
FAKE_NVRTC_MS=1000 good parallel.db p.yaml --shape 64x64x64 --jobs 16
spent=$(((${EPOCHREALTIME/./} - started) / 1000))
[ $spent -lt 14000 ] || fail "16 compiles of a second by sixteen took $spent ms"

# ---- the model leaves the best predicted, whatever it does not know, and nothing hopeless
good model.db p.yaml --shape 64x64x64 --keep 5
equal "the five best predicted" "1_steplong 1_stepshort 2_steplong 2_stepshort 3_steplong " \
    "$(sql model.db 'SELECT substr(name, 9) FROM kernel ORDER BY name' | tr '\n' ' ')"
# what the model is wrong about one of them corrects it for those that are like it
for i in 1 2 3 4 5 6 7 8; do export "FAKE_US_p_weight${i}_stepshort=10"; done
good like.db p.yaml --shape 64x64x64 --keep 10
equal "of ten, those like what was fast" 7 \
    "$(sql like.db "SELECT count(*) FROM kernel WHERE name LIKE '%short'")"
for i in 1 2 3 4 5 6 7 8; do unset "FAKE_US_p_weight${i}_stepshort"; done
export FAKE_US_p_weight3_stepshort=12
printf 'kernel: paces\nweight: [4000, 0, 3, 2, 1]\nstep: [long]\n' >u.yaml
FAKE_US_u_weight0_steplong=9 good unknown.db u.yaml --shape 64x64x8192 --keep 4
has err 'bf16 64x64x8192: u_weight0_steplong 0\.009 ms, of 4'
hasnt <(sql unknown.db 'SELECT name FROM kernel') weight4000

# ---- a table's kernels are looked at as the table ranks them, which has measured some
for i in $(seq 0 8); do printf 'kernel: paces\nweight: %d\n' "$i" >"r$i.yaml"; done
{
    printf 'dispatch: paces\ngpu: fake\ntmagen: %s\n' "$("$TMAGEN" --version | cut -d ' ' -f 2)"
    printf 'kernels: [%s]\n' "$(printf '{kernel: r%d}, ' {0..8})"
    printf 'measured:\n  - {shape: 64x64x64, us: {r8: 11, r6: 12, r1: 20, r2: 20, r3: 20}}\n'
} >ranked.yaml
FAKE_US_r8=11 FAKE_US_r6=12 good ranked.db ranked.yaml --shape 64x64x128 --keep 2
has err '^9 candidates$' 'bf16 64x64x128: r8 0\.011 ms, of 3;'
equal "the two that the table ranks first, and what no model knows" "r0 r6 r8 " \
    "$(sql ranked.db 'SELECT name FROM kernel ORDER BY name' | tr '\n' ' ')"
FAKE_US_r8=11 FAKE_US_r6=12 good named.db p.yaml ranked.yaml --shape 64x64x128 --keep 2
has err '^17 candidates$' 'bf16 64x64x128: r8 0\.011 ms, of 3;'    # by the name that the table has
FAKE_US_r8=11 FAKE_US_r6=12 good other.db ranked.yaml --shape 64x64x128 --keep 2 --gpu nvidia_h200
equal "the model's, by the rates of a GPU that the table is not of" "r0 r1 r2 " \
    "$(sql other.db 'SELECT name FROM kernel ORDER BY name' | tr '\n' ' ')"

# ---- a kernel that divides K is tried with each number of parts, and with its own once
printf 'kernel: paces\nparts: 3\n' >parts.yaml
FAKE_TRACE=$TMPDIR/parts.trace good parts.db parts.yaml --shape 64x64x64
equal "replays of three launches" 454 "$(wc -l <parts.trace)"
has err '^\[1/1\] bf16 64x64x64: parts(/[234])? 0\.0[0-9]+ ms, of 3;'
equal "its launches" "2 3 4 " \
    "$(sql parts.db 'SELECT splits FROM result ORDER BY splits' | tr '\n' ' ')"

# ---- every GPU is used, a shape each
export FAKE_DEVICES=2
four=(--keep 6 --shape 64x64x64 --shape 32x32x32 --shape 16x16x16 --shape 48x48x48)
cp "$fake/nvml.so" libnvidia-ml.so.1
export FAKE_NAP_US=2000    # what is slept takes two as long on a busy core
for _ in 1 2 3; do         # where other tests take both, once more
    rm -f one.db two.db
    started=${EPOCHREALTIME/./}
    LD_LIBRARY_PATH=$TMPDIR good two.db p.yaml --gpus all "${four[@]}"
    ended=${EPOCHREALTIME/./}
    good one.db p.yaml "${four[@]}"
    by_two=$(((ended - started) / 1000)) by_one=$(((${EPOCHREALTIME/./} - ended) / 1000))
    echo "four shapes took two GPUs $by_two ms, and one $by_one"
    [ $((10 * by_one)) -le $((16 * by_two)) ] || break
done
unset FAKE_NAP_US
[ $((10 * by_one)) -gt $((16 * by_two)) ] || fail "two GPUs are not 1.6 times as fast as one"
rows one.db >one
equal "clocks and power of the GPU that measured, at all levels" \
    "0|1600|160 0|1700|170 1|1600|160 1|1700|170 " \
    "$(sql two.db "SELECT DISTINCT level, clock_mhz, watts FROM result ORDER BY 1, 2" |
        tr '\n' ' ')"
rows two.db | cmp - one || fail "two GPUs find something else than one"
export FAKE_DEVICES=1
tune x.db p.yaml --gpus 0,1
equal "a GPU that is not there" 3 $?
has err "--gpus: '1' names no other GPU; there are 1"

# ---- a quick time at a low clock, as a contest before leaves it, is taken anew
FAKE_TRACE=$TMPDIR/high.trace LD_LIBRARY_PATH=$TMPDIR good high.db p.yaml --keep 6 --shape 64x64x64
FAKE_LOW_CLOCKS=2 FAKE_TRACE=$TMPDIR/low.trace LD_LIBRARY_PATH=$TMPDIR good low.db p.yaml --keep 6 \
    --shape 64x64x64
equal "clocks, two of them once low" "1600 " \
    "$(sql low.db 'SELECT DISTINCT clock_mhz FROM result' | tr '\n' ' ')"
[ "$(wc -l <low.trace)" -gt "$(wc -l <high.trace)" ] || fail "nothing was taken anew"

# ---- a family stands for sweeps of its knobs, one at a time; its typical shape for a shape
good family.db paces
has err '^\[1/1\] bf16 64x64x64: paces_t'
sql family.db 'SELECT name FROM kernel' >names
hasnt names '_weight3$|weight.*step|step.*weight'
for name in t1_weight1 t1_weight2 t2_stepshort; do
    has names "^paces_$name$"
done

# ---- a GPU whose memory others use is no kernel's fault, and may be free tomorrow
FAKE_LEFT=20000 tune left.db p.yaml "${shapes[@]}"
equal "no memory" 1 $?
has err '64x64x64: no kernel; cuMemAlloc: '
hasnt err warning
equal "nothing is known then" 0 "$(sql left.db "SELECT count(*) FROM result")"
good left.db p.yaml "${shapes[@]}"
has err "$best 0\.011 ms, of 16"

# ---- another GPU's rates are a hint
good hint.db p.yaml --shape 64x64x64
hasnt err 'another GPU'
good hint.db p.yaml --shape 64x64x64 --gpu nvidia_h200
has err 'note: launches are chosen by the rates of another GPU, NVIDIA H200$'

# ---- a shape that is given twice is one, and one that no kernel takes is said
good twice.db p.yaml --shape 64x64x64 --shape 64x64x64 --shape 64x64
has err "^\[1/1\] bf16 64x64x64: $best 0\.011 ms, of 16" \
    'note: no kernel takes 64x64: paces is written with 3 numbers: m n k$'
hasnt err 'takes 64x64x64'

# ---- nothing to tune
tune x.db p.yaml --shape 64x64
equal "a shape of two numbers" 2 $?
printf 'kernel: paces\nweight: -1\n' >bad.yaml
tune x.db bad.yaml
equal "an illegal spec" 1 $?
exit "$failed"
