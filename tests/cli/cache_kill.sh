#!/usr/bin/env bash
# Hundreds of processes killed while they compile and store: no entry ever loads wrongly, and what
# they left behind is no one's trouble.
set -u
export TMAGEN_NVRTC=$BUILD/tests/fixtures/fake/nvrtc.so FAKE_NVRTC_MS=2 FAKE_NVRTC_BYTES=4000000
random_kills=${KILLS:-100} aimed_kills=30
[ -z "${SANITIZED:-}" ] || random_kills=40 aimed_kills=10

fail() {
    echo "$*"
    exit 1
}

build() { "$TMAGEN" -o "$TMPDIR/out" gemm_256x128; }

key=$(build | sed -n 's/^  key *//p')
[ -s "$TMAGEN_CACHE/$key" ] || fail "there is no entry to begin with"
rm "$TMAGEN_CACHE/$key"
tests/kills.py "$key" "$random_kills" "$aimed_kills" || exit 1

build >/dev/null || fail "the next process does not work"
"$TMAGEN" cache verify >/dev/null || fail "the cache does not verify"
sleep 3                                 # what may just be being made is left alone
"$TMAGEN" cache gc >/dev/null
left=$(find "$TMAGEN_CACHE" -name '*.lock' -o -name '.new*')
[ -z "$left" ] || fail "gc leaves what the killed left: $left"
build | grep -q 'cache *hit' || fail "gc removed the entry"
