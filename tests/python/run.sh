# shellcheck shell=bash disable=SC2034
# What the scripts of tests/cli that test the Python module share. To be sourced; it sets failed.
failed=0
[ -z "${SANITIZED:-}" ] || { echo "an interpreter cannot load a sanitizer's library"; exit 77; }

# with_python MODULE - sets python to an interpreter that has it.
with_python() {
    for python in "${TORCH_PYTHON:-python3}" python3 /usr/bin/python3; do
        "$python" -c "import sys, $1; sys.exit(sys.version_info < (3, 10))" 2>/dev/null && return
    done
    return 1
}

# run_python TEST [OPTION...] - in a process of its own: a driver, once loaded, stays.
run_python() {
    PYTHONPATH=runtime/python:tests/python:tests PYTHONPYCACHEPREFIX=$TMPDIR/pycache \
        "$python" "${@:2}" -m unittest "$1" || failed=1
}
