# shellcheck shell=bash
# What tests of measured rows share; they source it.

# part FILE STEP - the shipped table with about a STEP-th of its measured shapes, nothing learnt.
# Their sizes say which, so that they are the same whatever rows come to it.
part() {
    awk -v step="$2" '/^learned:/ { exit } /^measured:/ { print; rows = 1; next }
        /^  - / && rows {
            split($3, size, "[x,/]")
            skip = (size[1] + int(size[2] / 8) + int(size[3] / 8)) % step != 2 % step
        }
        !skip { print }' specs/gemm_bf16_h200.yaml >"$TMPDIR/specs/$1.yaml"
}
