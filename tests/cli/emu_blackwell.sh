#!/usr/bin/env bash
# gemm for sm_100a with settings that no shipped spec has, on the emulator; those that ship are in
# emu_shapes.sh. No GPU has run them: the reference is all they are held to.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh

pair=gemm_sm100_phase5

# What D is rounded to, types of 8 bits, of 6 and 4, sums of integers; swizzles, several boxes a
# stage; how wide tiles are, and loads from tensor memory.
verify $pair --shape 300x520x208 --set 'problem={a: e4m3, b: e5m2}' \
    --set 'swizzle_bits={a: 5, b: 6, d: 5}'
verify $pair --shape 300x528x208 --set 'problem={a: e4m3, d: e4m3}' \
    --set 'swizzle_bits={a: 0, b: 0, d: 0}' --set stages=4
verify $pair --shape 300x528x208 --set 'problem={a: i8, d: bf16}' \
    --set 'tile={m: 128, n: 96, k: 256}' --set stages=3 --set epilogue.tile.n=32 \
    --set swizzle_bits.d=6
verify gemm_sm100_phase4 --shape 300x522x208 --set 'problem={a: i8}' --set epilogue.load=64
verify $pair --shape 300x524x136 --set 'problem={a: fp16, d: fp32}' --set epilogue.tile.n=32 \
    --set 'tile={m: 128, n: 64, k: 32}' --set swizzle_bits='{a: 6, b: 5}' \
    --set epilogue.buffers=1 --set accumulators=4 --set raster.along=n
verify gemm_sm100_phase1 --shape 300x264x128 --set tile.n=16 --set epilogue.load=8 \
    --set 'problem={a: e2m3, b: e2m1}' \
    --set epilogue.store=tma --set epilogue.tile.n=16 --set swizzle_bits.d=5 \
    --set dependent_launch=prologue --set prefetch_maps=true

verify $pair --shape 300x520x384 --set 'problem={a: e2m1, b: e2m1}'  # a byte each, no scales
verify $pair --shape 300x520x384 --set 'problem={a: e3m2, b: e2m3}'  # whose K are 3 / 4 of it

# All kinds of operands of ops, what they write, and columns that are a half apart.
ops='[[bias,{add: other, row_period: 7},gelu_erf,residual,bias_m,aux,amax,{scale_n: sn}]]'
verify $pair --shape 300x520x200 --set "epilogue.ops=$ops"
verify gemm_sm100_phase2 --shape 300x522x72 --set "epilogue.ops=$ops" --set tile.n=128
verify $pair --shape 300x521x72 --set epilogue.store=elements \
    --set 'epilogue.ops=[[bias,residual]]'
verify $pair --shape 300x1040x136 --set 'epilogue.ops=[[bias,swiglu]]'
verify gemm_sm100_phase2 --shape 300x1044x136 --set 'epilogue.ops=[[bias,geglu_erf]]'

# Warps that share rows, and stage and store by themselves, by threads too; operands by 16 bytes,
# ahead of the sums, from blocks; accumulators given back late; another GPU of that kind.
matrix='[[residual,{add: other, row_period: 7},amax]]'
verify $pair --shape 300x520x72 --set "epilogue.ops=$matrix" --set epilogue.warps=8 \
    --set 'epilogue.read={matrix: cp_async, order: ahead, layout: blocked}' \
    --set epilogue.buffers=1 --set stages=3
verify $pair --shape 300x520x72 --set "epilogue.ops=$matrix" --set epilogue.warps=5 \
    --set 'epilogue.read={matrix: cg, order: before}' --set epilogue.store=staged \
    --set arch=sm_103a --set stages=5
verify gemm_sm100_phase2 --shape 300x528x72 --set "epilogue.ops=$matrix" --set epilogue.warps=5 \
    --set 'epilogue.read={matrix: cs, order: between}' --set epilogue.release=late
verify $pair --shape 300x1040x136 --set 'epilogue.ops=[[bias,swiglu]]' --set epilogue.warps=8 \
    --set cluster.m=4 --set epilogue.stagger=20 \
    --set 'unroll={epilogue: 2, mma: 2, load: 2, instructions: 2}'
verify $pair --shape 300x528x80 --set 'problem={a: i8, d: bf16}' --set epilogue.store=staged \
    --set epilogue.buffers=1 --set epilogue.release=late --set stages=5

# Column-major operands, by one CTA and by pairs.
verify $pair --shape 304x520x200 --set problem.a=fp16 --set layout.a=column --set layout.b=column
verify gemm_sm100_phase1 --shape 304x328x136 --set layout.a=column

# Tiles taken over from clusters that have not begun, by pairs and by CTAs; parts of K, also of two
# halves of N and of operands with scales; problems side by side. Clusters of several pairs (one is
# above), and of CTAs that each multiply, which share operands by multicast.
verify gemm_sm100_phase6 --shape 1300x1032x72
verify gemm_sm100_phase2 --shape 300x1032x72 --set grid=launch_control
verify $pair --shape 300x520x1096 --set grid=split_k --set splits=3 --set epilogue.warps=8 \
    --set 'epilogue.ops=[[bias,residual,amax]]' --set epilogue.buffers=1
verify gemm_sm100_phase2 --shape 200x1044x600 --set grid=stream_k --set epilogue.warps=5 \
    --set 'cluster={m: 2, n: 1}' --set stages=3 \
    --set 'epilogue.ops=[[bias,swiglu]]'
verify blockscaled_sm100_256x256 --shape 300x520x1600 --set grid=split_k
verify $pair --shape 520x1040x136 --set 'cluster={m: 4, n: 4}' --set stages=3  # not a portable size
verify gemm_sm100_phase6 --shape 3x300x520x136 --set problem.batch=dynamic --set layout.b=column \
    --set 'cluster={m: 2, n: 2}' \
    --set 'epilogue.ops=[[residual]]' --set 'epilogue.read={matrix: ldg, order: ahead}'
verify gemm_sm100_phase1 --shape 2x300x264x72 --set problem.batch=2 --set epilogue.store=elements \
    --set 'epilogue.ops=[[residual,beta]]'
