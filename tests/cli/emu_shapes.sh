#!/usr/bin/env bash
# Every shipped spec on the emulator, on the small shapes of its family, special values among them:
# right results, and nothing that the checker reports. Several waves are in profile.sh; here only
# those of ping-pong with a ring that holds more than a tile. SCHEDULES=20 for as many orders of
# warps and copies a shape, for all waves, and for the tiles that a table adds to the shipped ones,
# of which emu_verify.sh has two cases each: make test-emu.
set -u
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
export TMAGEN_CACHE=$KERNELS
shipped='*'
# ten times as slow: half of the rungs, emu_verify.sh has the others
[ -z "${SANITIZED:-}" ] || { SCHEDULES=1; shipped='*phase[1357]*'; }
specs=()
# shellcheck disable=SC2231
for spec in specs/$shipped.yaml; do
    name=$(basename "$spec" .yaml)
    [ "$name" != gemm_4096 ] || continue    # fixed at a size that takes a minute
    recorded=$(grep -c "\"kernel\":\"$name\"" tests/emu/results.jsonl)
    [ -n "${SCHEDULES:-}" ] || [ "$recorded" != 2 ] || continue
    specs+=("$spec")
done
verify() {
    "$TMAGEN" verify --device emu --schedules "${SCHEDULES:-1}" "$@" >"$TMPDIR/table" || {
        grep -v ' ok ' "$TMPDIR/table"
        exit 1
    }
    tail -n 1 "$TMPDIR/table"
}

if [ -n "${SCHEDULES:-}" ] && [ -z "${SANITIZED:-}" ]; then
    verify "${specs[@]}"
else
    verify --no-waves "${specs[@]}"
    verify --shape 640x768x136 specs/gemm_phase7.yaml
    [ -n "${SANITIZED:-}" ] || verify --shape 640x768x136 specs/gemm_*pingpong.yaml
fi
