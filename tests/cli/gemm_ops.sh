#!/usr/bin/env bash
# Every op of gemm's epilogue against the reference, on the emulator: alone, in chains, and through
# every way that D is stored. A new op of templates/gemm/epilogue/ops.lua has its place in `single`.
set -eu
# shellcheck source=tests/kernels.sh
. tests/kernels.sh

# verify SPEC CHAINS SETTING... - each of CHAINS, a list of lists, as epilogue.ops of SPEC.
verify() {
    ! due || right --shape 136x136x72 "$1" --set "epilogue.ops=$2" "${@:3}"
}

single='[[bias], [bias_m], [residual], [{add: combined, row_period: 7}], [relu], [gelu], [gelu_erf],
    [silu], [{clamp: [-0.7, 1.1]}], [{softcap: 3.3}], [scale_a], [scale_b], [scale_d],
    [{scale: one}], [{scale_m: rows}], [{scale_n: columns}]]'
# What is written out for each of a tile's columns costs its width twice in the compiler's time.
narrow=(--set tile.n=64)
chain='[[bias, relu, residual], [{add: combined, row_period: 7}, gelu, bias],
    [residual, {add: two, row_period: 3}],
    [scale_a, {scale_n: sn}, bias, {scale_m: sm}, bias_m, silu, {clamp: [0, 9]}, scale_d]]'
verify gemm_phase0 "$single" --shape 40x40x72/special    # what is no number stays so
verify gemm_128x128_pingpong "$chain"
verify gemm_128x192_direct "$chain" "${narrow[@]}"
verify gemm_128x128_fp32 "$chain" "${narrow[@]}"
verify gemm_64x64 "$chain" --set swizzle_bits.d=5
verify gemm_phase1 "$chain" --set problem.d=fp32 "${narrow[@]}"
verify gemm_128x128_any "$chain" --shape 131x133x72 "${narrow[@]}"
verify gemm_16x64 "$chain" --shape 37x136x72
verify gemm_8x16 "$chain" --shape 7x40x136
# a number times the sums, which the compiler would have before they are there
verify gemm_16x64_tiles '[[{softcap: 3.3}]]' --shape 37x136x72
verify gemm_16x64_tiles '[[{softcap: 3.3}]]' --shape 37x136x80 --set problem.a=i8 \
    --set problem.d=bf16
# a buffer of two blocks
verify gemm_128x128_pingpong '[[residual]]' --set epilogue.tile.m=128 --set epilogue.buffers=1

# Two values make one: every store, both layouts of B, a slice of a half for each CTA of a cluster,
# whole warpgroups and shared ones, exchanged too, loads that begin early; edges of both halves.
cat >"$TMPDIR/few.yaml" <<'YAML'
kernel: gemm
exchange: true
tile: {m: 24, n: 256, k: 64}
stages: 3
YAML
gated='[[bias, {scale_n: sn}, residual, swiglu, {scale_m: sm}, {add: two, row_period: 3}]]'
verify gemm_128x128_pingpong '[[swiglu], [geglu], [geglu_erf]]' --shape 200x272x72 \
    --shape 264x144x72/special --seed 374119314    # an infinity times what rounds to 0
verify gemm_128x128 '[[scale_a, {scale_n: sn}, bias, {clamp: [0, 9]}, scale_d]]' \
    --shape 136x264x72/special --seed 48576508     # an infinity that an op bounds
verify gemm_128x128_pingpong "$gated" --shape 600x528x136 --set 'cluster.m=[1,2]' --set cluster.n=2
verify gemm_phase1 "$gated" --shape 131x276x72
verify gemm_128x128_b_column "$gated" --shape 200x272x136
verify gemm_128x128 "$gated" --shape 131x266x72 --set epilogue.store=elements \
    --set dependent_launch=weights --set grid=stream_k "${narrow[@]}"
verify "$TMPDIR/few.yaml" "$gated" --shape 70x544x136 --set 'cluster.m=[1,2]'
verify "$TMPDIR/few.yaml" "$gated" --shape 70x402x136 --set epilogue.store=direct

# What it has come to is written too: of both values, of one; every store and kernel.
kept='[[bias, aux, gelu], [aux, {scale_n: sn}]]'
verify gemm_128x128_pingpong '[[bias, aux, swiglu], [swiglu, aux, relu]]' --shape 200x272x72
verify gemm_128x128 "$kept" --shape 131x133x72 --set epilogue.store=elements "${narrow[@]}"
verify "$TMPDIR/few.yaml" '[[aux, swiglu]]' --shape 70x402x136 --set epilogue.store=direct
verify gemm_16x64 "$kept" --shape 37x136x72
verify gemm_8x16 "$kept" --shape 7x40x136
verify gemm_phase0 "$kept" --shape 40x40x72/special

# The largest magnitude of all: of both of a pair, of one; parts of K, half-empty clusters, edges
# inside a pair, results of a whole launch before it.
verify gemm_128x128_pingpong '[[{clamp: [1, 2]}, amax], [amax, swiglu], [swiglu, amax]]' \
    --shape 200x272x72 --shape 264x144x72/special --set cluster.n=2
verify gemm_128x128 '[[bias, amax, scale_d]]' --shape 131x133x136 --set epilogue.store=elements \
    --set 'grid=[stream_k,split_k]' "${narrow[@]}"
verify "$TMPDIR/few.yaml" '[[amax, swiglu, aux]]' --shape 70x402x136 --set epilogue.store=direct
verify gemm_16x64 '[[amax]]' --shape 37x136x200 --set 'grid=[persistent,cluster_k]'
verify gemm_128x192_direct '[[amax]]' --shape 131x136x72 "${narrow[@]}"
verify gemm_phase1 '[[{scale: one}, amax]]' --shape 131x136x72

# Sums of rows and of columns: every store, tiles beside each other and below, edges inside a pair,
# half-empty clusters, warpgroups that share a tile or take turns, parts of K, no numbers in them.
sums='[[bias, row_sums, relu, column_sums]]'
verify gemm_128x128_pingpong "$sums" --shape 300x392x72 --shape 264x144x72/special \
    --shape 640x520x72/exact --set cluster.n=2 --schedules 2
verify gemm_128x128_any '[[row_sums], [column_sums, gelu, aux], [row_amax, relu, column_sums]]' \
    --shape 131x263x72 "${narrow[@]}"
verify gemm_128x192_direct "$sums" --shape 300x392x72 "${narrow[@]}"
# The largest of each row likewise, and what is quantised by a scale a row beside it.
verify gemm_fp8_scaled '[[{scale_m: rows}, bias, row_amax, {scale_m: again}]]' \
    --shape 300x400x144 --shape 264x144x80/special --schedules 2
verify gemm_256x128 '[[column_sums, amax, {scale: one}, row_sums]]' --shape 520x264x72
verify gemm_128x128 "$sums" --shape 300x264x264 --set epilogue.store=tma \
    --set 'grid=[tiles,split_k,stream_k]'
