#!/bin/sh
# Every mistake of tests/mutations.txt can be planted: where code moves, its mistakes move too.
[ -z "${SANITIZED:-}" ] || { echo "the list is the same without sanitizers"; exit 77; }
scripts/mutate.py --sum
