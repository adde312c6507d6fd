#!/usr/bin/env bash
# A schedule may lay several problems into one launch: one file and a row, whose items have a group.
# One that takes the halves of D for two problems keeps every bit of the H200's record, with a tile
# shared by two warpgroups, under ping-pong, in clusters and with either store.
set -eu
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
export TMAGEN_CACHE=$KERNELS
work=$TMPDIR/templates/gemm/work
mkdir -p "$TMPDIR/templates"
cp -r tests/fixtures/grouped/gemm "$TMPDIR/templates"
sed '/^return {$/a\
    { name = "stacked", doc = "two problems", walks = true, groups = true, launch = "two halves",\
      grid = cta_an_sm },' templates/gemm/work/schedules.lua >"$work/schedules.lua"

verify() {
    "$TMAGEN" verify --templates "$TMPDIR/templates" --device emu:1 -o "$TMPDIR/out" \
        --set grid=stacked "$@" >"$TMPDIR/table" 2>&1
}

specs=(gemm_256x128 gemm_128x128_pingpong gemm_128x192_direct)
[ -z "${SANITIZED:-}" ] || specs=(gemm_256x128)    # our C, which all kernels run alike
verify --schedules "${SCHEDULES:-1}" --shape 640x768x136 "${specs[@]}" ||
    { cat "$TMPDIR/table"; exit 1; }
verify --against tests/emu/results.jsonl "${specs[@]}" || { cat "$TMPDIR/table"; exit 1; }
verify --set cluster.m=2 --set cluster.n=2 --shape 640x768x136 gemm_256x128 ||
    { cat "$TMPDIR/table"; exit 1; }

[ -z "${SANITIZED:-}" ] || exit 0

# Where a group lies moves each of the tensors.
for tensor in a b d; do
    cp tests/fixtures/grouped/gemm/work/stacked.cu.in "$work"
    sed -i "/ ${tensor}_row(/{n;s/return .*;/return 8;/}" "$work/stacked.cu.in"
    ! cmp -s tests/fixtures/grouped/gemm/work/stacked.cu.in "$work/stacked.cu.in" ||
        { echo "the fixture has changed"; exit 1; }
    ! verify --shape 640x768x136 gemm_128x128_pingpong ||
        { echo "where a group lies does not move $tensor"; exit 1; }
    grep -q 'WRONG\|BROKEN' "$TMPDIR/table" || { cat "$TMPDIR/table"; exit 1; }
done
