#!/usr/bin/env bash
# Settings that no shipped spec has, on the emulator.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
SCHEDULES=1    # however many make test-emu asks for: these are many

# Descriptors without a swizzle in a cluster: an address has the CTA's rank in it.
verify gemm_phase5 --shape 256x256x72 --set swizzle_bits.a=0 --set swizzle_bits.b=0

# Clusters in both directions, the 32-byte swizzle of D.
verify --shape 600x392x136 gemm_phase5 \
    --set cluster.n=2 --set epilogue.store=tma --set swizzle_bits.d=5
verify --shape 600x392x136 gemm_128x128_pingpong \
    --set cluster.n=2

# CTAs of a cluster whose tiles lie beyond D: in both directions, for several items; where a tile
# begins at its edge, and two tiles in turns.
verify gemm_64x112_wide --shape 177x4224x1264
verify gemm_64x128_rows --shape 97x528x208 --shape 128x264x144

ops='[[bias, {add: other, row_period: 7}, gelu_erf, residual]]'

# Operands exchanged: every store, rows of 8 and of several, warpgroups that share a tile or take
# turns, clusters.
cat >"$TMPDIR/exchanged.yaml" <<'YAML'
kernel: gemm
exchange: true
tile: {m: 24, n: 64, k: 128}
stages: 3
warps: {consumer: {count: 4}}
YAML
exchanged=$TMPDIR/exchanged.yaml
verify "$exchanged" --shape 70x200x264 --set 'tile.m=[8,24]'
verify "$exchanged" --shape 70x77x136 --set epilogue.store=direct
verify "$exchanged" --shape 100x264x136 --set tile.m=48 --set tile.k=64 \
    --set 'epilogue.tile.m=[16,48]' --set epilogue.buffers=1 --set problem.d=fp32 \
    --set swizzle_bits.d=5
verify "$exchanged" --shape 200x520x136 --set phase=7 --set tile.m=96 --set tile.n=128 \
    --set tile.k=64 --set 'cluster.m=[1,2]' --set cluster.n=2 --set warps.consumer.count=8
verify "$exchanged" --shape 50x400x136 --set tile.m=40 --set tile.n=128 --set tile.k=64 \
    --set warps.consumer.count=8 --set "epilogue.ops=$ops"
verify "$exchanged" --shape 50x77x136 --set problem.d=fp32 --set phase=1 --set stages=1 \
    --set "epilogue.ops=$ops"

# Column-major operands: every swizzle, which spans divide a tile of 24 or 160; one operand of both
# kinds, exchanged or not, with slices for the CTAs of a cluster, by one warpgroup, by none.
columns=(--set 'layout.a=[row,column]' --set layout.b=column)
verify "$exchanged" "${columns[@]}" --shape 72x200x264 --set 'tile.m=[8,24]'
verify "$exchanged" "${columns[@]}" --shape 200x520x136 --set phase=7 --set tile.m=96 \
    --set tile.n=128 --set tile.k=64 --set cluster.m=2 --set cluster.n=2 \
    --set warps.consumer.count=8
verify gemm_phase5 --set layout.a=column --set 'layout.b=[row,column]' --shape 600x392x136 \
    --set cluster.n=2 --set 'swizzle_bits.a=[0,5]' --set swizzle_bits.b=6
verify gemm_128x160_pingpong "${columns[@]}" --shape 304x328x136
verify gemm_phase1 "${columns[@]}" --shape 200x136x136
verify gemm_phase0 "${columns[@]}" --shape 40x24x24
verify gemm_128x128_pingpong --set layout.a=column --set layout.b=column --shape 200x264x77

# Loads by threads and stores by elements: ragged in all dims, both kinds of operands, every
# swizzle, several parts of a stage, every schedule, ops beyond the last whole pair.
any=(--shape 200x263x77 --shape 7x13x17 --shape 7x13x23 --shape 70x66x34)
verify gemm_128x128_any "${any[@]}" --set 'layout.a=[row,column]' --set layout.b=column
verify gemm_128x128_any "${any[@]}" --set layout.a=column --set "epilogue.ops=$ops" --set tile.n=64
verify gemm_128x128_any "${any[@]}" --set swizzle_bits.a=5 --set swizzle_bits.b=0 --set stages=2 \
    --set tile.k=128
verify gemm_128x128_any "${any[@]}" --set phase=7 --set cluster.m=1 --set problem.d=fp32 \
    --set 'grid=[persistent,split_k]' --set warps.producer.count=4 \
    --set warps.producer.registers=104 --set tile.n=64
verify gemm_16x64_any "${any[@]}" --set layout.a=column --set 'layout.b=[row,column]' \
    --set "epilogue.ops=$ops"
verify gemm_16x64_any "${any[@]}" --set grid=cluster_k --set splits=2
verify gemm_128x128 --shape 200x263x72 --set epilogue.store=elements --set "epilogue.ops=$ops" \
    --set tile.n=64

# A kernel before that copies operands to the workspace: both, one beside TMA or with what parts of
# tiles leave there, of both kinds, exchanged, and one that begins while that one ends.
verify gemm_128x128_repack "${any[@]}" --set 'layout.a=[row,column]' --set layout.b=column \
    --set dependent_launch=prologue
verify gemm_128x128_repack --shape 200x263x72 --set 'repack=[[a],[b]]' --set tile.n=64
verify gemm_128x128_repack "${any[@]}" --set phase=6 --set grid=split_k --set splits=3 \
    --set epilogue.store=elements --set "epilogue.ops=$ops" --set tile.n=64
verify "$exchanged" "${any[@]}" --set 'repack=[[a,b]]' --set epilogue.store=direct

# Rows of B that begin anywhere, eight apart in a tile: warpgroups that share it, more rows, before
# what infinities lie, B before the copy of A is over and after.
verify gemm_32x64_eighths "${any[@]}" --set 'dependent_launch=[prologue,weights]' --set phase=6 \
    --set tile.n=128 --set stages=4
verify gemm_32x64_eighths --shape 65x70x515/special --shape 9x71x259/special --set 'tile.m=[8,72]' \
    --set tile.k=64

# Boxes of fewer rows than a tile has, without those beyond the edge: less than a box inside and all
# but one; fewer steps of K than stages, so that a ragged tile comes to stages that none has used,
# and more, so that a first item's rows are cleared under its loads; both operands or one, beside
# multicast of the other, with tiles wholly beyond; ping-pong, parts, several problems.
cut=(--shape 9x136x72 --shape 150x264x136/special --shape 270x136x1032)
verify gemm_128x128 "${cut[@]}" --set box_rows.a=8 --set box_rows.b=32 --set stages=3
verify "$exchanged" "${cut[@]}" --set box_rows.a=8 --set 'grid=[tiles,persistent,split_k]'
verify gemm_128x128_pingpong "${cut[@]}" --set cluster.m=1 --set cluster.n=1 \
    --set 'box_rows.a=[16,128]' --set box_rows.b=64
verify gemm_72x64_alone_split "${cut[@]}" --set cluster.m=2 --set box_rows.a=24
verify gemm_128x128 "${cut[@]}" --set grid=stream_k --set box_rows.a=32 --set box_rows.b=64
verify gemm_batched --set box_rows.a=32 --shape 3x200x264x136/special --shape 2x150x136x1032
verify gemm_phase5 "${cut[@]}" --set box_rows.a=32 --set swizzle_bits.a=5 --set "epilogue.ops=$ops"

# A batch of problems: every load and store, clusters, both schedules, operands of each problem and
# of all, a number of problems that the spec fixes.
batch=(--set problem.batch=dynamic --shape 3x200x264x136)
verify gemm_batched "${batch[@]}" --set 'cluster.m=[1,2]' --set cluster.n=2
verify gemm_batched "${batch[@]}" --set layout.a=column --set "epilogue.ops=$ops"
verify gemm_batched "${batch[@]}" --set epilogue.store=direct \
    --set 'epilogue.ops=[[bias,alpha,aux,beta]]' --set problem.batch=3
verify "$exchanged" "${batch[@]}" --set grid=tiles --set "epilogue.ops=$ops"
odd=(--set problem.batch=dynamic --shape 3x70x133x77)
verify gemm_128x128_any "${odd[@]}"
verify gemm_128x128_repack "${odd[@]}" --set layout.b=column
verify gemm_8x16_any "${odd[@]}" --set 'epilogue.ops=[[bias,aux,residual]]'
verify gemm_phase1 --set problem.batch=2 --shape 2x9x34x72

# Scalars: drawn by the family, 0 beside special values of what is not read then; alone, among other
# ops, for every place that has them.
scaled=(--shape 200x264x72 --shape 200x264x72/special)
verify gemm_128x128 "${scaled[@]}" --set 'epilogue.ops=[[alpha],[beta],[bias,alpha,beta,relu]]'
verify gemm_128x128_any "${scaled[@]}" --set 'epilogue.ops=[[alpha,beta]]' --set tile.n=64
verify gemm_16x64 "${scaled[@]}" --set 'epilogue.ops=[[alpha,beta],[alpha]]'
verify gemm_phase0 --shape 24x24x24/special --set 'epilogue.ops=[[alpha,beta,bias]]'

# A tile's K in parts: fewer steps than parts, parts of two lengths, each store, warpgroups that
# share a tile or take turns, clusters; in several orders, since who comes last sums.
cat >"$TMPDIR/divided.yaml" <<'YAML'
kernel: gemm
grid: split_k
tile: {m: 128, n: 64, k: 64}
stages: 3
YAML
divided=$TMPDIR/divided.yaml
verify "$divided" --shape 200x136x264 --set 'splits=[1,2,8]' --schedules "${SCHEDULES:-2}"
verify "$divided" --shape 200x264x520 --set 'cluster.m=[1,2]' --set cluster.n=2 --set splits=3 \
    --schedules "${SCHEDULES:-2}"
verify "$divided" --shape 200x264x520 --set phase=7 --set splits=3 --set "epilogue.ops=$ops" \
    --set problem.d=fp32 --set epilogue.tile.n=32 --schedules "${SCHEDULES:-2}"
verify "$exchanged" --shape 50x200x1032 --set grid=split_k --set splits=4 --set tile.n=128 \
    --set warps.consumer.count=8 --set epilogue.store=direct --schedules "${SCHEDULES:-2}"

# Parts that add up a share each: of warpgroups in turns, which wait for one of their own CTA; some
# with more to do than they can wait; more parts than have shares, than K has steps, and one alone.
scatter=(--set epilogue.store=direct --set epilogue.reduce=scatter)
verify "$divided" "${scatter[@]}" --set tile.m=64 --set schedule=pingpong --set splits=8 \
    --set warps.consumer.count=8 --shape 72x72x4096 --schedules "${SCHEDULES:-4}"
verify "$divided" "${scatter[@]}" --set 'splits=[1,2,3,7]' --shape 1300x200x520 --shape 135x70x136 \
    --schedules "${SCHEDULES:-2}"
verify "$divided" "${scatter[@]}" --set 'splits=[16,17,40]' --shape 200x136x4104
verify "$divided" "${scatter[@]}" --set tile.m=192 --set tile.n=112 --set 'cluster.m=[1,2]' \
    --set warps.consumer.count=12 --set warps.producer.registers=24 --set problem.d=fp32 \
    --set warps.consumer.registers=160 --set splits=5 --shape 390x264x712
verify "$exchanged" "${scatter[@]}" --set 'tile.m=[24,96]' --set tile.n=128 --set grid=split_k \
    --set splits=3 --shape 50x200x1032

# The steps of the tiles that are left over dealt out: less than a wave of them, several waves, with
# turns and clusters, and more workers than steps.
stream=(--set grid=stream_k --schedules "${SCHEDULES:-2}")
verify "$divided" "${stream[@]}" --shape 8x8x64 --shape 200x136x520 --shape 700x264x264
verify "$divided" "${stream[@]}" --shape 700x264x520 --set 'cluster.m=[1,2]' --set cluster.n=2
verify "$divided" "${stream[@]}" --shape 700x264x520 --set phase=7 --set 'splits=[1,8]'
verify "$exchanged" "${stream[@]}" --shape 100x504x264

# The parts in a cluster's shared memory: more CTAs than steps, several tiles one after the other,
# warpgroups that share a tile or take turns.
verify "$exchanged" --set grid=cluster_k --set 'splits=[2,4]' --shape 100x264x648 --shape 8x8x264 \
    --schedules "${SCHEDULES:-2}"
verify "$divided" --set grid=cluster_k --set splits=2 --set phase=7 --shape 300x200x520 \
    --schedules "${SCHEDULES:-2}"
verify "$exchanged" --set grid=cluster_k --set splits=3 --set tile.n=128 --set tile.k=64 \
    --set warps.consumer.count=8 --set epilogue.store=direct --shape 70x264x648 \
    --schedules "${SCHEDULES:-2}"

# The shares of a cluster's CTAs: fewer steps than CTAs, several items one after the other, shares
# of two sizes and none at all, parts that several clusters have; every store, ops before it.
shares=(--set grid=shares_k --schedules "${SCHEDULES:-2}")
verify "$exchanged" "${shares[@]}" --set 'cluster.k=[2,5]' --set epilogue.tile.m=8 \
    --set epilogue.buffers=1 --shape 100x264x648 --shape 8x8x264
verify "$exchanged" "${shares[@]}" --set cluster.k=3 --set splits=1 --set epilogue.store=direct \
    --set tile.n=128 --set tile.k=64 --set warps.consumer.count=8 --shape 70x263x648
verify "$divided" "${shares[@]}" --set cluster.k=2 --set 'splits=[1,3]' --set epilogue.tile.n=16 \
    --set epilogue.buffers=1 --set swizzle_bits.d=5 --set 'epilogue.ops=[[bias, residual]]' \
    --shape 300x200x520
verify "$divided" "${shares[@]}" --set cluster.k=3 --set splits=2 --set epilogue.store=direct \
    --set warps.consumer.count=4 --shape 200x136x264
verify "$divided" "${shares[@]}" --set 'cluster.m=[1,2]' --set cluster.n=2 --set cluster.k=2 \
    --set splits=2 --set epilogue.store=direct --shape 200x264x392

# Tiles that a cluster's CTAs do not divide evenly, and load in turns: of one box and of two, which
# other swizzles make more, in pieces of K, behind another launch, of groups that end anywhere.
verify "$divided" "${shares[@]}" --set tile.n=72 --set cluster.m=4 --set cluster.k=2 \
    --set epilogue.store=direct --shape 300x200x264
verify "$exchanged" --set tile.m=40 --set 'tile.k=[64,128]' --set stages=2 --set cluster.m=2 \
    --set cluster.n=2 --set swizzle_bits.a=6 --shape 90x200x264
verify "$exchanged" --set tile.m=40 --set cluster.n=4 --set dependent_launch=weights \
    --set problem.batch=dynamic --shape 2x90x200x264

# Staging of an odd number of eights of columns, in all or in threes: each type of D, ops and sums
# before it, shares of a tile, halves of pairs.
odd=(--set tile.n=72 --set swizzle_bits.d=0 --set epilogue.buffers=1)
verify "$divided" "${odd[@]}" --set grid=persistent --set 'epilogue.tile.n=[24,72]' \
    --set 'problem.d=[bf16,fp32]' --set "epilogue.ops=$ops" --shape 200x232x136
verify "$divided" "${odd[@]}" --set phase=7 --set grid=persistent --set epilogue.tile.n=72 \
    --set 'epilogue.ops=[[row_sums,column_sums,amax]]' --shape 200x152x72
verify "$divided" "${odd[@]}" "${shares[@]}" --set epilogue.tile.n=24 --set cluster.k=3 \
    --set cluster.m=2 --set 'splits=[1,2]' --shape 300x152x392
verify "$divided" "${odd[@]}" --set tile.n=144 --set grid=persistent --set epilogue.tile.n=72 \
    --set 'epilogue.ops=[[swiglu]]' --shape 200x304x136

# Hints for the L2 with every kind of load, and groups of tiles walked back and forth.
hints=(--set cache_hint.a=evict_last --set cache_hint.b=evict_first --set raster.snake=true)
verify gemm_128x128_pingpong "${hints[@]}" --set raster.group=1 --set 'tile.k=[64,128]' \
    --set stages=3 --shape 700x520x136
verify "$exchanged" "${hints[@]}" --set raster.along=n --set raster.group=2 --shape 100x504x264

# A CTA a tile, with producer warps: a ring that turns many times.
verify "$exchanged" --set grid=tiles --set stages=2 --shape 20x200x1032

# Kernels that overlap the launch before them, with every walk; alone there is nothing to wait for.
verify "$exchanged" --set 'dependent_launch=[prologue,weights]' --set prefetch_maps=true \
    --set 'grid=[tiles,persistent,stream_k]' --shape 70x200x264 --shape 8x8x8
verify gemm_128x128_pingpong --set dependent_launch=weights --set stages=2 --shape 520x520x264

# Warps that stream rows of B: rings in turns, ragged edges of all dims, every op and type.
cat >"$TMPDIR/stream.yaml" <<'YAML'
kernel: gemm
math: mma
tile: {m: 8, n: 16, k: 64}
stages: 2
warps: {consumer: {count: 4}}
YAML
streaming=$TMPDIR/stream.yaml
verify "$streaming" --set 'stages=[1,3]' --shape 1x40x2056 --shape 9x33x72 --shape 1x1x8
verify "$streaming" --set tile.m=24 --set tile.n=32 --set problem.a=fp16 --set problem.d=fp32 \
    --set cache_hint.b=evict_first --set dependent_launch=weights --shape 30x77x520 \
    --set "epilogue.ops=$ops"

# Warps whose lanes load registers: all widths, every op.
registers=(--set load=registers --set 'tile.k=[64,256]' --set stages=1)
verify "$streaming" "${registers[@]}" --set 'tile.m=[8,16]' --set 'tile.n=[4,8]' \
    --shape 1x41x2056 --shape 17x33x72
verify "$streaming" "${registers[@]}" --set tile.m=32 --set problem.batch=dynamic \
    --set dependent_launch=weights --set problem.a=fp16 --set "epilogue.ops=$ops" \
    --shape 2x37x43x1032
# Clusters that divide K, smaller loads; either operand's rows are the instruction's.
verify gemm_8x8 --set tile.n=4 --set 'splits=[2,8]' --set warps.consumer.count=4 \
    --set "epilogue.ops=$ops" --shape 9x20x1000 --shape 1x8x8 --schedules "${SCHEDULES:-2}"
verify gemm_16x8 --set 'splits=[1,3]' --set warps.consumer.count=10 --set 'load_bytes=[4,8]' \
    --set problem.d=e4m3 --shape 9x20x1000

# Fewer warps than make a warpgroup: tiles of K in turns, ends of K, whole tiles that have none.
verify gemm_8x8 --set 'warps.consumer.count=[1,2]' --set 'tile.k=[64,128]' --set 'splits=[1,2]' \
    --set "epilogue.ops=$ops" --shape 9x20x200 --shape 1x8x8
verify gemm_8x16 --set 'warps.consumer.count=[1,2]' --shape 9x20x200

# Columns whose rows begin alike: every place of either operand's rows, rows of ends alone, fewer
# columns than are apart.
alike=(--set alike=true --set warps.consumer.count=4)
verify gemm_8x8 "${alike[@]}"
verify gemm_8x8 "${alike[@]}" --set 'tile.k=[64,128]' --shape 9x70x29 --shape 9x70x47 \
    --shape 9x70x130 --shape 3x5x2 --shape 1x13x1101
verify gemm_16x8 "${alike[@]}" --set tile.m=16 --set 'tile.n=[8,20]' --set 'splits=[1,3]' \
    --set "epilogue.ops=$ops" --shape 19x75x1029 --schedules "${SCHEDULES:-2}"
verify gemm_8x8 "${alike[@]}" --set problem.batch=dynamic --set problem.a=fp16 --shape 3x5x21x203

# Low tiles: loads of two rows at once where four do not divide the tile into whole pairs of loads.
verify gemm_8x8 --set 'tile.m=[4,12]' --shape 13x20x1000
low=(gemm_8x8 --set warps.consumer.count=4)
verify "${low[@]}" --set 'tile.m=[2,4]' --set tile.n=12 --set 'tile.k=[128,256]' \
    --set 'splits=[1,2]' --shape 5x41x1032 --shape 1x1x8
verify "${low[@]}" --set tile.m=6 --set 'tile.n=[4,8]' --set "epilogue.ops=$ops" \
    --set problem.a=fp16 --shape 7x13x2200
verify "${low[@]}" --set alike=true --set tile.m=2 --set 'tile.n=[4,8]' --shape 3x70x29 \
    --shape 3x70x1101 --shape 1x3x2

# Warps that stream rows that begin anywhere: ends of operands that come by element, in every stage.
verify "$streaming" --set load=shifted "${any[@]}" --set 'stages=[1,3]' --shape 1x1x1 \
    --shape 9x33x2051
verify "$streaming" --set load=shifted --set tile.m=24 --set tile.n=32 --set problem.a=fp16 \
    --set cache_hint.b=evict_first --shape 30x77x519 --set "epilogue.ops=$ops"

# Sizes that the spec fixes: constants in place of parameters, in every template.
for fixed in gemm_phase0:m:24,n:40,k:24 gemm_phase1:m:24,n:40,k:72 \
    gemm_64x64_tiles:m:40,n:72,k:136 gemm_128x128_repack:m:70,n:77,k:131 \
    gemm_8x16_any:m:3,n:33,k:77 quantise_phase0:m:3,k:300 quantise_phase2:m:3,k:304 \
    quantise_tensor:m:3,k:304 \
    resample_phase0:b:2,s:9,t:11,d:40 resample_persistent:b:2,s:9,t:11,d:40 \
    deform_attn_phase0:b:2,q:37 deform_attn_phase5:b:2,q:37 deform_attn_phase8:b:2,q:37 \
    deform_attn_phase10:b:1,q:37; do
    sets=${fixed#*:}
    verify "${fixed%%:*}" --set "problem={${sets//:/: }}"
done

# Scales that lie the other way round, and what shares one, of halves and of gated pairs.
verify quantise_phase2 --set order=column --set 'swiglu=[false,true]' --shape 37x208
verify quantise_phase0 --set order=column --shape 3x200
verify quantise_phase2 --set 'scales=[row,128x128,tensor]' --set 'swiglu=[false,true]' \
    --set problem.dtype=fp16 --shape 131x272
verify quantise_row --set threads=32 --set unroll=1 --shape 5x1304

# Vectors narrower than 16 bytes: rows that they cut in all ways.
verify deform_attn_phase0 --set 'vector=[2,4,8]' \
    --set problem.heads=3 --set problem.channels=24 --set 'problem.levels=[[3,1],[5,7]]' \
    --set problem.points=3 --set 'value_layout=[given,paired]'
verify deform_attn_phase0 --set 'vector=[1,2]' \
    --set problem.dtype=fp32 --set problem.padded=false --set 'problem.levels=[[3,1],[5,7]]'

# Queries that are the pixels, in strips of which the last is narrower.
verify deform_attn_padded --shape 2x301x301 --set 'problem.levels=[[3,51],[2,7]]'

# Records of two neighbours, all in global memory, for lanes that do not take turns.
verify deform_attn_padded --shape 1x301x9 --set 'problem.levels=[[3,51],[2,7]]' \
    --set value_layout=paired --set lanes=2 --set resident_levels=0

# Values of 8 bits: pixels of a quarter of 128 bytes; of a half, of several heads, whose corners are
# read in a pixel's or a record's order; sums in fp32, other tensors bf16.
bytes=(deform_attn_padded_e4m3 --set resident_levels=2 --set 'problem.value=[e4m3,e5m2]'
    --set math=packed)
verify "${bytes[@]}" --shape 2x310x77 --set 'problem.levels=[[3,52],[2,8]]'
verify "${bytes[@]}" --shape 1x310x77 --set 'problem.levels=[[3,52],[2,8]]' --set math=fp32 \
    --set problem.dtype=bf16 --set resident_levels=1
verify "${bytes[@]}" --shape 1x166x33 --set 'problem.levels=[[3,50],[2,8]]' --set problem.heads=3 \
    --set problem.channels=64 --set problem.padded=false --set 'value_layout=[given,paired]' \
    --set problem.value=e4m3

# A point on a few small levels, its column's fraction a half: a pixel of nearly no weight beside
# the border's zeros, with nothing else to be added to.
SEED=$((${SEED:-1} + 1)) verify deform_attn_phase10 --shape 6x254x1029 --set problem.value=e4m3 \
    --set 'problem.levels=[[9,14],[5,7],[1,3]]' --set problem.points=1

# The same by mma.sync: levels of one column and of several heads, half as many points as lanes
# locate at once, in shared memory all, some and none; loaded early; drawn from a counter.
mma=(deform_attn_padded_e4m3 --set 'problem.value=[e4m3,e5m2]')
verify "${mma[@]}" --shape 2x310x301 --set 'problem.levels=[[3,52],[2,8]]' \
    --set resident_levels=2 --set 'prefetch=[none,ldcg]' --set unroll=8
verify "${mma[@]}" --shape 1x310x310 --set 'problem.levels=[[3,52],[2,8]]' \
    --set resident_levels=0 --set problem.points=4 --set problem.value=e5m2 --set unroll=2
verify "${mma[@]}" --shape 1x171x33 --set 'problem.levels=[[3,50],[2,8],[5,1]]' \
    --set problem.value=e4m3 --set problem.heads=3 --set problem.padded=false \
    --set resident_levels=1 --set query_order=raster
verify deform_attn_phase8 --shape 1x310x37 --set 'problem.levels=[[3,52],[2,8]]' \
    --set 'schedule=[static,dynamic]' --set math=mma --set problem.value=e4m3

# A NaN or an infinity in value, which mma.sync spreads to a neighbour that is then summed again: in
# global and in shared memory, of several batches and heads.
verify "${mma[@]}" --shape 2x406x77/special --set 'problem.levels=[[4,40],[5,20]]' \
    --set 'resident_levels=[0,1]'
verify "${mma[@]}" --shape 1x403x33/special --set 'problem.levels=[[7,50],[6,8],[5,1]]' \
    --set problem.heads=3 --set problem.padded=false --set resident_levels=2

# The next queries' shares brought by cp.async, in a persistent loop that turns.
verify deform_attn_padded --shape 1x20522x1541 --set prefetch=cp_async
# Another mapping than the rung's, whose math is then none of its own.
verify deform_attn_phase10 --set 'mapping=[plain,roles]' --shape 1x20522x9

# Copies in flight of several stages, more than there are agents for each.
verify deform_attn_cp_async --set stages=2

# One source time more than shared memory holds.
verify resample_phase2 --shape 1x1025x5x8
# no barrier behind times in shared memory, for there are none: the window needs its own
verify resample_phase3 --shape 2x3x9x8 --set cached_times=0
