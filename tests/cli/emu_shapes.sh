#!/usr/bin/env bash
# Every shipped spec on the emulator, on the small shapes of its family, several waves and special
# values among them: right results, and nothing that the checker reports. SCHEDULES=20 for as many
# orders of warps and copies a shape, and for the tiles that a table adds to the shipped ones, of
# which emu_verify.sh has two cases each: make test-emu.
set -u
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
export TMAGEN_CACHE=$BUILD/tmp/specs
shipped='*'
[ -z "${SANITIZED:-}" ] || { SCHEDULES=1; shipped='*phase*'; }    # ten times as slow: the rungs
specs=()
# shellcheck disable=SC2231
for spec in specs/$shipped.yaml; do
    name=$(basename "$spec" .yaml)
    [ "$name" != gemm_4096 ] || continue    # fixed at a size that takes a minute
    recorded=$(grep -c "\"kernel\":\"$name\"" tests/emu/results.jsonl)
    [ -n "${SCHEDULES:-}" ] || [ "$recorded" != 2 ] || continue
    specs+=("$spec")
done
"$TMAGEN" verify --device emu --schedules "${SCHEDULES:-1}" "${specs[@]}" >"$TMPDIR/table" || {
    grep -v ' ok ' "$TMPDIR/table"
    exit 1
}
tail -n 1 "$TMPDIR/table"
