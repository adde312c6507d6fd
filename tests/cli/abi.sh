#!/bin/sh
# The library's binary interface is the committed one: programs that are there go on working.
# And the check says so of what breaks them, of what does not, and of what is forgotten.
set -u
lib=$BUILD/libtmagen.so
[ -z "${SANITIZED:-}" ] || { echo "its symbols are the same without sanitizers"; exit 77; }
scripts/abi.py "$lib" runtime/tmagen.abi || exit 1
unversioned=$(nm -D --defined-only --with-symbol-versions "$lib" | grep ' T ' | grep -v '@@TMAGEN_')
[ -z "$unversioned" ] || { echo "without a version: $unversioned"; exit 1; }

# says SED PATTERN - what the check says where the list were another.
says() {
    sed "$1" runtime/tmagen.abi >"$TMPDIR/other.abi"
    said=$(scripts/abi.py "$lib" "$TMPDIR/other.abi") && { echo "$1: is not noticed"; exit 1; }
    echo "$said" | grep -q "$2" || { echo "$1: $said"; exit 1; }
}
says '/^    112 layout/d' 'breaks nothing'
says 's/^struct tmagen_tensor: .*/struct tmagen_tensor: 104 bytes/' 'breaks nothing'
says 's/^    16 rank: int/    16 rank: long/' 'another soname'
says 's/^TMAGEN_ERROR_MISS = .*/TMAGEN_ERROR_MISS = -6/' 'another soname'
says 's/^tmagen_version@@.*/tmagen_gone@@TMAGEN_0: void tmagen_gone(void);/' 'another soname'
