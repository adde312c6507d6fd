#!/usr/bin/env bash
# Kernels that no spec ships, drawn from each family's table of knobs so that two values of any two
# knobs that go together are in one of them. tests/pairwise.py says how; a few of each family are
# verified on the emulator here, and all of them, of a fresh draw, by `make pairwise`. Of Blackwell
# as many, without shapes of several waves, which emu_blackwell.sh and emu_scales.sh have.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
few=(--seed 1 --verify 4 --least 28)
blackwell=(--seed 1 --verify 4 --least 60 --rounds 1 --no-waves)
if [ -n "${SANITIZED:-}" ]; then
    few=(--seed 1 --rounds 1 --verify 2)
    blackwell=(--seed 1 --verify 1 --rounds 1 --no-waves)
fi
tests/pairwise.py "${blackwell[@]}" gemm-blackwell blockscaled-blackwell
exec tests/pairwise.py "${few[@]}" gemm resample quantise deform_attn deform_pair
