#!/bin/sh
# Every shipped spec must compile, within the registers and spills that it states itself.
# From a fresh cache, so that it is this tree's source and not an older one's.
set -u
"$BUILD/scripts/find_nvrtc" || exit 77
"$TMAGEN" -o "$TMPDIR/out" specs/*.yaml
