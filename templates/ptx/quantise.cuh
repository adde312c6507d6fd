// quantise.cuh: fp32 to elements of 4 bits, and to scales that are powers of two, of sm_100 (PTX ISA 9.7.9.21).

// eight values rounded to nearest even, the first in the lowest bits; what is larger than 6, and NaN, is 6
__device__ __forceinline__ uint32_t cvt_rn_satfinite_e2m1x8(const float *x) {
    uint32_t packed;
    asm("{\n"
        ".reg .b8 b0, b1, b2, b3;\n"
        "cvt.rn.satfinite.e2m1x2.f32 b0, %2, %1;\n"
        "cvt.rn.satfinite.e2m1x2.f32 b1, %4, %3;\n"
        "cvt.rn.satfinite.e2m1x2.f32 b2, %6, %5;\n"
        "cvt.rn.satfinite.e2m1x2.f32 b3, %8, %7;\n"
        "mov.b32 %0, {b0, b1, b2, b3};\n"
        "}\n"
        : "=r"(packed)
        : "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "f"(x[4]), "f"(x[5]), "f"(x[6]), "f"(x[7]));
    return packed;
}

// (low, high) as powers of two that are not below them, 2^(byte - 127), to 2^127; NaN is 255
__device__ __forceinline__ uint16_t cvt_rp_satfinite_ue8m0x2(float low, float high) {
    uint16_t packed;
    asm("cvt.rp.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
    return packed;
}
