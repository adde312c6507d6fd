// convert.cuh: fp32 to and from smaller floats, and their way into shared memory.
// Packed pairs hold the lower-addressed element in the low half.

// (low, high) rounded to nearest even
__device__ __forceinline__ uint32_t cvt_rn_bf16x2(float low, float high) {
    uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

__device__ __forceinline__ uint32_t cvt_rn_f16x2(float low, float high) {
    uint32_t packed;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

// (low, high) rounded to nearest even, what is too large to 448 of its sign; NaN stays NaN
__device__ __forceinline__ uint16_t cvt_rn_satfinite_e4m3x2(float low, float high) {
    uint16_t packed;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
    return packed;
}

// the same, to 57344
__device__ __forceinline__ uint16_t cvt_rn_satfinite_e5m2x2(float low, float high) {
    uint16_t packed;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
    return packed;
}

__device__ __forceinline__ uint32_t join(uint16_t low, uint16_t high) {
    return low | static_cast<uint32_t>(high) << 16;
}

__device__ __forceinline__ float bf16_to_float(bf16 value) {
    return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
}

__device__ __forceinline__ float fp16_to_float(fp16 value) {
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
    return result;
}

__device__ __forceinline__ float e4m3_to_float(e4m3 value) {
    float result;
    asm("{.reg .b32 pair; .reg .b16 low, high; cvt.rn.f16x2.e4m3x2 pair, %1; mov.b32 {low, high}, pair;"
        " cvt.f32.f16 %0, low;}"
        : "=f"(result)
        : "h"(static_cast<uint16_t>(value.bits)));
    return result;
}

__device__ __forceinline__ float e5m2_to_float(e5m2 value) {
    return fp16_to_float({static_cast<uint16_t>(value.bits << 8)});
}

// four 8 x 8 matrices of 16-bit elements, a word of each; lane l gives the address of row l % 8 of matrix l / 8
__device__ __forceinline__ void ldmatrix_x4(uint32_t *words, uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
}

// the two lower-addressed of four e4m3, as a pair of halves, which hold each exactly
__device__ __forceinline__ uint32_t cvt_rn_f16x2_e4m3x2_low(uint32_t four) {
    uint32_t pair;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.rn.f16x2.e4m3x2 %0, low;}" : "=r"(pair) : "r"(four));
    return pair;
}

// the two higher-addressed
__device__ __forceinline__ uint32_t cvt_rn_f16x2_e4m3x2_high(uint32_t four) {
    uint32_t pair;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.rn.f16x2.e4m3x2 %0, high;}" : "=r"(pair) : "r"(four));
    return pair;
}

// the same of e5m2, whose bits are the upper ones of a half
__device__ __forceinline__ uint32_t f16x2_of_e5m2x2_low(uint32_t four) {
    return __byte_perm(four, 0, 0x1404);
}

__device__ __forceinline__ uint32_t f16x2_of_e5m2x2_high(uint32_t four) {
    return __byte_perm(four, 0, 0x3424);
}

// four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8
__device__ __forceinline__ void stmatrix_x4(uint32_t address, uint32_t m0, uint32_t m1, uint32_t m2,
                                            uint32_t m3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m0),
                 "r"(m1), "r"(m2), "r"(m3)
                 : "memory");
}

// the same, each matrix transposed: what a lane holds of row r goes to column r
__device__ __forceinline__ void stmatrix_x4_trans(uint32_t address, uint32_t m0, uint32_t m1, uint32_t m2,
                                                  uint32_t m3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(m0), "r"(m1), "r"(m2), "r"(m3)
                 : "memory");
}

__device__ __forceinline__ void stmatrix_x2_trans(uint32_t address, uint32_t m0, uint32_t m1) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(m0),
                 "r"(m1)
                 : "memory");
}

// two matrices, as they are; lanes 16 to 31 give addresses too, of which nothing is read
__device__ __forceinline__ void stmatrix_x2(uint32_t address, uint32_t m0, uint32_t m1) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(m0), "r"(m1)
                 : "memory");
}

__device__ __forceinline__ void st_shared(uint32_t address, float x) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory");
}

// Four floats to [address], 16-byte aligned, of any CTA of the cluster; their bytes complete on [barrier] there. Both
// are as mapa gives them.
__device__ __forceinline__ void st_async_v4(uint32_t address, float x, float y, float z, float w, uint32_t barrier) {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32"
        " [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address),
        "f"(x), "f"(y), "f"(z), "f"(w), "r"(barrier)
        : "memory");
}

// the same of one float
__device__ __forceinline__ void st_async(uint32_t address, float x, uint32_t barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(address),
                 "f"(x), "r"(barrier)
                 : "memory");
}

// 16 bytes to [address], 16-byte aligned
__device__ __forceinline__ void st_shared_v4(uint32_t address, uint4 x) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
                 : "memory");
}

// two floats to [address], 8-byte aligned
__device__ __forceinline__ void st_shared_v2(uint32_t address, float x, float y) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}

// two integers to [address], 8-byte aligned
__device__ __forceinline__ void st_shared_v2_s32(uint32_t address, int x, int y) {
    asm volatile("st.shared.v2.s32 [%0], {%1, %2};" ::"r"(address), "r"(x), "r"(y) : "memory");
}

__device__ __forceinline__ void st_shared_s32(uint32_t address, int x) {
    asm volatile("st.shared.s32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}

__device__ __forceinline__ void st_shared_u8(uint32_t address, uint8_t x) {
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(address), "r"(static_cast<uint32_t>(x)) : "memory");
}

// a packed pair of bytes to [address], 2-byte aligned
__device__ __forceinline__ void st_shared_u16(uint32_t address, uint16_t x) {
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(x) : "memory");
}

__device__ __forceinline__ bf16 to_bf16(float value) {
    return {static_cast<uint16_t>(cvt_rn_bf16x2(value, 0))};
}

__device__ __forceinline__ fp16 to_fp16(float value) {
    return {static_cast<uint16_t>(cvt_rn_f16x2(value, 0))};
}

__device__ __forceinline__ e4m3 to_e4m3(float value) {
    return {static_cast<uint8_t>(cvt_rn_satfinite_e4m3x2(value, 0))};
}

__device__ __forceinline__ e5m2 to_e5m2(float value) {
    return {static_cast<uint8_t>(cvt_rn_satfinite_e5m2x2(value, 0))};
}

// 2^(bits - 127); NaN of 255
__device__ __forceinline__ float ue8m0_to_float(uint8_t bits) {
    return __uint_as_float(bits == 255 ? 0x7fffffff : bits == 0 ? 0x400000 : static_cast<uint32_t>(bits) << 23);
}
