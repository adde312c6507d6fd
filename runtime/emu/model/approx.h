// The .approx instructions on bit patterns: better than PTX asks, and with its special values.
// The hardware's own errors are not reproduced: each result is within the stated bound of it.
#ifndef TMG_EMU_MODEL_APPROX_H
#define TMG_EMU_MODEL_APPROX_H

#include "runtime/emu/model/convert.h"

enum tmg_function {
    TMG_EX2,
    TMG_LG2,
    TMG_RCP,
    TMG_RSQRT,
    TMG_SQRT,
    TMG_SIN,
    TMG_COS,
    TMG_TANH,
    TMG_FUNCTION_COUNT
};

// <function>.approx{.ftz}.f32 (PTX ISA 9.7.3.13 to 9.7.3.22). Bounds: rcp 1 ulp, sqrt 2^-23 and
// rsqrt 2^-22.9 relative, lg2 2^-22, ex2 2 ulp, sin and cos 2^-20.5 absolute in [-2pi, 2pi],
// tanh 2^-11 relative.
uint32_t tmg_approx_f32(enum tmg_function function, bool ftz, uint32_t bits);

// ex2.approx.f16 and tanh.approx.f16 (9.7.4.9, 9.7.4.10); halves of .f16x2 go singly.
uint16_t tmg_approx_f16(enum tmg_function function, uint16_t bits);

// ex2.approx.ftz.bf16 and tanh.approx.bf16.
uint16_t tmg_approx_bf16(enum tmg_function function, uint16_t bits);

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 (9.7.3.14, 9.7.3.17): upper words only, and the seed
// of every f64 division and square root that the compiler expands.
uint64_t tmg_approx_ftz_f64(enum tmg_function function, uint64_t bits);

// rsqrt.approx.f64 (9.7.3.16).
uint64_t tmg_rsqrt_f64(uint64_t bits);

// div.approx{.ftz}.f32: zero, or NaN for an infinite dividend, when 2^126 < |b| < 2^128. With
// [full], div.full{.ftz}.f32: 2 ulp over all inputs (9.7.3.8).
uint32_t tmg_divide_f32(bool full, bool ftz, uint32_t a, uint32_t b);

#endif
