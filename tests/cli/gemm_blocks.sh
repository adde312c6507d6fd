#!/usr/bin/env bash
# Blocks of 8-bit operands that have scales, against the reference, on the emulator: both orders and
# types of scales, every way that threads come to them, through every schedule; and that a scale
# that is another's is noticed.
set -eu
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
export TMAGEN_CACHE=$KERNELS

calls=0
# verify SPEC ARGUMENT... - all right, on one schedule; one in five under sanitizers.
verify() {
    calls=$((calls + 1))
    [ -z "${SANITIZED:-}" ] || [ $((calls % 5)) = 1 ] || return 0
    "$TMAGEN" verify --device emu --schedules 1 -o "$TMPDIR/out" "$@" >"$TMPDIR/table" 2>&1 &&
        return
    cat "$TMPDIR/table"
    exit 1
}

few='--set cluster.m=1 --set stages=3'
# shellcheck disable=SC2086
{
    verify blockscaled_128x128 $few --set 'scales.order.a=[row,column]' \
        --set 'scales.order.b=[row,column]' --set 'scales.type=[fp32,ue8m0]' \
        --set 'scales.b=[128x128,1x128]' --shape 136x144x400/special
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
    verify blockscaled_64x64_tiles --set 'epilogue.ops=[geglu]' --set tile.n=128 --set stages=4 \
        --set 'scales.b=[128x128,1x128]' --shape 72x640x400/special
}

# wrong WHAT FILE EDIT - with FILE of the templates edited so, something is not right.
wrong() {
    mkdir -p "$TMPDIR/templates/gemm/mma/wgmma"
    sed "$3" "templates/gemm/mma/wgmma/$2.cu.in" >"$TMPDIR/templates/gemm/mma/wgmma/$2.cu.in"
    cmp -s "templates/gemm/mma/wgmma/$2.cu.in" "$TMPDIR/templates/gemm/mma/wgmma/$2.cu.in" && {
        echo "no edit for $1"
        exit 1
    }
    local status=0
    "$TMAGEN" verify --templates "$TMPDIR/templates" --device emu:1 --schedules 1 \
        -o "$TMPDIR/out" --shape 264x272x400 "${@:4}" >"$TMPDIR/table" 2>&1 || status=$?
    rm "$TMPDIR/templates/gemm/mma/wgmma/$2.cu.in"
    [ $status = 1 ] && grep -q -e WRONG -e 'race' "$TMPDIR/table" && return
    cat "$TMPDIR/table"
    echo "$1 is not noticed"
    exit 1
}

# shellcheck disable=SC2016
{
    wrong "a step's scales for the next" multiply_scaled 's/min(k_tile + 1, /min(k_tile, /' \
        blockscaled_128x128
    wrong "a row's scale for the one 8 below" scales 's/(half)")/(0)")/' \
        blockscaled_128x128
    wrong "one scale of B for two blocks" scales 's/("span \* SPAN_" .. N)/("0")/' \
        blockscaled_128x128 --set tile.n=192 --set epilogue.buffers=1 --set stages=3
    wrong "a row's scale for the one beside it" scales 's/= two\[1\]/= two[0]/' \
        blockscaled_1x128
    wrong "a stage that is given back before its scales are read" multiply_scaled \
        's/__syncwarp();//' blockscaled_128x128_column
}
