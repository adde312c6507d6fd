#!/usr/bin/env bash
# Operands of 8 bits against the reference, on the emulator: every pair of types, every type of D,
# through every way that D is stored; sums promoted to fp32; and a step that is left out is noticed.
set -eu
"$BUILD/scripts/find_nvrtc" >/dev/null || { echo "no NVRTC"; exit 77; }
export TMAGEN_CACHE=$KERNELS

# verify SPEC ARGUMENT... - all right, on one schedule.
calls=0
verify() {
    # one in five under sanitizers, which make it ten times as slow: they look at our C, which all
    # kernels run alike
    calls=$((calls + 1))
    [ -z "${SANITIZED:-}" ] || [ $((calls % 5)) = 1 ] || return 0
    "$TMAGEN" verify --device emu --schedules 1 -o "$TMPDIR/out" "$@" >"$TMPDIR/table" 2>&1 &&
        return
    cat "$TMPDIR/table"
    exit 1
}

fp8=gemm_fp8_128x128_pingpong
verify $fp8 --set 'problem.a=[e4m3,e5m2]' --set 'problem.b=[e4m3,e5m2]' \
    --shape 136x144x400/special
verify $fp8 --set 'problem.d=[fp16,fp32,e4m3,e5m2]' --set stages=4 --set 'exchange=[false,true]' \
    --shape 136x144x144 --shape 72x144x80/special
verify gemm_128x192_direct --set tile.k=128 --set problem.a=e4m3 --set problem.b=e5m2 \
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

# wrong WHAT ARGUMENT... - with the scratch templates something is not right, and that is noticed.
wrong() {
    local what=$1 status=0
    shift
    "$TMAGEN" verify --templates "$TMPDIR/templates" --device emu:1 --schedules 1 -o "$TMPDIR/out" \
        --set cluster.m=1 --shape 136x144x8192 "$@" >"$TMPDIR/table" 2>&1 || status=$?
    [ $status = 1 ] && grep -q WRONG "$TMPDIR/table" && return
    cat "$TMPDIR/table"
    echo "$what is not noticed"
    exit 1
}

# the last of 64 steps is left out; sums are promoted too seldom
mkdir -p "$TMPDIR/templates/gemm/mma/wgmma" "$TMPDIR/templates/gemm/operand"
for file in mma/wgmma/multiply operand/produce; do
    sed 's/k_tile < item.k_end;/k_tile < item.k_end - 1;/' "templates/gemm/$file.cu.in" \
        >"$TMPDIR/templates/gemm/$file.cu.in"
done
wrong "a step that is left out" $fp8 --set schedule=cooperative
rm "$TMPDIR/templates/gemm/mma/wgmma/multiply.cu.in" "$TMPDIR/templates/gemm/operand/produce.cu.in"
sed 's/PROMOTE_EVERY = [^;]*;/PROMOTE_EVERY = 64;/' templates/gemm/mma/wgmma/step.cu.in \
    >"$TMPDIR/templates/gemm/mma/wgmma/step.cu.in"
wrong "a promotion that is left out" gemm_fp8_promoted --set problem.d=fp32 --set stages=4 \
    --set promote_every=2
