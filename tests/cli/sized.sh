#!/bin/sh
# Structs of callers may grow: every exported function that takes one is told its size.
set -u
structs=$(sed -n 's/^typedef struct \(tmagen_[a-z_]*\) {$/\1/p' runtime/tmagen*.h | paste -sd '|')
[ "$(echo "$structs" | tr '|' '\n' | wc -l)" -ge 14 ] || { echo "where are the structs?"; exit 1; }
unsized=$(cat runtime/tmagen*.h | tr '\n' ' ' | grep -oE 'TMAGEN_API [^;]*;' |
    grep -E "($structs) \*" | grep -vE 'tmagen_[a-z_]*_sized\(')
[ -z "$unsized" ] || { echo "$unsized"; exit 1; }
