#!/usr/bin/env bash
# Groups of problems in one launch, whose sizes the device knows: every store and schedule,
# clusters, operands of each group's own, sizes that cannot be; and what is planted is noticed.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
: "${SCHEDULES:=2}"

shape=5x330x264x136
right --shape "$shape" --shape "$shape"/bad gemm_grouped
right --shape 40x70x136x72 --shape 40x70x136x72/bad --shape 40x70x136x72/one gemm_masked_32x64
[ -z "${SANITIZED:-}" ] || exit 0    # our C, which all kernels run alike

# Each schedule with each kind of store, cooperative and in turns, in clusters, exchanged.
both='grid=[grouped,masked]'
right --shape "$shape" --set "$both" gemm_128x256
right --shape "$shape" --set "$both" --set cluster.m=2 --set cluster.n=2 \
    --set stages=4 gemm_grouped
right --shape "$shape" --set "$both" --set 'epilogue.store=[direct,elements]' --set tile.n=64 \
    gemm_128x192_direct
right --shape 5x70x200x136 --set "$both" --set 'epilogue.store=[tma,direct]' gemm_masked_16x64
right --shape "$shape" --set "$both" --set problem.d=fp32 --set epilogue.buffers=1 gemm_grouped
right --shape 5x330x264x144 --set problem.a=e4m3 --set tile.k=128 gemm_grouped
right --shape "$shape" --set layout.b=column --set grid=grouped gemm_grouped
right --shape 5x328x264x136 --set layout.b=column --set layout.a=column \
    --set grid=masked gemm_grouped
right --shape "$shape" --set problem.groups=5 --set dependent_launch=prologue gemm_grouped

# Scales of blocks: of rows that begin anywhere, by threads and by boxes, of bytes, of pairs.
blocks=5x330x264x272
right --shape $blocks --shape $blocks/special --shape $blocks/bad blockscaled_grouped
right --shape 5x332x264x144 --set "$both" --set scales.order.a=column --set 'scales.b=[1x128]' \
    --set scales.order.b=column --set scales.load=tma --set cluster.n=2 blockscaled_grouped
right --shape 5x70x384x272 --set "$both" --set scales.type=ue8m0 --set tile.n=128 --set stages=8 \
    --set warps.consumer.count=4 --set 'epilogue.ops=[[swiglu]]' \
    blockscaled_masked_16x128

# Parts of K: of any length, none too; both ways of sharing, clusters, fp32 beside what was there.
part=5x136x264x330
right --shape $part --shape $part/special --shape $part/bad gemm_grouped_k
right --shape $part --set 'cluster.m=[1,2]' --set cluster.n=2 --set stages=3 gemm_grouped_k
right --shape $part --set grid=grouped_k --set layout.a=column --set layout.b=column gemm_128x256
right --shape $part --set problem.d=fp32 --set epilogue.buffers=1 \
    --set 'epilogue.ops=[[alpha,beta]]' gemm_grouped_k
right --shape $part --set problem.groups=5 --set problem.k=330 --set dependent_launch=prologue \
    --set epilogue.store=tma gemm_grouped_k

# Problems that share nothing: both ways of sharing, exchanged, clusters, other types, each thing
# that cannot be.
array=8x4096x4096x4096
right --shape $array --shape $array/special --shape 40x1x1x1 --shape 40x4096x4096x8192 gemm_array
right --shape $array/bad --shape $array/edge --shape 40x4096x4096x8192/edge --seed 1 gemm_array
right --shape $array --set grid=array --set prefetch_maps=false gemm_masked_16x64
right --shape $array --set grid=array --set most_groups=32 gemm_128x256
right --shape $array --set problem.a=e4m3 --set tile.k=128 --set problem.d=fp32 \
    --set epilogue.buffers=1 gemm_array
right --shape $array --set 'cluster.m=[1,2]' --set cluster.n=2 --set stages=4 \
    --set 'epilogue.ops=[[gelu_erf,{clamp: [-1,4]}]]' gemm_array

# Ops: a bias for each group, operands of rows, what is written beside D, pairs of columns.
right --shape "$shape" --shape "$shape"/rest gemm_grouped \
    --set 'epilogue.ops=[[bias,bias_m,residual,aux,{scale_n: w}]]'
right --shape "$shape" --set grid=masked gemm_grouped \
    --set 'epilogue.ops=[[bias,bias_m,residual,aux,{scale_m: w}]]'
right --shape 5x50x264x136 --set "$both" \
    --set 'epilogue.ops=[[bias,residual,aux]]' gemm_masked_16x64
right --shape 5x330x272x136 --set "$both" \
    --set 'epilogue.ops=[[bias,swiglu,residual]]' gemm_grouped_swiglu

right --shape "$shape" --set "$both" --set 'epilogue.ops=[[bias,residual]]' \
    --set epilogue.read.row=ahead --set stages=4 gemm_grouped

# wrong FILE EDIT ARGUMENT... - what is planted in FILE of gemm is noticed, and soon.
wrong() {
    noticed "gemm/$1" "$2" --max-steps 1000000 "${@:3}"    # sound ones take a third at most
}
bad=(--shape 40x70x136x72/bad)
wrong epilogue/store_tma.cu.in 's/row + STORE_M > end/row > end/' --shape "$shape" gemm_grouped
wrong epilogue/drain_rows.cu.in 's/first_row + row < end && //' --shape "$shape" gemm_grouped
wrong epilogue/store_tma.cu.in '/an empty one/d' --shape "$shape" gemm_grouped
wrong schedule/groups.cu.in 's/begin = group->end;//' --shape "$shape" gemm_grouped
wrong schedule/list_groups.cu.in 's/before = __shfl.*/before = 0;/' \
    "${bad[@]}" --seed 28 gemm_grouped
wrong schedule/list_groups.cu.in 's/ || end\[i\] > [^)]*//' "${bad[@]}" --seed 1 gemm_grouped
wrong schedule/list_groups.cu.in 's/end\[i\] < begin ||//' "${bad[@]}" --seed 2 gemm_grouped
wrong schedule/list_groups.cu.in 's/return wrong == 0 ? count : 0/return count/' \
    "${bad[@]}" gemm_masked_16x64
for of in a b; do    # the scales of the first group for all
    wrong mma/wgmma/scales.cu.in "s/scales.problem, x, scales.problem, /x == '$of' and 0 or &/" \
        --shape 5x70x264x272 blockscaled_masked_16x128
done
wrong operand/load.cu.in 's/", item." .. scales.problem/", 0"/' --shape 5x132x264x144 \
    --set scales.b=1x128 --set scales.order.b=column --set scales.load=tma blockscaled_grouped
wrong schedule/grouped_k.cu.in 's/const int first = steps == 0/const int first = 0/' \
    --shape 8x136x264x20 --seed 1 gemm_grouped_k
wrong operand/group_maps.cu.in 's/tensormap_replace_global_dim<1>(to, rows);//' \
    --shape $part gemm_grouped_k
wrong epilogue/epilogue.lua 's/own = own or operand.problem/own = own/' --shape "$shape" \
    --set 'epilogue.ops=[[bias]]' gemm_grouped
array_wrong() {
    wrong operand/array_maps.cu.in "$2" --shape "$array/${3:-bad}" --seed "$1" gemm_array
}
array_wrong 4 's/size >= 0 && //'
array_wrong 2 's/ && size <= MOST_SIZE//'
array_wrong 6 's/rows - 1 <= .*stride;/true;/; s/columns <= room/true/'
array_wrong 8 's/before >= 0 && //'
array_wrong 11 's/before % 16 == 0 && //'
array_wrong 1 's/stride % PIECE == 0 && //'
array_wrong 7 's/ && stride <= all//'
# of D whole pieces of 16 bytes are stored
array_wrong 49 's/return problem.n % .* == 0 &&/return true \&\&/'
# what can be is not refused
array_wrong 2 's/rows - 1 <= (room/rows <= (room/' edge
array_wrong 1 's/problem.k == 0 ||//' edge

# Its reference as CUDA, which GPUs run: a file of its own is not in tmagen, and there is no C
# compiler. Inlined everywhere it was 4.5 MB of PTX, of which ptxas made nothing in three minutes.
mkdir -p "$TMPDIR/own/gemm" "$TMPDIR/kept"
sed '1i // of a folder of its own' templates/gemm/reference.c >"$TMPDIR/own/gemm/reference.c"
TMAGEN_CACHE=$TMPDIR/kept TMAGEN_CC=/nowhere/cc right --templates "$TMPDIR/own" \
    --shape 3x24x72x80 blockscaled_masked_16x128
[ -n "$(find "$TMPDIR/kept" -type f -size +150k)" ] || { echo "no reference was compiled"; exit 1; }
[ -z "$(find "$TMPDIR/kept" -type f -size +900k)" ] ||
    { echo "the reference as CUDA is too large for ptxas"; exit 1; }
