#!/bin/sh
# Makes sure that an NVRTC can be found: looks where tmagen looks, else fetches NVIDIA's wheel into BUILD/nvrtc.
# The wheel is pinned to one CUDA release, so that a newer compiler's register allocation cannot break a budget here.
#
# usage: scripts/nvrtc.sh BUILD       always exits 0: without NVRTC the sources can still be generated
set -eu
build=$1
wheel=${NVRTC_WHEEL:-nvidia-cuda-nvrtc==13.0.*}

found() {
    if [ -n "${TMAGEN_NVRTC:-}" ]; then test -e "$TMAGEN_NVRTC"; return; fi
    ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so' && return
    find "$build/nvrtc" /usr/local/cuda/lib64/ -maxdepth 4 -name 'libnvrtc.so*' 2>/dev/null | grep -q .
}

found && exit 0
if [ -n "${TMAGEN_NO_FETCH:-}" ]; then
    echo "nvrtc: none found, and TMAGEN_NO_FETCH is set: nothing will be compiled" >&2
    exit 0
fi
echo "nvrtc: none found (looked at TMAGEN_NVRTC, $build/nvrtc, the loader's path, /usr/local/cuda/lib64);" \
    "fetching the wheel $wheel into $build/nvrtc" >&2
"$(dirname "$0")/setup.sh" nvrtc || { echo "nvrtc: without pip the wheel cannot be fetched: nothing will be compiled" >&2; exit 0; }
rm -rf "$build/nvrtc.part"
if python3 -m pip install --quiet --no-deps --retries 1 --disable-pip-version-check --root-user-action=ignore \
    --target "$build/nvrtc.part" "$wheel"; then
    rm -rf "$build/nvrtc"
    mv "$build/nvrtc.part" "$build/nvrtc"
else
    rm -rf "$build/nvrtc.part"
    echo "nvrtc: pip could not fetch it: nothing will be compiled. Any machine's libnvrtc.so will do:" \
        "set TMAGEN_NVRTC to its path" >&2
fi
