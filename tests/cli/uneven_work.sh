#!/usr/bin/env bash
# A schedule is one file, and its items may differ in length: one laid over gemm's own, whose items
# reach past both ends of K by different numbers of tiles, keeps every bit of the H200's record,
# under ping-pong and in clusters too.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
uneven=tests/fixtures/uneven

verify() {
    "$TMAGEN" verify --device emu:1 -o "$TMPDIR/out" "$@" >"$TMPDIR/table" 2>&1
}

specs=(gemm_128x128_pingpong gemm_64x128_pingpong gemm_256x128)
[ -z "${SANITIZED:-}" ] || specs=(gemm_64x128_pingpong)    # our C, which all kernels run alike
verify --templates "$uneven" --schedules "${SCHEDULES:-1}" --seed 1 --shape 640x768x136 \
    "${specs[@]}" || { cat "$TMPDIR/table"; exit 1; }
verify --templates "$uneven" --against tests/emu/results.jsonl "${specs[@]}" ||
    { cat "$TMPDIR/table"; exit 1; }

[ -z "${SANITIZED:-}" ] || exit 0

# Whoever takes the other warpgroup's items to be as long as its own is found out.
cp -r "$uneven" "$TMPDIR/even"
work=$TMPDIR/even/gemm/schedule/persistent.cu.in
sed -i 's/return k_end() - k_begin();/return steps;/' "$work"
grep -q 'return steps;' "$work" || { echo "the fixture has changed"; exit 1; }
! verify --templates "$TMPDIR/even" --shape 640x768x136 gemm_128x128_pingpong ||
    { echo "items of another length than k_tiles() says pass"; exit 1; }
