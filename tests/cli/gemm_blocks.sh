#!/usr/bin/env bash
# Blocks of 8-bit operands that have scales, against the reference, on the emulator: both orders and
# types of scales, every way that threads come to them, through every schedule; and that a scale
# that is another's is noticed.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh

few='--set cluster.m=1 --set stages=3'
# shellcheck disable=SC2086
{
    for of in 'a=row,b=128x128' 'a=column,b=1x128'; do    # the others are shipped, or below
        verify blockscaled_128x128 $few --set "scales.order.${of%,*}" --set "scales.${of#*,}" \
            --set 'scales.order.b=[row,column]' --set 'scales.type=[fp32,ue8m0]' \
            --shape 136x144x400/special
    done
    verify blockscaled_128x128_column $few --set 'scales.b=[128x128,1x128]' \
        --set 'exchange=[false,true]' --shape 136x144x400/special
    verify blockscaled_128x128 $few --set 'exchange=[false,true]' \
        --set 'grid=[tiles,split_k,stream_k]' --shape 136x144x912/special
    verify blockscaled_128x128 $few --set grid=cluster_k --set epilogue.buffers=1 \
        --set 'exchange=[false,true]' --shape 136x144x912/exact
    verify blockscaled_128x128_column --set schedule=pingpong --set tile.m=64 --set stages=2 \
        --set 'problem.d=[bf16,fp32]' --shape 136x400x400/exact
    verify blockscaled_128x128 $few --set 'tile.n=[96,136,160]' --set epilogue.store=elements \
        --shape 136x333x400
    verify blockscaled_128x128 $few --set 'epilogue.ops=[[bias, gelu, {scale_m: s}, residual]]' \
        --set 'problem.d=[e4m3,fp16]' --shape 136x144x400
    verify blockscaled_128x128 $few --set 'epilogue.ops=[swiglu]' --set epilogue.tile.n=64 \
        --set epilogue.buffers=1 --set 'scales.b=[128x128,1x128]' --shape 136x512x400
    verify blockscaled_16x64_tiles --set tile='{m: 64, n: 128}' \
        --set 'epilogue.ops=[geglu]' --set stages=4 \
        --set 'scales.b=[128x128,1x128]' --shape 72x640x400/special
}

# What stands wrong in a template is noticed: a step's scales for the next, a row's for the one 8
# below, one scale of B for two blocks, a row's scale for the one beside it, a stage that is given
# back before its scales are read.
wgmma=gemm/mma/wgmma shape='--shape 264x272x400'
# shellcheck disable=SC2016,SC2086
{
    noticed $wgmma/multiply_scaled.cu.in 's/min(k_tile + 1, /min(k_tile, /' $shape \
        blockscaled_128x128
    noticed $wgmma/scales.cu.in 's/(half)")/(0)")/' $shape blockscaled_128x128
    noticed $wgmma/scales.cu.in 's/("span \* SPAN_" .. N)/("0")/' $shape \
        blockscaled_128x128 --set tile.n=192 --set epilogue.buffers=1 --set stages=3
    noticed $wgmma/scales.cu.in 's/= two\[1\]/= two[0]/' $shape blockscaled_1x128
    noticed $wgmma/multiply_scaled.cu.in 's/__syncwarp();//' $shape blockscaled_128x128_column
}
