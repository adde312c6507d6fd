#!/bin/sh
# What every shipped spec costs is what tests/emu/profiles.txt says: a kernel that is right but
# slower passes every other test. `make profile` accepts what they cost now; the diff is for review.
# Each runs in several waves, whose result must be right. Registers and spills: compile_specs.sh.
# With another compiler than the record's only what it has no part in is compared: grids and orders.
set -u
"$BUILD/scripts/find_nvrtc" || exit 77
export TMAGEN_CACHE="$KERNELS"
record=tests/emu/profiles.txt
if [ -n "${SANITIZED:-}" ]; then    # ten times as slow: a few, for what the sanitizers say
    exec "$TMAGEN" profile --ptx specs/gemm_phase[137].yaml specs/resample_phase*.yaml
fi
# a table's kernels are there by themselves, or cost what their like does in another type
find specs -maxdepth 1 -name '*.yaml' ! -name '*_h200.yaml' | sort |
    xargs "$TMAGEN" profile --ptx >"$TMPDIR/now" || exit 1

# a kernel's counts are the same whatever was run before it
"$TMAGEN" profile --ptx specs/gemm_phase6.yaml >"$TMPDIR/alone"
awk '/^[^ ]/ { on = $1 == "gemm_phase6" } on' "$TMPDIR/now" | diff -u - "$TMPDIR/alone" || exit 1

parts() { cat "$1"; }
compiler=$(head -n 1 tests/emu/assembled.txt)
"$TMAGEN" gen --ptx -o "$TMPDIR" specs/gemm_phase6.yaml
if ! grep -qx "// $compiler" "$TMPDIR/gemm_phase6.ptx"; then
    echo "the record is of another compiler: $compiler"
    parts() { grep -e '^[^ ]' -e 'grid' "$1"; }
fi
parts "$record" >"$TMPDIR/then"
parts "$TMPDIR/now" | diff -u --label "$record" --label "what they cost now" "$TMPDIR/then" -
