#!/bin/sh
# Checks for the Debian packages that a goal needs and installs the missing ones when it may.
# A package is judged by a file of it and not by dpkg, so that any system which has them passes; a
# pass costs some milliseconds and no network.
#
# usage: scripts/setup.sh GROUP...      exit 3 where something stays missing
set -eu

# package              group   what proves that it is there
table='
gcc                    build   program:cc
make                   build   program:make
pkg-config             build   program:pkg-config
libc6-dev              build   library:libm.so
liblua5.4-dev          build   library:liblua5.4.a
libyaml-dev            build   library:libyaml.a
libjansson-dev         build   library:libjansson.a
libssl-dev             build   library:libcrypto.a
libsqlite3-dev         build   library:libsqlite3.a
libcmocka-dev          test    library:libcmocka.so
python3                test    program:python3
sqlite3                test    program:sqlite3
clang                  fuzz    program:clang
libclang-rt-dev        fuzz    fuzzer:clang
clang                  lint    program:clang
clang-format           lint    program:clang-format
python3-pip            nvrtc   python:pip
python3-pip            wheel   python:pip
ca-certificates        wheel   file:/etc/ssl/certs/ca-certificates.crt
python3-numpy          numpy   import:numpy
ca-certificates        nvrtc   file:/etc/ssl/certs/ca-certificates.crt
'

# has KIND:NAME - whether this machine has it.
has() {
    name=${1#*:}
    case $1 in
    program:*) command -v "$name" ;;
    library:*) command -v cc && test -f "$(cc -print-file-name="$name")" ;;
    fuzzer:*) find "$(clang -print-resource-dir)/lib/" | grep libclang_rt.fuzzer ;;
    python:*) command -v python3 && python3 -m "$name" --version ;;
    import:*) python3 -c "import $name" || /usr/bin/python3 -c "import $name" ;;
    file:*) test -f "$name" ;;
    esac >/dev/null 2>&1
}

# missing GROUP... - the packages of the groups that this machine lacks, on one line.
missing() {
    for group in "$@"; do
        echo "$table" | while read -r package of proof; do
            if [ "$of" = "$group" ] && ! has "$proof"; then echo "$package"; fi
        done
    done | sort -u | tr '\n' ' '
}

say() { echo "setup: $*" >&2; }

need=$(missing "$@")
[ -n "$need" ] || exit 0
say "missing packages: $need"
install="apt-get install -y --no-install-recommends $need"
if ! command -v apt-get >/dev/null; then
    say "this system has no apt-get; install what these Debian packages hold, then run make again"
    exit 3
elif [ "$(id -u)" != 0 ]; then
    say "to install them run: sudo $install"
    exit 3
fi
say "running: $install"
export DEBIAN_FRONTEND=noninteractive
# Another package manager, as a fresh machine's own, may hold the lock for a while.
install="$install -o DPkg::Lock::Timeout=120"
# The lists may be absent or old, so a failed first try is repeated once after an update.
# shellcheck disable=SC2086
$install >/dev/null 2>&1 || { apt-get update -q >&2 && $install >&2; } || {
    say "apt-get could not install them; its reason stands above"
    exit 3
}
need=$(missing "$@")
[ -z "$need" ] || { say "installed, yet still not found: $need"; exit 3; }
