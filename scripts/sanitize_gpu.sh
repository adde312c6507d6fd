#!/usr/bin/env bash
# compute-sanitizer over every shipped spec, on the few small ragged shapes: memcheck (out of
# bounds, misaligned), then racecheck (shared memory). Prints a line a spec and tool; exit 1 where
# memcheck found anything. racecheck does not follow mbarriers, so a hand-over of shared memory
# between roles is reported by it and proves nothing: its lines are for reading.
# Usage: sanitize_gpu.sh [SPEC...]
set -u
TMAGEN=${TMAGEN:-build/tmagen}
specs=("$@")
shopt -s extglob
[ $# -gt 0 ] || specs=(specs/!(*_sm100_*).yaml)    # what an H200 can run
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# check TOOL SPEC: one line; the log stays in $logs. Errors of the API are the runtime's own probing
# for a kernel's last parameter, not the kernel's.
# shellcheck disable=SC2317  # called by the shells of xargs
check() {
    local tool=$1 name
    name=$(basename "$2" .yaml)
    local log=$logs/$name.$tool
    timeout 300 compute-sanitizer --tool "$tool" --target-processes all --report-api-errors no \
        --kernel-name "regex=$name" \
        "$TMAGEN" verify --device cuda --small --unguarded --runs 2 -o "$logs/out" "$2" \
        >"$log" 2>&1
    local code=$? summary
    summary=$(sed -En 's/^=+ (ERROR|RACECHECK) SUMMARY: //p' "$log" | sort -u | paste -sd,)
    printf '%s %s: %s; %s\n' "$tool" "$name" "${summary:-no summary}" \
        "$(grep -E '^[0-9]+ cases' "$log" || echo "exit $code")"
}
export -f check
export TMAGEN logs

for tool in memcheck racecheck; do
    printf '%s\n' "${specs[@]}" | xargs -P "${JOBS:-6}" -I{} bash -c "check $tool {}" | sort |
        tee "$logs/$tool"
done
[ "$(grep -Ec ': 0 errors; [1-9][0-9]* cases, 0 wrong' "$logs/memcheck")" = "${#specs[@]}" ] && exit
echo "memcheck found something"
exit 1
