#!/usr/bin/env bash
# Kernels that no spec ships, drawn from each family's table of knobs so that two values of any two
# knobs that go together are in one of them. tests/pairwise.py says how; a few of each family are
# verified on the emulator here, and all of them, of a fresh draw, by `make pairwise`, which draws
# for Blackwell too; here emu_blackwell.sh and emu_scales.sh have its knobs.
set -u
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
few=(--seed 1 --verify 4 --least 28)
[ -z "${SANITIZED:-}" ] || few=(--seed 1 --rounds 1 --verify 2)
exec tests/pairwise.py "${few[@]}" gemm resample quantise deform_attn deform_pair
