#!/usr/bin/env bash
# The example program: without a driver, a kernel or a GPU it says so in one sentence and fails.
# Its result is right on the emulator, and where there is a GPU: make test-gpu sees to that. So is
# that of a program that gives launches of several shapes one workspace.
set -u
example=$BUILD/tests/example

# refuses PATTERN ARGUMENTS... - the example fails, with one line like PATTERN.
refuses() {
    local pattern=$1 said
    shift
    said=$("$example" "$@" 2>&1 >/dev/null) && { echo "example $*: did not fail"; exit 1; }
    if ! grep -q -e "$pattern" <<<"$said" || [ "$(wc -l <<<"$said")" != 1 ]; then
        echo "example $*: no '$pattern' in: $said"
        exit 1
    fi
}

# Without a GPU too the result is right: the emulator's.
if "$BUILD/scripts/find_nvrtc" >/dev/null; then
    "$example" emu gemm_64x64 100 72 72 | grep -q '^0 of ' || { echo "wrong on emu"; exit 1; }
    TMAGEN_CACHE=$KERNELS "$BUILD/tests/shapes_in_turn" emu gemm_16x64_split || exit 1
fi

TMAGEN_LIBCUDA=/nonexistent refuses 'no CUDA driver: /nonexistent: ' cuda
FAKE_CUDA=none TMAGEN_LIBCUDA=$BUILD/tests/fixtures/fake/cuda.so refuses 'no usable device' cuda
refuses "no device is called 'tpu'; legal: cuda, cuda:N, emu, emu:N" tpu
fake=$BUILD/tests/fixtures/fake
export TMAGEN_LIBCUDA=$fake/cuda.so TMAGEN_NVRTC=$fake/nvrtc.so
refuses 'there is no CUDA device 1; the driver sees 1' cuda:1
refuses 'out/no_such_kernel.json: No such file' cuda no_such_kernel
refuses "dim 'k' is 250; legal: multiples of 8" cuda gemm_256x128 64 64 250
exit 0
