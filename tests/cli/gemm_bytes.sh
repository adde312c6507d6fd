#!/usr/bin/env bash
# Operands of 8 bits against the reference, on the emulator: every pair of types, every type of D,
# through every way that D is stored; sums promoted to fp32; and a step that is left out is noticed.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh

fp8=gemm_fp8_128x128_pingpong
verify $fp8 --set 'problem.a=[e4m3,e5m2]' --set 'problem.b=[e4m3,e5m2]' \
    --shape 136x144x400/special
verify $fp8 --set 'problem.d=[fp16,fp32,e4m3,e5m2]' --set stages=4 --set 'exchange=[false,true]' \
    --shape 136x144x144 --shape 72x144x80/special
verify gemm_128x192_direct --set tile.n=64 --set tile.k=128 \
    --set problem.a=e4m3 --set problem.b=e5m2 \
    --set 'problem.d=[bf16,e4m3,e5m2,fp32]' --set 'epilogue.store=[direct,elements]' \
    --shape 136x200x144/special
verify gemm_phase0 --set 'problem.a=[e4m3,e5m2]' --set 'problem.d=[bf16,e5m2]' \
    --shape 40x40x72/special
verify $fp8 --set problem.d=e4m3 --shape 136x288x400 \
    --set 'epilogue.ops=[[scale_a, scale_b, swiglu, scale_d], [residual]]'
verify gemm_16x64_split --set problem.a=e4m3 --set stages=4 --shape 24x144x1600

promoted='--set tile.m=64 --set cluster.m=1'
# shellcheck disable=SC2086
verify $fp8 $promoted --set problem.b=e5m2 --set 'promote_every=[1,2,3]' \
    --set 'mma_in_flight=[0,1]' --shape 136x144x912/special
# shellcheck disable=SC2086
verify $fp8 $promoted --set promote_every=2 --set schedule=cooperative --set tile.m=128 \
    --shape 136x144x912/exact

verify gemm_s8_128x128 --set 'problem.d=[i32,bf16,fp16,fp32]' --set 'exchange=[false,true]' \
    --set epilogue.tile.n=64 --shape 136x144x1296
verify gemm_64x64 --set problem.a=i8 --set 'problem.d=[i32,bf16]' --set 'epilogue.buffers=1' \
    --set 'exchange=[false,true]' --shape 136x144x1296
verify gemm_phase1 --set problem.a=i8 --set 'problem.d=[i32,bf16]' --shape 136x144x1296
verify gemm_phase0 --set problem.a=i8 --set 'problem.d=[i32,fp32]' --shape 40x40x2064
# some of these sums are -1, every bit of it set, and were written all the same
verify gemm_phase0 --set problem.a=i8 --set problem.d=i32 --shape 520x520x8 --seed 1

# Rows that begin anywhere, copied by a kernel before: every pair of types, every type of D, ops and
# scales, parts of sums, one operand alone, both ways to store D, batches, scales of blocks, i8.
repack=gemm_fp8_128x128_repack
any=(--shape 131x263x307 --shape 7x13x17/special --shape 1x1x1)
verify $repack "${any[@]}" --set 'problem.a=[e4m3,e5m2]' --set 'problem.b=[e4m3,e5m2]' \
    --set 'problem.d=[fp16,e5m2]'
verify $repack "${any[@]}" --set 'problem.d=[bf16,e4m3]' --set 'epilogue.ops=[[scale_a, scale_b,
    {scale_m: rows}, {scale_n: columns}, bias, gelu, aux, scale_d, amax], [alpha, beta]]'
verify $repack "${any[@]}" --set exchange=false --set epilogue.store=elements --set phase=6 \
    --set 'grid=[persistent, split_k]' --set 'epilogue.ops=[[scale_a, bias, residual]]'
verify $repack "${any[@]}" --set promote_every=2 --set tile.n=64 --set dependent_launch=prologue
verify $repack --set 'repack=[[a],[b]]' --shape 70x133x144/special
verify $repack --set problem.batch=dynamic --shape 3x70x133x77 --shape 2x1x7x4101
verify $repack --set problem='{m: 70, n: 77, k: 131}'
verify blockscaled_128x128 --set 'repack=[[a,b]]' --set epilogue.store=elements "${any[@]}"
verify $repack "${any[@]}" --set problem.a=i8 --set 'problem.d=[i32,bf16]'

# Rows of B sixteen apart in a tile: columns beyond a group of 1024, K shorter than what lies before
# a row, K that ends a stage but for that, infinities and NaN there, every pair of types,
# warpgroups that share a tile, B's loads before the copy of A is over and after; in several orders.
apart=gemm_fp8_16x64_sixteenths
verify $apart --shape 19x1090x515/special --shape 5x7x4 --shape 33x17x13/exact --shape 9x35x247 \
    --set 'problem.a=[e4m3,e5m2]' --set 'problem.b=[e4m3,e5m2]' --set 'problem.d=[bf16,e4m3]'
verify gemm_fp8_32x64_sixteenths "${any[@]}" --set 'dependent_launch=[prologue,weights]' \
    --set phase=6 --set tile.n=128 --set stages=4 --schedules 3
verify gemm_fp8_64x64_sixteenths "${any[@]}" --set 'tile.m=[8,72]' --set tile.k=256 --set stages=5
verify $apart --set 'promote_every=[1,3]' --set problem='{m: 70, n: 77, k: 131}'
verify $apart "${any[@]}" --set problem.a=i8 --set 'problem.d=[i32,bf16]' --schedules 3

# The last of 64 steps left out, and sums that are promoted too seldom, are noticed.
noticed 'gemm/mma/wgmma/multiply.cu.in gemm/operand/produce.cu.in' \
    's/k_tile < item.k_end;/k_tile < item.k_end - 1;/' \
    --shape 136x144x8192 $fp8 --set cluster.m=1 --set schedule=cooperative
noticed gemm/mma/wgmma/step.cu.in 's/PROMOTE_EVERY = [^;]*;/PROMOTE_EVERY = 64;/' \
    --shape 136x144x8192 gemm_fp8_promoted --set cluster.m=1 --set problem.d=fp32 --set stages=4 \
    --set promote_every=2
