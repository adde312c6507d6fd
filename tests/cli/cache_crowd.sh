#!/usr/bin/env bash
# Two dozen processes that ask for one key at once compile it once, and all get the same code.
# Where the lock cannot be had they compile each for themselves, and none fails.
set -u
export TMAGEN_NVRTC=$BUILD/tests/fixtures/fake/nvrtc.so
export FAKE_NVRTC_LOG=$TMPDIR/compiles FAKE_NVRTC_MS=300 FAKE_NVRTC_BYTES=200000
crowd=24

fail() {
    echo "$*"
    exit 1
}

# run_crowd COUNT - COUNT processes at once; their output is in $TMPDIR/said.N. Each is waited for
# by its number: `wait -n` may say 127 of one that has ended well before.
run_crowd() {
    local i pids=()
    rm -f "$FAKE_NVRTC_LOG" "$TMPDIR"/said.*
    for i in $(seq "$1"); do
        "$TMAGEN" -o "$TMPDIR/out.$i" gemm_256x128 >"$TMPDIR/said.$i" 2>&1 &
        pids+=($!)
    done
    for i in $(seq "$1"); do
        wait "${pids[i - 1]}" || fail "process $i failed with $?: $(cat "$TMPDIR/said.$i")"
    done
}

compiles() { wc -l <"$FAKE_NVRTC_LOG"; }

run_crowd $crowd
[ "$(compiles)" = 1 ] || fail "$(compiles) of $crowd processes compiled"
[ "$(grep -h '^  key' "$TMPDIR"/said.* | sort -u | wc -l)" = 1 ] || fail "they have different keys"
hits=$(grep -l 'cache *hit' "$TMPDIR"/said.* | wc -l)
[ "$hits" = $((crowd - 1)) ] || fail "only $hits of the others were hits"
"$TMAGEN" cache verify | grep -q '^0 unusable' || fail "an entry is unusable"
left=$(find "$TMAGEN_CACHE" -name '*.lock' -o -name '.new*')
[ -z "$left" ] || fail "left behind: $left"

key=$(sed -n 's/^  key *//p' "$TMPDIR/said.1")
"$TMAGEN" cache clear >/dev/null
mkdir "$TMAGEN_CACHE/$key.lock"         # no lock file can be made now
run_crowd 6
[ "$(compiles)" -ge 2 ] || fail "without locks $(compiles) compiled: was there a lock?"
"$TMAGEN" cache verify | grep -q '^0 unusable' || fail "an entry is unusable, without locks"
