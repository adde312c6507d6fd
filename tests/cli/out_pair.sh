#!/usr/bin/env bash
# A source and its manifest are a pair: two writers of one name leave one pair and no mix of both,
# and what a killed writer left is a pair, or refused when it is loaded and mended by the next run.
set -u
rounds=60 kills=120
[ -z "${SANITIZED:-}" ] || rounds=15 kills=20
RANDOM=1
out=$TMPDIR/out
cat >"$TMPDIR/pair.yaml" <<'EOF'
kernel: gemm
name: two_writers
phase: 6
tile: {m: 64, n: 64}
warps: {consumer: {count: 4}}
epilogue: {buffers: 1}
EOF

fail() {
    echo "$*"
    exit 1
}

write() { exec "$TMAGEN" gen -o "$out" --set stages="$1" "$TMPDIR/pair.yaml" >/dev/null; }

# is_pair - does the manifest name the digest of the source?
is_pair() {
    local digest
    digest=$(sha256sum "$out/two_writers.cu") || return 1
    grep -q "\"source_sha256\": \"${digest%% *}\"" "$out/two_writers.json"
}

# load - what the library says to the pair; the stand-in for the driver has no such kernel.
load() { "$BUILD/tests/example" cuda "$out/two_writers.json" 64 64 64 2>&1; }

refusal='they are of different runs, or edited'
export TMAGEN_NVRTC=$BUILD/tests/fixtures/fake/nvrtc.so
export TMAGEN_LIBCUDA=$BUILD/tests/fixtures/fake/cuda.so

for round in $(seq $rounds); do
    (write 3) & (write 4) &
    wait
    is_pair || fail "round $round: two writers left a source and a manifest of different runs"
done

(write 3)
load | grep -q "$refusal" && fail "a pair is refused"
cp "$out/two_writers.cu" "$TMPDIR/kept"
(write 4)
cp "$TMPDIR/kept" "$out/two_writers.cu"
load | grep -q "$refusal" || fail "a mix is loaded: $(load)"
"$TMAGEN" check --out -o "$out" --set stages=4 "$TMPDIR/pair.yaml" >/dev/null 2>&1 &&
    fail "check --out takes a mix for fresh"

start=${EPOCHREALTIME/./}
(write 3)
duration=$((${EPOCHREALTIME/./} - start)) killed=0 mixed=0
for round in $(seq $kills); do
    (write $((3 + round % 2))) & writer=$!
    sleep "$(printf '0.%06d' $((RANDOM * duration / 32768)))"
    percent=80                          # a busy machine's runs differ in length
    kill -KILL $writer 2>/dev/null && killed=$((killed + 1)) percent=120
    duration=$((duration * percent / 100 + 100))
    wait $writer 2>/dev/null
    is_pair && continue
    mixed=$((mixed + 1))
    load | grep -q "$refusal" || fail "a mix is loaded: $(load)"
    (write 3)
    is_pair || fail "the next run does not mend a mix"
done
echo "$killed killed, $mixed left a mix, which was refused"
[ $killed -gt $((kills / 8)) ] || fail "too few were killed to mean anything"
