#!/usr/bin/env bash
# Kernels that no spec ships: knobs drawn from each family's table, the illegal ones left out, and
# of the others those chosen that bring most pairs of two knobs' values that none before had.
# Each is verified on the emulator, on small shapes, and keeps to 120 columns as out/ does.
#   PAIRWISE_SEED=N   which are drawn (1, so that every run is the same; make test-emu: another one)
#   PAIRWISE_DRAWN=N  how many of a family (60), PAIRWISE_KEPT=N how many of those at most (6)
set -u
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
seed=${PAIRWISE_SEED:-1} drawn=${PAIRWISE_DRAWN:-60} kept=${PAIRWISE_KEPT:-6}
[ -z "${SANITIZED:-}" ] || kept=3
echo "seed $seed: PAIRWISE_SEED=$seed PAIRWISE_DRAWN=$drawn PAIRWISE_KEPT=$kept $0"
failed=0

# draw FAMILY - a line of --set arguments for each of $drawn kernels: a rung, and up to four knobs.
draw() {
    "$TMAGEN" explain "$1" | awk -v seed="$seed" -v drawn="$drawn" '
        function choice(n) { return int(rand() * n) }
        /^  [a-z_.]+: / && !/^  (arch|budget\.[a-z_]*|problem\.[a-z]|problem\.levels): / {
            knob = $1
            sub(/:$/, "", knob)
            text = $0
            sub(/^  [^ ]+ /, "", text)
            sub(/ \(default.*/, "", text)
            sub(/, in steps of.*/, "", text)
            if (text ~ /list|dynamic|integer/) next
            if (match(text, /^[0-9]+\.\.[0-9]+/)) {
                split(substr(text, 1, RLENGTH), ends, /\.\./)
                step = $0 ~ /in steps of/ ? $0 : "1"
                sub(/.*in steps of /, "", step)
                step = step + 0
                steps = int((ends[2] - ends[1]) / step)
                n = 0
                for (i = 0; i < 5; i++) {
                    far = i == 0 ? 0 : choice(steps < 8 ? steps + 1 : 8)
                    value[knob, n++] = ends[1] + step * far
                }
                count[knob] = n
            } else {
                gsub(/ or /, ", ", text)
                n = split(text, words, ", ")
                for (i = 1; i <= n; i++) {
                    split(words[i], word, " ")
                    value[knob, i - 1] = word[1]
                }
                count[knob] = n
            }
            knobs[total++] = knob
        }
        BEGIN { srand(seed) }
        END {
            for (k = 0; k < drawn; k++) {
                line = "--set phase=" value["phase", choice(count["phase"])]
                changes = choice(5)
                for (c = 0; c < changes; c++) {
                    knob = knobs[choice(total)]
                    if (knob == "phase") continue
                    line = line " --set " knob "=" value[knob, choice(count[knob])]
                }
                print line
            }
        }'
}

# settle FAMILY - of the lines on stdin those that are legal, each with its knobs behind a tab.
settle() {
    local line rows
    printf 'kernel: %s\n%s\n' "$1" "${2:-}" >"$TMPDIR/$1.yaml"
    while read -r line; do
        # shellcheck disable=SC2086
        rows=$("$TMAGEN" explain "$TMPDIR/$1.yaml" $line 2>/dev/null) || continue
        rows=$(awk '/^knobs/ { on = 1; next }
                    /^$/ { on = 0 }
                    on { printf "%s=%s ", $1, $2 }' <<<"$rows")
        printf '%s\t%s\n' "$line" "$rows"
    done
}

# choose - the lines that bring most pairs that none before has, at most $kept.
choose() {
    awk -F '\t' -v kept="$kept" '
        { line[NR] = $1; rows[NR] = $2 }
        function fresh(i, mark,    n, a, b, w, sum) {
            n = split(rows[i], w, " ")
            for (a = 1; a < n; a++) for (b = a + 1; b <= n; b++) if (!((w[a], w[b]) in seen)) {
                sum++
                if (mark) seen[w[a], w[b]] = 1
            }
            return sum + 0
        }
        END {
            for (k = 0; k < kept; k++) {
                best = 0; most = 0
                for (i = 1; i <= NR; i++) {
                    if (i in used || (now = fresh(i, 0)) <= most) continue
                    most = now
                    best = i
                }
                if (!best) break
                used[best] = 1
                fresh(best, 1)
                print line[best]
            }
        }'
}

# narrow SOURCE - no line but those of its heading, which name the command, has over 120 columns.
narrow() { ! grep -nE '^.{121}' "$1" | grep -v ':// ' >>"$TMPDIR/log"; }

# cover FAMILY SPEC-TEXT
cover() {
    local line legal chosen
    legal=$(draw "$1" | settle "$1" "${2:-}")
    chosen=$(choose <<<"$legal")
    echo "$1: $(grep -c . <<<"$legal") of $drawn are legal, $(grep -c . <<<"$chosen") chosen"
    [ -n "$chosen" ] || failed=1
    while read -r line; do
        # shellcheck disable=SC2086
        "$TMAGEN" verify --device emu --schedules 1 --seed "$seed" -o "$TMPDIR/out" \
            "$TMPDIR/$1.yaml" $line >"$TMPDIR/log" 2>&1 && narrow "$TMPDIR/out/$1.cu" && continue
        echo "FAILED: $1 $line"
        grep -v ' ok ' "$TMPDIR/log"
        failed=1
    done <<<"$chosen"
}

cover gemm
cover resample
cover quantise
cover deform_attn 'problem: {levels: [[9, 14], [5, 7], [1, 3]]}'
cover deform_pair 'problem: {levels: [[9, 14], [5, 7], [1, 3]]}'
exit $failed
