#!/bin/sh
# What a reader may rely on in every file: one format, sound shell, 600 lines, 100 columns; 120 in
# Lua, templates and what is generated from them, but not in the odd inputs of test cases. And in
# generated kernels no function, variable or parameter that nothing uses.
# The format itself stands in .clang-format alone; for warnings the Makefile asks both compilers.
# No two structs of one name: what is called alike is alike.
#
# usage: scripts/lint.sh      prints every finding; exit 1 if there was any
set -u
bad=0
finding() {
    echo "lint: $*"
    bad=1
}

# files PATTERN... - those of git's, and those that are new and not ignored.
files() { git ls-files --cached --others --exclude-standard -- "$@"; }

# narrow COLUMNS PATTERN... - no line of those files is longer.
narrow() {
    columns=$1
    shift
    files "$@" | xargs awk -v columns="$columns" '
        length > columns { print FILENAME ":" FNR ": " length " columns"; bad = 1 }
        END { exit bad }' || finding "over $columns columns"
}

files '*.[ch]' | xargs clang-format --dry-run -Werror || finding "format: make format mends it"
if command -v shellcheck >/dev/null; then
    files '*.sh' .ci/run | xargs shellcheck || finding "shellcheck"
fi
narrow 100 '*.[ch]' '*.sh' .ci/run Makefile
narrow 120 '*.lua' '*.in' '*.cuh' 'out/*.cu' ':!tests/cases'
files '*.[ch]' '*.lua' '*.in' '*.cuh' '*.sh' | xargs awk '
    FNR == 601 { print FILENAME ": over 600 lines"; bad = 1 }
    END { exit bad }' || finding "over 600 lines"

# A struct, union or enum has a name of its own in the tree, in whatever file it is declared.
# shellcheck disable=SC2016
files '*.[ch]' | xargs awk '
    /^[ \t]*(typedef |static |const )*(struct|union|enum) [A-Za-z0-9_]+ \{/ {
        name = $0
        sub(/ \{.*/, "", name)
        sub(/.* /, "", name)
        if (name in first) { print FILENAME ":" FNR ": " name " is also at " first[name]; bad = 1 }
        first[name] = FILENAME ":" FNR
    }
    END { exit bad }' || finding "one name, two meanings"

# And so has a file, wherever it stands; but runtime/emu/exec/X is the instructions on what X in the
# emulator's model/ or machine/ is, and each family has files of the same names.
files '*.[ch]' ':!templates' ':!tests' | sed 's/\.[ch]$//' | sort -u | awk -F / '
    $NF in first && first[$NF] !~ "^runtime/emu/exec/" { print $0 ": also " first[$NF]; bad = 1 }
    { first[$NF] = $0 }
    END { exit bad }' || finding "one name of a file, two meanings"

# Of each spec for Blackwell tests/emu/sass.txt says what the assembler made of it.
for spec in specs/*sm100*.yaml; do
    name=$(basename "$spec" .yaml)
    for arch in sm_100a sm_103a; do
        grep -q "^$arch $name: " tests/emu/sass.txt ||
            finding "tests/emu/sass.txt has no $arch $name: scripts/sass.py gives it"
    done
done

# Tables of a manual begin with a head, and end with a blank line, so that they are shown as such.
# shellcheck disable=SC2016
files '*.md' | xargs awk '
    FNR == 1 { before = "" }
    /^\|/ && before !~ /^\|/ { head = FILENAME ":" FNR }
    before ~ /^\|/ && FILENAME ":" FNR - 1 == head && !/^\|[ :|-]+\|$/ { odd(head) }
    !/^\|/ && before ~ /^\|/ && !/^$|^<!--/ || /^\|/ && !/\|$/ { odd(FILENAME ":" FNR) }
    { before = $0 }
    function odd(place) { print place ": a torn table"; bad = 1 }
    END { exit bad }' || finding "tables that are none"

# unused KERNEL.cu - prints what it declares and never uses, its own parameters included.
unused() {
    { echo 'namespace {'; cat "$1"; echo '}'; } |
        clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_86 -nocudainc -nocudalib -std=c++17 \
            -fsyntax-only -include scripts/lint_cuda.h -Wunused -Wunused-parameter \
            -Wunused-const-variable -Wunused-member-function -Wunused-template \
            -Wno-unknown-cuda-version - 2>&1 |
        awk -F : -v file="$1" '
            /(warning|error): / {
                line = $2 - 1
                sub(/^[^ ]* /, "")
                print file ":" line ": " $0
            }'
}
if command -v clang >/dev/null; then
    for kernel in out/*.cu; do unused "$kernel"; done | grep . && finding "unused in generated code"
fi
exit $bad
