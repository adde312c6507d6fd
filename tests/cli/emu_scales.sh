#!/usr/bin/env bash
# blockscaled for sm_100a with settings that no shipped spec has, on the emulator; those that ship
# are in emu_shapes.sh. No GPU has run them: the reference is all they are held to.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh

pair=blockscaled_sm100_256x256 one=blockscaled_sm100_128x128

# Types of scales and of operands, those of 4 and 6 bits beside those of 8; K that ends within an
# atom; swizzles, boxes and atoms a stage.
verify $pair --shape 300x520x416 --set scales.type=ue8m0
verify $one --shape 300x520x160 --set 'scales={a: 1x32}' --set tile.k=512 --set stages=2
verify $pair --shape 300x520x80 --set 'problem={a: e5m2, b: e4m3}' --set stages=2 \
    --set 'swizzle_bits={a: 6, b: 5}' --set tile.k=256
verify $one --shape 200x136x384 --set phase=1 --set 'problem={a: e4m3, b: e3m2, d: fp32}' \
    --set stages=4
verify $one --shape 200x144x352 --set 'swizzle_bits={a: 0, b: 6, d: 5}' --set problem.d=e4m3

# Tiles that begin in the middle of an atom of B's scales; of several problems.
verify $pair --shape 300x584x352 --set tile.n=192 --set cluster.n=2
verify $one --shape 2x200x320x416 --set tile.n=64 --set 'scales={a: 1x32}' --set problem.batch=2 \
    --set cluster.m=2
verify $pair --shape 300x456x384 --set tile.n=64 --set 'problem={a: e2m1, b: e5m2}' --set stages=4

# Accumulators that overlap, by one CTA and pairs, stored directly, by element and by TMA, from
# either end, behind ops that know where they are, or make one of two; and whole ones, of more
# epilogue warps.
ops='[[bias,{add: other, row_period: 7},amax]]'
verify $pair --shape 300x1040x96 --set cta_group=1 --set stages=3 --set "epilogue.ops=$ops"
verify $pair --shape 300x1024x96 --set epilogue.store=direct --set epilogue.load=16 \
    --set 'epilogue.ops=[[swiglu]]'
verify $pair --shape 300x1041x96 --set epilogue.store=elements --set "epilogue.ops=$ops"
verify $pair --shape 300x1040x96 --set 'epilogue.tile={m: 32, n: 32}' \
    --set epilogue.read.matrix=ldg --set "epilogue.ops=[[residual]]"
verify $pair --shape 300x1040x96 --set accumulators=1 --set epilogue.warps=5 \
    --set epilogue.store=staged --set stages=3
verify $one --shape 300x520x96 --set epilogue.warps=8 --set arch=sm_103a --set stages=4

# D of blocks that have scales: NVF4, MXF4 and MXF8, of operands with scales and without, from
# both ends of accumulators that overlap, of halves of N, and of parts of K.
out=blockscaled_sm100_nvf4_out
verify $out --shape 300x352x160/special --set scales.d=1x32
verify $out --shape 300x352x160/special --set scales.d=1x32 --seed 112    # E2M1 from -6 to 6
verify $out --shape 130x160x64 --set 'epilogue.ops=[[{clamp: [-1,0]},relu]]'    # blocks of zeros
verify blockscaled_sm100_mxf8 --shape 300x352x160 --set 'problem.d=[e4m3,e5m2]' --set scales.d=1x32
verify $pair --shape 300x576x160 --set problem.d=e2m1 --set grid=split_k --set epilogue.tile.m=32
verify gemm_sm100_phase6 --shape 264x288x72/special --set problem.d=e2m1    # infinities
verify gemm_sm100_phase6 --shape 300x576x72 --set problem.d=e2m1 \
    --set 'epilogue.ops=[[bias,swiglu]]'
