#!/usr/bin/env bash
# tmagen cache: each action by what it prints, and the exit codes.
set -u
real_nvrtc=${TMAGEN_NVRTC:-}
export TMAGEN_NVRTC=$BUILD/tests/fixtures/fake/nvrtc.so

fail() {
    echo "$*"
    exit 1
}

# expect STATUS PATTERN ARGUMENTS... - what tmagen cache ARGUMENTS must exit with and print.
expect() {
    local status=$1 pattern=$2 said
    shift 2
    said=$("$TMAGEN" cache "$@" 2>&1)
    [ $? = "$status" ] || fail "cache $*: not exit $status: $said"
    grep -q -e "$pattern" <<<"$said" || fail "cache $*: no '$pattern' in: $said"
}

expect 0 '^entries *0,' stat
expect 0 'no other entry is of this kernel' why gemm_256x128
"$TMAGEN" -o "$TMPDIR/out" gemm_256x128 gemm_64x64 >/dev/null || fail "the build failed"
expect 0 '^entries *2,' stat
expect 0 'gemm_64x64.cu .* cubin sm_90a' ls
expect 0 '^gemm_256x128: hit: ' why gemm_256x128
expect 0 'constexpr int .* STAGES = 3;' why gemm_256x128 --set stages=3
expect 0 "kind: 'ptx' here, 'cubin' there" why --ptx gemm_256x128
expect 0 '^0 unusable' verify

expect 0 '^gemm_64x64: pinned ' pin gemm_64x64
expect 0 'gemm_64x64.cu .* pinned$' ls
expect 0 '^pinned *1 of them' gc --limit 0
expect 0 '^gemm_64x64: hit: ' why gemm_64x64
expect 1 'gemm_256x128.cu: not in the cache' pin gemm_256x128
expect 0 '^gemm_64x64: let go ' unpin gemm_64x64
expect 0 '^gemm_64x64: pinned ' pin gemm_64x64
expect 0 '' unpin
expect 0 '^removed *1 files' clear
"$TMAGEN" -o "$TMPDIR/out" gemm_256x128 gemm_64x64 >/dev/null || fail "the build failed"

entry=$(find "$TMAGEN_CACHE" -type f -size +8k | head -n 1)
truncate -s -1 "$entry"
expect 1 'unusable: it is truncated' verify
expect 0 '^removed *1 files' gc
expect 0 '^0 unusable' verify
expect 0 '^removed *1 files' gc --limit 0
expect 0 '^entries *0,' clear

stuck=$TMAGEN_CACHE/$(printf '%064d' 0)
mkdir "$stuck"                          # no unlink removes a folder
expect 3 '1 files cannot be removed' gc
expect 3 '1 files cannot be removed' clear
rmdir "$stuck"

expect 2 "no action is called 'dir'" dir
expect 2 'cache why needs a SPEC' why
expect 2 'cache pin needs a SPEC' pin
expect 2 'cache ls takes no SPEC' ls gemm_256x128
expect 2 "'much' is no number of MiB" gc --limit much
expect 1 'nosuchspec' why nosuchspec
TMAGEN_CACHE=/proc/nowhere expect 3 'cache directory /proc/nowhere' stat

# What the real compiler makes holds no folder of this machine, so that it is the same on all.
TMAGEN_NVRTC=$real_nvrtc "$TMAGEN" -o "$TMPDIR/out" gemm_64x64 >/dev/null 2>&1 || exit 0
for folder in "$PWD" "$TMPDIR"; do
    grep -rqaF "$folder" "$TMAGEN_CACHE" && fail "the entry holds $folder"
done
exit 0
