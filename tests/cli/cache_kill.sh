#!/usr/bin/env bash
# Hundreds of processes killed while they compile and store: no entry ever loads wrongly.
# Most at a random moment, some as soon as they write, which takes too short to be hit by chance.
set -u
export TMAGEN_NVRTC=$BUILD/tests/fixtures/fake/nvrtc.so FAKE_NVRTC_MS=2 FAKE_NVRTC_BYTES=4000000
random_kills=${KILLS:-100} aimed_kills=30
[ -z "${SANITIZED:-}" ] || random_kills=40 aimed_kills=10
RANDOM=1
shopt -s nullglob

fail() {
    echo "$*"
    exit 1
}

build() { "$TMAGEN" -o "$TMPDIR/out" gemm_256x128; }

# random_moment - waits for any part of what a whole run takes: a little less after a run that had
# ended before, a little more after one that had not, for a busy machine's runs differ in length.
random_moment() {
    sleep "$(printf '0.%06d' $((RANDOM * duration / 32768)))"
    local percent=90
    kill -0 "$1" 2>/dev/null && percent=103
    duration=$((duration * percent / 100 + 100))
}

# when_it_writes PROCESS - waits for one more temporary, or for the process to end without one.
when_it_writes() {
    local new
    while kill -0 "$1" 2>/dev/null; do
        new=("$TMAGEN_CACHE"/.new-*)
        [ ${#new[@]} = "$had" ] || return
    done
}

# kill_one WAIT - starts a process that has to compile, waits, kills it, and looks at what is left.
kill_one() {
    local process old
    rm -f "$TMAGEN_CACHE/$key"
    old=("$TMAGEN_CACHE"/.new-*)
    had=${#old[@]}
    "$TMAGEN" -o "$TMPDIR/out" gemm_256x128 >/dev/null 2>&1 &   # not build: that would be a shell's
    process=$!
    "$1" $process
    kill -KILL $process 2>/dev/null && killed=$((killed + 1))
    wait $process 2>/dev/null
    [ -e "$TMAGEN_CACHE/$key" ] || return
    stored=$((stored + 1))
    "$TMAGEN" cache verify >"$TMPDIR/verified" || fail "left: $(cat "$TMPDIR/verified")"
}

key=$(build | sed -n 's/^  key *//p')
[ -s "$TMAGEN_CACHE/$key" ] || fail "there is no entry to begin with"
rm "$TMAGEN_CACHE/$key"
start=${EPOCHREALTIME/./}
build >/dev/null
duration=$((${EPOCHREALTIME/./} - start))

killed=0 stored=0
for _ in $(seq "$random_kills"); do kill_one random_moment; done
for _ in $(seq $aimed_kills); do kill_one when_it_writes; done
temporaries() { find "$TMAGEN_CACHE" -name '.new*' | wc -l; }
for _ in $(seq 100); do                 # a busy machine looks too late, and hits none of the first
    [ "$(temporaries)" = 0 ] || break
    kill_one when_it_writes
done
left=$(temporaries)
echo "$killed killed, $stored had stored their entry, $left left a temporary"
[ $killed -ge $((random_kills / 2)) ] || fail "too few were killed to mean anything"
[ "$left" -gt 0 ] || fail "none was killed while it wrote"

build >/dev/null || fail "the next process does not work"
"$TMAGEN" cache verify >/dev/null || fail "the cache does not verify"
sleep 3                                 # what may just be being made is left alone
"$TMAGEN" cache gc >/dev/null
left=$(find "$TMAGEN_CACHE" -name '*.lock' -o -name '.new*')
[ -z "$left" ] || fail "gc leaves what the killed left: $left"
build | grep -q 'cache *hit' || fail "gc removed the entry"
