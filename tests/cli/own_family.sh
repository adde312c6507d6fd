#!/usr/bin/env bash
# A family in a folder of the user's, its reference.c included, without a line of C of ours:
# verified on the emulator with a C compiler and without one, recorded, and wrong in each way that
# it can be.
set -u
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
# shellcheck source=tests/checks.sh
. tests/checks.sh
mkdir -p "$TMPDIR/own"
cp -r tests/fixtures/own/gain "$TMPDIR/own/"
printf 'kernel: gain\n' >"$TMPDIR/g.yaml"
# verify EXIT_CODE ARGUMENT...
verify() {
    exits "$1" "$TMAGEN" verify --device emu --schedules 2 --templates "$TMPDIR/own" \
        -o "$TMPDIR/made" "${@:2}" "$TMPDIR/g.yaml"
}

verify 0
says '^g +7x300 +ok .* all; worst error 0\.00' '^g +7x300/special +ok' \
    '^5 cases, 0 wrong'
hasnt "$TMPDIR/said" emulator    # cc is there
verify 0 --seed 3 --record "$TMPDIR/record"
verify 0 --against "$TMPDIR/record"
says 'every bit as on'

# without a C compiler the emulator draws the same inputs and computes the same elements
TMAGEN_CC=/nowhere/cc verify 0 --against "$TMPDIR/record"
says 'there is no C compiler /nowhere/cc.*so the emulator runs .*gain/reference.c' \
    'every bit as on'
TMAGEN_CC=/nowhere/cc verify 0 --shape 7x300/special
TMAGEN_CC=/nowhere/cc verify 1 --set mistake=row --shape 7x300
says 'computed by the reference are wrong'

# each mistake is found; a NaN that became a number only with special values
verify 1 --set mistake=row --shape 7x300
says 'y\[[1-6],0\] .* is .*, should be '
verify 0 --set mistake=nan --shape 7x300
verify 1 --set mistake=nan --shape 70x300/special
says 'should be nan'
verify 1 --set mistake=hole --check-only
says 'y: 7 of 2100 elements never written'
verify 0 --set mistake=row --check-only
says 'checked, not compared'

# another kernel in the place of the reference
printf 'kernel: gain\nphase: 0\n' >"$TMPDIR/plain.yaml"
verify 0 --equal-to "$TMPDIR/plain.yaml"
says 'as those of the other kernel'
sed -i 's/gain\[row\];$/gain[row] * 1.0000001f;/' "$TMPDIR/own/gain/kernel.cu.in"
verify 1 --shape 7x300
cp tests/fixtures/own/gain/kernel.cu.in "$TMPDIR/own/gain/"

# what is wrong with a reference is said, with its place
echo 'static int odd(void) { return nowhere; }' >>"$TMPDIR/own/gain/reference.c"
verify 1
says 'own/gain/reference.c does not compile by cc' 'own/gain/reference.c:12:.*nowhere'
rm "$TMPDIR/own/gain/reference.c"
verify 1
says 'family gain has no reference.c to compare with'
verify 0 --check-only --shape 7x300
sed -i 's/draws = { "gain" }/drawn = { "gain" }/' "$TMPDIR/own/gain/family.lua"
verify 1
says 'reference: drawn: is no field of a reference'
exit $failed
