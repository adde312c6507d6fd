#!/usr/bin/env bash
# The ways in which operands of gemm's ops are read ahead, on the emulator: every staging that they
# go through, schedules, edges of D inside a box, several orders of warps and copies.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
: "${SCHEDULES:=2}"

# verify SPEC CHAINS SETTING... - each of CHAINS, a list of lists, as epilogue.ops of SPEC.
verify() {
    ! due || right "$1" --set "epilogue.ops=$2" "${@:3}"
}

ahead='epilogue.read.row=ahead' matrix='epilogue.read.matrix'
blocked='epilogue.read={matrix: ldg, layout: blocked}'
plain='[[bias, residual], [{scale_n: sn}, bias, gelu, residual, {add: other, row_period: 7}, amax]]'
turned='[[{add: combined, row_period: 196}], [relu, {add: combined, row_period: 3}, bias]]'
edges=(--shape 200x264x136 --shape 640x392x136)

# Warpgroups that take turns and such that share a tile; a buffer for each part of a tile, for two
# parts, for all in turn.
verify gemm_128x128_pingpong "$plain" --shape 200x264x72 --shape 200x264x72/special --set "$ahead" \
    --set "$matrix=[cp_async,tma]" --set 'epilogue.buffers=[1,2]'
verify gemm_128x128_pingpong '[[residual, silu]]' "${edges[@]}" --set "$matrix=[cp_async,tma]" \
    --set epilogue.buffers=4 --set stages=4 --set cluster.n=2
verify gemm_256x128 "$plain" "${edges[@]}" --set "$ahead" --set "$matrix=[cp_async,tma]"

# Rows that begin anew, by threads; the order in which threads hold 64 columns.
verify gemm_128x128_pingpong "$turned" "${edges[@]}" --set "$matrix=cp_async"
verify gemm_128x128_pingpong "$turned" "${edges[@]}" --set "$matrix=tma" --set stages=4 \
    --set epilogue.read.layout=wrapped --set 'epilogue.buffers=[2,4]'
verify gemm_128x128_pingpong '[[{add: combined, row_period: 128}]]' --shape 300x264x72 \
    --set "$matrix=tma"
verify gemm_128x128_pingpong "$turned" --shape 200x320x72 --shape 640x384x136 \
    --set "$blocked" --set 'epilogue.read.hint=[evict_first,evict_last]'
verify gemm_fp8_128x192_pingpong '[[{add: combined, row_period: 7}, bias]]' --shape 200x320x272 \
    --set "$blocked" --set "$ahead"
verify gemm_256x128 '[[residual]]' --shape 300x320x72 --set "$blocked" \
    --set epilogue.tile.n=128 --set epilogue.buffers=1 --set swizzle_bits.d=7 --set stages=3

# Tiles of a few rows of many periods: the last of them, in a cluster's half too, has fewer.
apart='[[{add: combined, row_period: 24}], [relu, {add: combined, row_period: 8}, bias]]'
verify gemm_128x128_pingpong "$apart" --shape 216x264x72 --shape 1944x136x136/special \
    --set 'tile.period_rows=[1,4,8]' --set 'cluster.m=[1,2]' --set cluster.n=1 --set stages=4
verify gemm_fp8_128x192_pingpong '[[{add: combined, row_period: 6}, bias]]' --shape 1278x200x272 \
    --set tile.period_rows=2 --set 'epilogue.packed=true' --set "$ahead"
verify gemm_128x128_fp16 '[[{add: combined, row_period: 12}, gelu]]' --shape 600x328x72 \
    --set tile.period_rows=4 --set cluster.n=1 --set stages=4 --set schedule=cooperative \
    --set warps.consumer.count=4 --set 'epilogue.tile.n=[32,128]' --set epilogue.buffers=1

# Boxes narrower than a buffer and narrower swizzles, more columns than threads, hints, other types.
verify gemm_128x128_pingpong '[[residual]]' --shape 200x264x72 --set "$matrix=[cp_async,tma]" \
    --set epilogue.tile.n=64 --set 'swizzle_bits.d=[0,5,6]' --set epilogue.read.hint=evict_first
verify gemm_128x192_pingpong "$plain" --shape 200x392x72 --set "$ahead" --set "$matrix=tma"
verify gemm_128x128_fp16 "$plain" --shape 200x264x72 --set phase=6 --set "$ahead" \
    --set "$matrix=tma"
verify gemm_128x128_fp32 '[[bias, {scale_n: sn}, relu]]' --shape 200x264x72 --set "$ahead" \
    --set epilogue.store=tma

# Pairs of bf16 in place of fp32: each op that knows them, a matrix by each way.
packed='[[bias, relu, residual, gelu], [{add: other, row_period: 128}, bias]]'
verify gemm_128x128_pingpong "$packed" --shape 200x264x72/special --shape 200x264x72 \
    --set "$ahead" --set "$matrix=[cp_async,tma]" --set epilogue.packed=true
verify gemm_256x128 '[[{add: other, row_period: 3}, gelu, bias]]' --shape 300x320x72 \
    --set "$ahead" --set "$blocked" --set epilogue.packed=true

# Rows read ahead where the tiles' K is in parts, and where a CTA has one tile.
verify gemm_128x128 '[[bias, gelu]]' --shape 200x264x264 --set "$ahead" --set epilogue.store=tma \
    --set 'grid=[split_k,stream_k,tiles]'

# Halves are exact: the same bits as without.
verify gemm_128x128_pingpong '[[bias, gelu], [relu, {scale_n: sn}, bias, gelu_erf, residual]]' \
    --shape 200x264x72 --shape 200x264x72/special --set "$ahead"
