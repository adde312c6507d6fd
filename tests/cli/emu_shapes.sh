#!/usr/bin/env bash
# Every shipped spec on the emulator, on the small shapes of its family, special values among them:
# right results, and nothing that the checker reports. What is recorded of an H200 is held to the
# reference by emu_verify.sh, too; here what no record has: gaps, odd addresses, special and exact
# inputs, and kernels of which there is none. Several waves are in profile.sh; here only those of
# ping-pong with a ring that holds more than a tile. SCHEDULES=20 for as many orders of warps and
# copies a shape, for all shapes and waves, and for the tiles that a table adds to the shipped ones,
# of which emu_verify.sh has two cases each: make test-emu.
set -u
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
shipped='*'
# ten times as slow: half of the rungs, emu_verify.sh has the others
[ -z "${SANITIZED:-}" ] || { SCHEDULES=1; shipped='*phase[1357]*'; }
specs=() recorded=()
# shellcheck disable=SC2231
for spec in specs/$shipped.yaml; do
    name=$(basename "$spec" .yaml)
    [ "$name" != gemm_4096 ] || continue    # fixed at a size that takes a minute
    cases=$(grep -c "\"kernel\":\"$name\"" tests/emu/results.jsonl)
    case ${SCHEDULES:-}$name:$cases in
    gemm_fc1:* | *:0 | [0-9]*) specs+=("$spec") ;;
    *:2) ;;
    *) recorded+=("$spec") ;;
    esac
done

if [ -n "${SCHEDULES:-}" ] && [ -z "${SANITIZED:-}" ]; then
    right "${specs[@]}"
else
    right --no-waves "${specs[@]}"
    [ -n "${SANITIZED:-}" ] || right --odd "${recorded[@]}"
    right --shape 320x640x136 specs/gemm_phase7.yaml
    [ -n "${SANITIZED:-}" ] || right --shape 320x640x136 specs/gemm_*pingpong.yaml
fi
