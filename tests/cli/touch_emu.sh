#!/usr/bin/env bash
# A form of an instruction costs the emulator its row and its handler, in one file: one that PTX
# does not have is added to a copy of the emulator, and a kernel uses it.
set -eu
[ -z "${SANITIZED:-}" ] || { echo "compiles by itself, without sanitizers"; exit 77; }
work=$TMPDIR/work
mkdir -p "$work/runtime"
cp -r runtime/emu "$work/runtime"

cat >"$work/nor.ptx" <<'PTX'
.version 8.0
.target sm_90a
.address_size 64
.visible .entry nor(.param .u64 y)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd0, [y];
    mov.u32 %r0, 0xfffffff0;
    mov.u32 %r1, 3;
    nor.b32 %r2, %r0, %r1;
    st.global.u32 [%rd0], %r2;
    ret;
}
PTX
cat >"$work/nor.yaml" <<'YAML'
ptx: nor.ptx
grid: 1
block: [1]
buffers:
  y: {dtype: u32, shape: [1], value: 0, out: y.npy}
args:
  - buffer: y
YAML

# emulated PROGRAM - what nor.ptx gives.
emulated() {
    "$1" emulate "$work/nor.yaml" >"$work/said" 2>&1 && od -A n -t u4 -j 128 "$work/y.npy"
}

! emulated "$TMAGEN" || { echo "the instruction is there without its row"; exit 1; }
grep -q 'nor.b32' "$work/said" || { cat "$work/said"; exit 1; }

sed -i -e '/^EMU_BINARY(xor_32,/i\
EMU_BINARY(nor_32, 32, uint32_t, uint32_t, ~(a | b))' -e '/{"xor.b32", "daa"/i\
    {"nor.b32", "daa", nor_32, 0},' "$work/runtime/emu/exec/bits.c"
touched=$(diff -rq runtime/emu "$work/runtime/emu" | wc -l)
lines=$(diff -r runtime/emu "$work/runtime/emu" | grep -c '^[<>]')
[ "$touched $lines" = '1 2' ] ||
    { echo "$touched files touched by $lines lines, not 1 by 2"; exit 1; }

${CC:-cc} -std=c11 -O1 -I"$work" -I. -D_GNU_SOURCE -c -o "$work/bits.o" \
    "$work/runtime/emu/exec/bits.c"
# shellcheck disable=SC2086
${CC:-cc} -o "$work/tmagen" "$BUILD/gen/cli/main.o" "$work/bits.o" "$BUILD/internal.a" \
    -Wl,-Bstatic -llua5.4 -lyaml -ljansson -lcrypto -lsqlite3 -Wl,-Bdynamic -lm -ldl -lpthread
value=$(emulated "$work/tmagen") || { cat "$work/said"; exit 1; }
[ "$((value))" = 12 ] || { echo "nor.b32 gives $value, not 12"; exit 1; }
