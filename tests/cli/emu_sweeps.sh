#!/usr/bin/env bash
# The sweeps that ship: all of their points are legal and generated, and points that have every two
# values of two knobs are verified on the emulator: the first of them, which have most; POINTS=all.
set -u
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
points=${POINTS:-5}
[ "$points" != all ] || points=1000000
for sweep in specs/sweeps/*.yaml; do
    "$TMAGEN" gen -o "$TMPDIR/all" "$sweep" >"$TMPDIR/said" 2>&1 || { cat "$TMPDIR/said"; exit 1; }
    grep -i 'illegal\|left out' "$TMPDIR/said" && exit 1
    made=$(find "$TMPDIR/all" -name '*.cu' | wc -l)
    rm -r "$TMPDIR/all"
    verified=0
    while [ "$verified" -lt "$points" ] && read -ra sets; do
        [ -z "${SANITIZED:-}" ] || [ "$verified" = 0 ] || break
        "$TMAGEN" verify --device emu --schedules "${SCHEDULES:-1}" --seed 1 --shape 300x768x768 \
            -o "$TMPDIR/out" "$(sed -n 's|^base: ../||p' "$sweep" | sed 's|^|specs/|')" \
            "${sets[@]}" >"$TMPDIR/table" || {
            echo "${sets[*]}"
            grep -v ' ok ' "$TMPDIR/table"
            exit 1
        }
        verified=$((verified + 1))
    done < <(tests/sweep_pairs.py "$sweep")
    echo "$sweep: $made points, $verified verified"
done
