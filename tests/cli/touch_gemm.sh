#!/usr/bin/env bash
# How many files an op, a schedule and a type of gemm touch, counted: each is made in a scratch
# folder of templates that holds nothing but the files touched, over the ones that tmagen has, and
# the result is verified. touch.sh has the rest, touch_emu.sh an instruction of the emulator.
set -eu
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
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
    "$TMAGEN" verify --templates "$scratch" --device emu:1 --schedules 1 -o "$TMPDIR/out" "$@" \
        >"$TMPDIR/table" 2>&1 || { cat "$TMPDIR/table"; exit 1; }
}

start    # an op: its row
edit gemm/epilogue/ops.lua '/^return {$/a\
    { name = "square", doc = "x x", cuda = "x * x", reference = "x * x", linear = false },'
touched 1 "an op"
verify gemm_64x64 --set 'epilogue.ops=[square]' --shape 136x136x72
"$TMAGEN" explain --templates "$scratch" gemm >"$TMPDIR/explained"
grep -q 'square: x x' "$TMPDIR/explained" || { echo "explain does not know the op"; exit 1; }

start    # a schedule: its file, and its row among the knob's values
mkdir -p "$scratch/gemm/work"
cp tests/fixtures/uneven/gemm/work/persistent.cu.in "$scratch/gemm/work/uneven.cu.in"
edit gemm/work/schedules.lua '/^return {$/a\
    { name = "uneven", doc = "of all lengths", walks = true, launch = "some", grid = cta_an_sm },'
touched 2 "a schedule"
verify gemm_128x128_pingpong --set grid=uneven --shape 640x768x136

start    # a type of operands: its row, and its wrappers
edit lib/dtypes.lua '/^local rows = {$/a\
    e5m2 = { bits = 8, cuda = "e5m2", ptx = "e5m2", wgmma = "e5m2", to_float = "float" },'
edit ptx/wgmma.cuh.in '1,/^template <int PENDING>/d
    s/"bf16", "f16"/"e5m2"/; s/k16/k32/g; s/p, 1, 1, 0, 0;/p, 1, 1;/'
sed -i '1,/^}$/d' "$scratch/ptx/wgmma.cuh.in"
mv "$scratch/ptx/wgmma.cuh.in" "$scratch/ptx/wgmma_e5m2.cuh.in"
cat >"$scratch/ptx/e5m2.cuh" <<'CUDA'
// e5m2.cuh: eight-bit floats.
struct e5m2 {
    uint8_t bits;
};
CUDA
touched 3 "a type"
# few products, since Hopper keeps fewer bits of FP8's than the reference asks for
verify gemm_64x64 --set problem.a=e5m2 --set problem.d=bf16 --shape 136x136x32/exact --seed 1
