#!/bin/sh
# Every shipped spec must compile, within the registers and spills that it states itself.
# The cache is this run's, and shared by the scripts that run all specs.
set -u
"$BUILD/scripts/find_nvrtc" || exit 77
export TMAGEN_CACHE="$BUILD/tmp/specs"
"$TMAGEN" -o "$TMPDIR/out" specs/*.yaml
