#!/bin/sh
# Builds the wheel of the Python module and the source archive. Its backend, hatchling, is taken
# where python3 has it, else from build/hatchling, where pip puts it the first time.
#
# usage: [BUILD=build] scripts/wheel.sh FOLDER      exit 3 where hatchling cannot be had
#   TMAGEN_NO_FETCH=1 never fetches.
set -eu
folder=$1
backend=${BUILD:-build}/hatchling
say() { echo "wheel: $*" >&2; }

if ! python3 -c 'import hatchling' 2>/dev/null; then
    if [ ! -d "$backend" ]; then
        [ -z "${TMAGEN_NO_FETCH:-}" ] || { say "no hatchling, and TMAGEN_NO_FETCH is set"; exit 3; }
        scripts/setup.sh wheel || exit 3
        say "fetching hatchling into $backend"
        rm -rf "$backend.part"
        PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip install --quiet \
            --retries 3 --target "$backend.part" hatchling >&2 || { say "pip could not"; exit 3; }
        mv "$backend.part" "$backend"
    fi
    export PYTHONPATH="$backend"
fi
mkdir -p "$folder"
python3 -m hatchling build -d "$folder" -t sdist -t wheel
