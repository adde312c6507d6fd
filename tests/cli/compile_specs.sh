#!/bin/sh
# Every shipped spec must compile, within the registers and spills that it states itself.
# The cache is this run's, and shared by the scripts that run all specs.
set -u
"$BUILD/scripts/find_nvrtc" || exit 77
export TMAGEN_CACHE="$BUILD/tmp/specs"
shipped='*'
[ -z "${SANITIZED:-}" ] || shipped='*phase*'    # NVRTC is not ours to look at
# shellcheck disable=SC2086
"$TMAGEN" -o "$TMPDIR/out" specs/$shipped.yaml
