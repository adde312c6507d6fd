#!/bin/sh
# Sees to it that libtmagen finds an NVRTC: asks it, and fetches NVIDIA's wheel where it finds none.
# The wheel is pinned to one CUDA release, so that a newer compiler cannot break a register budget.
#
# usage: scripts/nvrtc.sh PROGRAM FOLDER
#   PROGRAM is build/scripts/find_nvrtc, FOLDER where the wheel goes: build/nvrtc, where tmagen
#   looks too. Prints the wheel's libnvrtc.so where that must be named to be found ($TMAGEN_NVRTC).
#   Always exits 0, because sources can be generated without NVRTC.
#   TMAGEN_NO_FETCH=1 never fetches; NVRTC_WHEEL is another requirement in pip's words.
set -eu
wheel=${NVRTC_WHEEL:-nvidia-cuda-nvrtc==13.0.*}
program=$1
folder=$2

say() { echo "nvrtc: $*" >&2; }
without() {
    say "$*; until an NVRTC is there, nothing will be compiled. $reason"
    exit 0
}

# found - asks the program, then for the wheel in the folder; what is missing is in $reason.
found() {
    reason=$("$program") && return
    library=$(find "$folder" -name 'libnvrtc.so.*' 2>/dev/null | head -n 1)
    [ -n "$library" ] && reason=$(TMAGEN_NVRTC=$library "$program") && realpath "$library"
}

if found; then exit 0; fi
[ -z "${TMAGEN_NO_FETCH:-}" ] || without "not fetched, because TMAGEN_NO_FETCH is set"
say "none found, fetching $wheel into $folder"
"$(dirname "$0")/setup.sh" nvrtc || without "the wheel cannot be fetched without Python's pip"
rm -rf "$folder.part"
export PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m pip install --quiet --no-deps --retries 3 --target "$folder.part" "$wheel" >&2 ||
    without "pip could not fetch $wheel"
rm -rf "$folder"
mv "$folder.part" "$folder"
found || without "fetched, and yet not to be loaded"
