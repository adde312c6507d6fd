#!/usr/bin/env bash
# The Python module from the tree: NumPy on the emulator, and CUDA on a stand-in for the driver.
# tests/python has them, a process for each file.
set -u
# shellcheck source=tests/python/run.sh
. tests/python/run.sh
scripts/setup.sh numpy || true
with_python numpy || { echo "no Python with NumPy"; exit 77; }
run_python test_fake_gpu -W error
[ -n "${TMAGEN_NVRTC:-}" ] || "$BUILD/scripts/find_nvrtc" >/dev/null || exit "$failed"
for test in test_emulator test_chain test_experts; do
    TMAGEN_CACHE=$KERNELS run_python $test -W error
done
exit "$failed"
