#!/usr/bin/env bash
# Kernels as PyTorch operators, on CPU tensors by the emulator. TORCH_PYTHON is an interpreter that
# has PyTorch, where python3 has none.
set -u
# shellcheck source=tests/python/run.sh
. tests/python/run.sh
with_python torch || { echo "no Python with PyTorch; TORCH_PYTHON names one"; exit 77; }
[ -n "${TMAGEN_NVRTC:-}" ] || "$BUILD/scripts/find_nvrtc" >/dev/null || {
    echo "no NVRTC, so that nothing is compiled for the emulator"
    exit 77
}
TMAGEN_CACHE=$KERNELS run_python test_torch
exit "$failed"
