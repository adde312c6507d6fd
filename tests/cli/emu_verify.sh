#!/usr/bin/env bash
# Every shipped spec on the emulator, on the record's data: every bit as an H200 gave it. Those that
# wait for a record are listed. Fresh data: emu_shapes.sh; what no shipped spec has:
# emu_unshipped.sh.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
record=tests/emu/results.jsonl

specs=() m=640 k=520
shipped='*'
# ten times as slow: the rungs that emu_shapes.sh leaves out then, and less of a fixed size
[ -z "${SANITIZED:-}" ] || { shipped='*phase[024689]' m=264 k=136; }
# shellcheck disable=SC2231
for spec in specs/$shipped.yaml; do
    case $spec in
    */*_h200.yaml) ;;       # tables, whose kernels are here by themselves
    *_sm100_*.yaml) ;;      # another GPU's: emu_shapes.sh
    */gemm_4096.yaml) ;;    # fixed at a size that takes most of a minute
    */gemm_fc1.yaml | */gemm_fc1_packed.yaml) ;;
    */gemm_swiglu.yaml | */*_grouped_swiglu.yaml | */quantise_swiglu.yaml)
        ;;    # approximate: within its bound, not bit for bit; emu_shapes.sh has it
    *)
        name=$(basename "$spec" .yaml)
        grep -qx "$name" tests/emu/unrecorded.txt || specs+=("$spec")
        ;;
    esac
done
right --device emu:1 --schedules 1 --against "$record" "${specs[@]}"
while read -r name; do
    if grep -q "\"kernel\":\"$name\"" "$record" || [ ! -f "specs/$name.yaml" ]; then
        echo "FAILED: $name waits for a record, and has one or is not shipped"
        exit 1
    fi
done < <(grep -v '^#' tests/emu/unrecorded.txt)
# gemm_4096 is fixed at a size that takes a minute of both cores: make test-emu. Here smaller sizes
# are fixed, in several waves too.
if [ -n "${SCHEDULES:-}" ]; then
    right --schedules 1 --against "$record" --shape 4096x4096x4096 gemm_4096
fi
right --schedules 1 --set problem="{m: $m, n: 768, k: $k}" gemm_4096
