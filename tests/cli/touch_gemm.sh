#!/usr/bin/env bash
# How many files an op, a schedule and a type of gemm touch, counted: each is made in a scratch
# folder of templates that holds nothing but the files touched, over the ones that tmagen has, and
# the result is verified. touch.sh has the rest, touch_emu.sh an instruction of the emulator.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
scratch=$TMPDIR/templates

# start - an empty scratch folder.
start() {
    rm -rf "$scratch"
    mkdir -p "$scratch"
}

# edit FILE SED-SCRIPT - puts the edited FILE of templates/ into the scratch folder.
edit() {
    mkdir -p "$(dirname "$scratch/$1")"
    sed "$2" "templates/$1" >"$scratch/$1"
    ! cmp -s "templates/$1" "$scratch/$1" || { echo "nothing to edit in $1: $2"; exit 1; }
}

# touched COUNT WHAT
touched() {
    local count
    count=$(find "$scratch" -type f | wc -l)
    [ "$count" = "$1" ] || { echo "$2 touches $count files, not $1"; exit 1; }
}

# verify ARGUMENT... - right on the emulator.
verify() {
    right --templates "$scratch" "$@"
}

start    # an op: its row
edit gemm/epilogue/ops.lua '/^return {$/a\
    { name = "square", doc = "x x", cuda = "x * x", reference = "x * x", linear = false },'
touched 1 "an op"
verify gemm_64x64 --set 'epilogue.ops=[square]' --shape 136x136x72
"$TMAGEN" explain --templates "$scratch" gemm >"$TMPDIR/explained"
grep -q 'square: x x' "$TMPDIR/explained" || { echo "explain does not know the op"; exit 1; }

start    # the same, as a user's own: a file that is not ours
mkdir -p "$scratch/gemm/epilogue"
cat >"$scratch/gemm/epilogue/own.lua" <<'LUA'
return { { name = "leak", doc = "x, or SLOPE x below 0", numbers = { { name = "slope" } },
    cuda = "x < 0 ? slope * x : x", reference = "x < 0 ? slope * x : x",
    error = "0x1p-24 * fabs(x)" } }
LUA
touched 1 "an op of one's own"
verify gemm_64x64 --set 'epilogue.ops=[{leak: 0.1}]' --shape 136x136x72
cp "$scratch/gemm/epilogue/own.lua" "$TMPDIR/leak.lua"
# says EDIT MESSAGE - with that edit the row is refused so.
says() {
    sed "$1" "$TMPDIR/leak.lua" >"$scratch/gemm/epilogue/own.lua"
    if "$TMAGEN" check --templates "$scratch" gemm_64x64 2>"$TMPDIR/table"; then
        echo "taken: $1"
        exit 1
    fi
    grep -qF "epilogue/own.lua: row 1 (leak): $2" "$TMPDIR/table" && return
    cat "$TMPDIR/table"
    exit 1
}
says 's/reference =/reverence =/' 'reference is no string'
says 's/reference = "x < 0 ? slope/reference = "x < 0 ? slop/' 'reference: slop is none of x, y'
says 's/fabs(x)/abs(x)/' 'error: abs is none of x, y'
says 's/0x1p-24/6e-8/' 'error: 6e is no number'
says 's/reference = "x < 0/reference = "x < .5/' 'reference: .5 is no number'
# form TEXT MESSAGE - as its reference that text is refused so.
form() { says "s|reference = \"[^\"]*|reference = \"$1|" "reference: $2"; }
form 'x * * 2' 'an operand is missing before "* 2"; legal is C of x, y'
form 'x +' 'an operand is missing at the end'
form 'x + (fabs)' 'an operand is missing before "fabs)"'
form 'slope(x)' 'an operator is missing before "(x)"'
form 'x 2' 'an operator is missing before "2"'
form '(x' 'a "(" without its ")"'
form 'x)' 'a ")" without its "("'
form 'x < 0 ? 1' 'a "?" without its ":"'
form '(x < 0 ? 1) : 2' 'a "?" without its ":"'
form 'x < 0 : 1' 'a ":" without its "?"'
deep=$(printf '%25s' '')
form "${deep// /(}x${deep// /)}" 'more than 24 operators wait'
says 's/fabs(x)/fabs x/' 'error: an operand is missing before "fabs x"'
operand='s/error =/operand = { name = "w", rows = "m" }, error =/'
says "$operand; s/rows/row/" 'operand.row is no field of an operand'
says "$operand; s/rows = \"m\"/rows = \"n\"/" 'operand.rows is neither m, one nor a parameter'
says "$operand; s/name = \"w\"/name = 5/" 'operand.name is neither a string nor true'
says "$operand; s/\"m\"/&, columns = \"n\"/" 'operand.columns is not one'

start    # a schedule: its file, and its row among the knob's values
mkdir -p "$scratch/gemm/schedule"
cp tests/fixtures/uneven/gemm/schedule/persistent.cu.in "$scratch/gemm/schedule/uneven.cu.in"
edit gemm/schedule/schedules.lua '/^return {$/a\
    { name = "uneven", doc = "of all lengths", walks = true, launch = "some", grid = cta_an_sm },'
touched 2 "a schedule"
verify gemm_128x128_pingpong --set grid=uneven --shape 640x768x136

start    # a type of operands: its row, and its wrappers
edit lib/dtypes.lua '/^    u8 = /s/ptx = "u8"/&, wgmma = "u8", sum = "i32", product = "i32"/'
edit ptx/wgmma.cuh.in '1,/^template <int PENDING>/d
    s/ipairs{"bf16", "f16"}/ipairs{}/; s/ipairs(bytes)/ipairs{}/
    s/k32_s8/k32_u8/; s/s32.s8.s8/s32.u8.u8/'
sed -i '1,/^}$/d' "$scratch/ptx/wgmma.cuh.in"
mv "$scratch/ptx/wgmma.cuh.in" "$scratch/ptx/wgmma_u8.cuh.in"
touched 2 "a type"
verify gemm_64x64 --set problem.a=u8 --shape 136x136x80
