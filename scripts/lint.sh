#!/bin/sh
# What a reader may rely on in every file: one format, sound shell, no file over 600 lines.
# The format itself stands in .clang-format alone; what the two compilers warn of, the Makefile's lint asks them.
#
# usage: scripts/lint.sh FILE.c...        prints every finding; exit 1 if there was any
set -u
bad=0
finding() { echo "lint: $*"; bad=1; }

headers=$(find gen measure runtime tests -name '*.h' 2>/dev/null)
# shellcheck disable=SC2086
clang-format --dry-run -Werror "$@" $headers || finding "format: make format mends it"

if command -v shellcheck >/dev/null; then
    shellcheck scripts/*.sh tests/*.sh .ci/run || finding "shellcheck"
fi
# shellcheck disable=SC2046
long=$(wc -l $(git ls-files '*.[ch]' '*.lua' '*.in' '*.cuh' '*.sh' | grep -v '^out/') 2>/dev/null |
    awk '$2 != "total" && $1 > 600 { print $2 " has " $1 " lines" }')
[ -z "$long" ] || finding "over 600 lines: $long"
exit $bad
