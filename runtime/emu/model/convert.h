// Number formats of PTX and the conversions between them, as pure functions on bit patterns.
// One generic exact path serves every pair of types; the few hot conversions have an inline one.
#ifndef TMG_EMU_MODEL_CONVERT_H
#define TMG_EMU_MODEL_CONVERT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Element types of cvt, of tensor maps' reductions and of matrix operands.
enum tmg_number {
    TMG_U8,
    TMG_U16,
    TMG_U32,
    TMG_U64,
    TMG_S8,
    TMG_S16,
    TMG_S32,
    TMG_S64,
    TMG_F16,
    TMG_BF16,
    TMG_TF32,
    TMG_F32,
    TMG_F64,
    TMG_E4M3,
    TMG_E5M2,
    TMG_E2M3,
    TMG_E3M2,
    TMG_E2M1,
    TMG_UE8M0,
    TMG_B1,  // operands of mma and wgmma only, as the next two
    TMG_S4,
    TMG_U4,
    TMG_NUMBER_COUNT
};

// Rounding modifiers: to a representable value (.rn ... .rna) or to an integral one (.rni ...).
enum tmg_round {
    TMG_ROUND_NONE,  // no modifier: the conversion is exact, or an integer one
    TMG_ROUND_RN,
    TMG_ROUND_RZ,
    TMG_ROUND_RM,
    TMG_ROUND_RP,
    TMG_ROUND_RNA,
    TMG_ROUND_RNI,
    TMG_ROUND_RZI,
    TMG_ROUND_RMI,
    TMG_ROUND_RPI
};

// One cvt instruction, element types given singly: .e4m3x2 is [to] TMG_E4M3 with [lanes] 2.
// [packed_source]: all elements come out of one register (.f16x2, .e4m3x2 ...), not one each.
struct tmg_cvt {
    enum tmg_number to, from;
    enum tmg_round round;
    bool ftz, sat, satfinite, relu;
    bool packed_source;
    int lanes;  // 1, 2 or 4; 0 reads as 1
};

// NULL when PTX allows [cvt] (PTX ISA 9.7.9.21), else a sentence that says what is wrong with it.
const char *tmg_cvt_check(const struct tmg_cvt *cvt);

// Converts one element: [bits] holds the source in its low bits. Integers come back sign- or
// zero-extended to 64 bits, floats zero-extended; the caller truncates to its register.
uint64_t tmg_cvt_scalar(const struct tmg_cvt *cvt, uint64_t bits);

// Converts a whole instruction. [source] is the operand list in PTX's order (a, b, e, f): a lands
// in the highest element of the result; one packed operand when packed_source.
uint64_t tmg_cvt_packed(const struct tmg_cvt *cvt, const uint64_t *source);

// Bytes of one element in memory (tf32 is 4, the 4- and 6-bit types are 1).
int tmg_number_bytes(enum tmg_number type);

bool tmg_number_is_float(enum tmg_number type);
bool tmg_number_is_signed(enum tmg_number type);
const char *tmg_number_name(enum tmg_number type);

// The exact value of [bits] as a double; every format here but s64 and u64 fits in one.
double tmg_number_to_double(enum tmg_number type, uint64_t bits);

// [value] rounded once into [type]; overflow follows IEEE, or saturates with [satfinite].
uint64_t tmg_number_from_double(enum tmg_number type, double value, enum tmg_round round,
                                bool satfinite);

static inline float tmg_f32_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t tmg_f32_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// NaN that the GPU's f32 arithmetic writes (observed on NVIDIA hardware; PTX leaves it open).
#define TMG_F32_NAN  0x7fffffffu
#define TMG_F16_NAN  0x7fffu
#define TMG_BF16_NAN 0x7fffu

// The hot conversions, branch-free enough to vectorise over a warp's lanes. They agree with
// tmg_cvt_scalar on every input (tests/unit/emu/test_emu_model_convert.c walks all of them).
static inline float tmg_bf16_to_f32(uint16_t bits) {
    return tmg_f32_from_bits((uint32_t)bits << 16);
}

static inline uint16_t tmg_f32_to_bf16_rn(float value) {
    uint32_t bits = tmg_f32_bits(value);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (bits & 0x7fffffffu) > 0x7f800000u ? TMG_BF16_NAN : (uint16_t)rounded;
}

static inline float tmg_f16_to_f32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    uint32_t normal = (magnitude << 13) + ((127u - 15u) << 23);
    uint32_t special = magnitude > 0x7c00u ? TMG_F32_NAN : 0x7f800000u;
    uint32_t tiny = tmg_f32_bits((float)(int32_t)magnitude * 0x1p-24f);
    uint32_t finite = magnitude < 0x0400u ? tiny : normal;
    uint32_t wide = magnitude >= 0x7c00u ? special : finite;
    return tmg_f32_from_bits(magnitude > 0x7c00u ? wide : wide | sign);
}

static inline uint16_t tmg_f32_to_f16_rn(float value) {
    uint32_t bits = tmg_f32_bits(value), magnitude = bits & 0x7fffffffu;
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    if (magnitude > 0x7f800000u) return TMG_F16_NAN;
    if (magnitude >= 0x47800000u) return sign | 0x7c00u;  // 65536 and above, infinity
    if (magnitude < 0x38800000u) {                        // below 2^-14: let f32 addition round
        float shifted = tmg_f32_from_bits(magnitude) + 0.5f;
        return sign | (uint16_t)(tmg_f32_bits(shifted) - 0x3f000000u);
    }
    magnitude += 0xfffu + ((magnitude >> 13) & 1u);
    return sign | (uint16_t)((magnitude - ((127u - 15u) << 23)) >> 13);
}

#endif
