#!/usr/bin/env bash
# A little of everything that tmagen reads, damaged, always the same; `make attack` does much more.
set -eu
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
tests/attack.py --rounds "${ROUNDS:-12}"
