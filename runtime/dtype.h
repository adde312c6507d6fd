// Element types, a row each: what their bits are, and what a tensor map calls them.
// The one place in C for these facts; templates/lib/dtypes.lua has those that templates need, and
// templates/lib/reference.h, which families' references are compiled with, numbers them alike.
#pragma once

// Those that no host computes with yet stand last.
enum tmg_dtype_id {
    TMG_DTYPE_BF16,
    TMG_DTYPE_FP16,
    TMG_DTYPE_FP32,
    TMG_DTYPE_FP64,
    TMG_DTYPE_E4M3,
    TMG_DTYPE_E5M2,
    TMG_DTYPE_I8,
    TMG_DTYPE_U8,
    TMG_DTYPE_I16,
    TMG_DTYPE_U16,
    TMG_DTYPE_I32,
    TMG_DTYPE_U32,
    TMG_DTYPE_I64,
    TMG_DTYPE_U64,
    TMG_DTYPES_OF_HOST,
    TMG_DTYPE_UE8M0 = TMG_DTYPES_OF_HOST,
    TMG_DTYPE_E3M2,
    TMG_DTYPE_E2M3,
    TMG_DTYPE_E2M1,
    TMG_DTYPES
};

enum tmg_dtype_kind { TMG_KIND_FLOAT, TMG_KIND_SIGNED, TMG_KIND_UNSIGNED };

// What a float's largest exponent is for.
enum tmg_dtype_top {
    TMG_TOP_SPECIAL,  // infinities and NaN
    TMG_TOP_NAN,      // numbers, but for NaN where all bits are ones
    TMG_TOP_NUMBERS
};

struct tmg_dtype {
    const char *name;  // "bf16", "fp16", "fp32", "e4m3", "i32", ...
    unsigned bits;
    int tensor_map_type;  // CU_TENSOR_MAP_DATA_TYPE_*
    enum tmg_dtype_kind kind;
    int exponent_bits, mantissa_bits;  // of a float; what bits are left is its sign
    enum tmg_dtype_top top;
};
extern const struct tmg_dtype tmg_dtypes[TMG_DTYPES];

// The type of that name, or -1.
int tmg_dtype_find(const char *name);

// Bytes of an element; where it ends inside one, of those that it lies in.
static inline unsigned tmg_dtype_bytes(enum tmg_dtype_id dtype) {
    return (tmg_dtypes[dtype].bits + 7) / 8;
}
