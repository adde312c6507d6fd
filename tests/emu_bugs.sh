#!/usr/bin/env bash
# The bug corpus: sound kernels give no report, and each planted bug is reported by class and line.
set -eu
if [ -n "${SANITIZED:-}" ]; then
    echo "the driver links the plain library only"
    exit 77
fi
${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -I. tests/emu/bug.c "$BUILD/libtmagen.a" \
    -ljansson -lmd -lm -ldl -lpthread -o "$TMPDIR/emu_bug"
for kernel in gemm_64x64 gemm_256x128; do
    status=0
    "$TMPDIR/emu_bug" out/$kernel.cu out/$kernel.json 200 136 1160 20 none || status=$?
    if [ $status = 3 ]; then
        echo "no NVRTC, so nothing to run"
        exit 77
    fi
    [ $status = 0 ] || exit 1
done
EMU_BUG=$TMPDIR/emu_bug tests/emu/run_bugs.sh
