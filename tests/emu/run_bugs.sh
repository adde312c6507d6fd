#!/bin/sh
# Plants each bug of tests/emu/bugs into its kernel of out/ and emulates it under 20 seeds.
# A patch's first lines say which kernel and shape, which seeds must show it, class and line.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
driver=${EMU_BUG:-$build/emu_bug}
seeds=${SEEDS:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

field() { sed -n "s/^# $1: //p" "$2" | head -1; }

run() { # NAME, then the arguments of the driver
    name=$1
    shift
    printf '%-34s ' "$name"
    if "$driver" "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

[ $# -gt 0 ] || set -- tests/emu/bugs/*.patch
for bug in "$@"; do
    kernel=$(field kernel "$bug")
    cp "out/$kernel.cu" "$work/$kernel.cu"
    if ! patch -s -F3 "$work/$kernel.cu" "$bug" >"$work/patch.log" 2>&1; then
        printf '%-34s FAILED: does not apply to out/%s.cu\n' "$(basename "$bug")" "$kernel"
        failed=$((failed + 1))
        continue
    fi
    # shellcheck disable=SC2046
    run "$(basename "$bug" .patch)" "$work/$kernel.cu" "out/$kernel.json" \
        $(field shape "$bug") "$seeds" \
        "$(field seeds "$bug")" "$(field class "$bug")" "$(field at "$bug")" \
        "out/$kernel.cu"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
