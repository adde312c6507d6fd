#!/usr/bin/env bash
# What results vary with, SMs or splits, is recorded and replayed: the same number gives the same
# bits, another one others; 132 CTAs that wait for each other run on the emulator's 4 SMs.
set -u
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
# shellcheck source=tests/checks.sh
. tests/checks.sh
# verify EXIT_CODE ARGUMENT...
verify() {
    exits "$1" "$TMAGEN" verify --device emu --schedules 1 --templates tests/fixtures/own \
        -o "$TMPDIR/made" "${@:2}" "$TMPDIR/t.yaml"
}
# check WHAT NUMBER: [NUMBER] stands in the record of a kernel that varies with WHAT.
check() {
    local what=$1 number=$2 record=$TMPDIR/$1
    printf 'kernel: total\nshares: %s\n' "$what" >"$TMPDIR/t.yaml"
    verify 0 --seed 1 --record "$record"
    [ "$(grep -c "\"padding\":0,\"$what\":$number,\"inputs\"" "$record")" = 3 ] ||
        fail "not three cases with $what $number"
    grep -o '"[a-z]*":[0-9]*,"inputs"' "$record" | grep -v "\"$what\":" && fail "more than $what"
    verify 0 --against "$record"
    says 'every bit as on'
    sed "s/\"$what\":$number/\"$what\":132/" "$record" >"$record.132"
    verify 1 --against "$record.132"
    says '^t +1 +ok' '^t +10000 +DIFFERS' '^    y: not what .* gave: 1 of 32 parts differ'
}
check sms 4
check splits 3
sed 's/"splits":3/"splits":201/' "$TMPDIR/splits" >"$TMPDIR/record"
verify 1 --against "$TMPDIR/record"
says 'splits is 201; legal: 1 to 200'
sed 's/"splits":3/"splits":"3"/' "$TMPDIR/splits" >"$TMPDIR/record"
verify 1 --against "$TMPDIR/record"
says 'record:2: not a case of a record'

# with standard output closed, the record is not taken for it
"$TMAGEN" verify --device emu --schedules 1 --templates tests/fixtures/own --shape 200 \
    --record "$TMPDIR/closed" "$TMPDIR/t.yaml" >&- 2>"$TMPDIR/log"
code=$?
[ $code = 1 ] || fail "exit code $code"
[ -s "$TMPDIR/closed" ] || fail "there is no record"
grep -v '^{' "$TMPDIR/closed" >"$TMPDIR/others"
[ ! -s "$TMPDIR/others" ] || fail "a record has in it what was said"

# Semaphores that are cleared once: found as the launch before left them, which must be zero.
printf 'kernel: total\nzero: first\nresets: true\n' >"$TMPDIR/t.yaml"
verify 0 --schedules 3 --shape 200
printf 'kernel: total\nzero: first\n' >"$TMPDIR/t.yaml"
verify 1 --schedules 3 --shape 200
says '^ *workspace: byte 0 of turn is not zero after run 1, as the next wants it'
exit $failed
