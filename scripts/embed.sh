#!/bin/sh
# Writes an assembler file: the bytes of the given files and the table embed_files of gen/embed.h.
# Assembler, because .incbin takes any bytes of any size at once, where a C array costs minutes.
#
# usage: scripts/embed.sh CODE FILE... > embed.S
#   Paths are as seen from the folder of the assembler's run. CODE/FILE, where it is there, is what
#   scripts/embed/precompile made of the file.
set -eu
code=$1
shift

for path in "$@"; do
    case $path in
    *[!A-Za-z0-9_./-]*)
        echo "embed: $path: only letters, digits and _ . / - may stand in such a name" >&2
        exit 1
        ;;
    esac
done

echo '    .section .rodata'
number=0
for path in "$@"; do
    printf '.Lpath_%d:\n    .asciz "%s"\n' $number "$path"
    printf '.Lbegin_%d:\n    .incbin "%s"\n.Lend_%d:\n    .byte 0\n' $number "$path" $number
    printf '.Lcode_%d:\n' $number
    [ ! -e "$code/$path" ] || printf '    .incbin "%s"\n' "$code/$path"
    printf '.Lcode_end_%d:\n' $number
    number=$((number + 1))
done

echo '    .section .data.rel.ro, "aw"'
echo '    .globl embed_files, embed_files_count'
echo '    .balign 8'
echo 'embed_files:'
for row in $(seq 0 $((number - 1))); do
    echo "    .quad .Lpath_$row, .Lbegin_$row, .Lend_$row, .Lcode_$row, .Lcode_end_$row"
done
echo 'embed_files_count:'
echo "    .quad $number"
echo '    .section .note.GNU-stack, "", %progbits'
