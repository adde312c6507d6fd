// The element types. Floats of eight bits are bytes to a tensor map, signed integers of 8 and 16
// bits unsigned ones: it copies them, and only its reductions would tell them apart.
#include "runtime/dtype.h"

#include <string.h>

#include "runtime/cuda_api.h"

#define FLOAT(BITS, MAP, EXPONENT, MANTISSA, TOP) \
    BITS, CU_TENSOR_MAP_DATA_TYPE_##MAP, TMG_KIND_FLOAT, EXPONENT, MANTISSA, TMG_TOP_##TOP
#define INTEGER(BITS, MAP, KIND) \
    BITS, CU_TENSOR_MAP_DATA_TYPE_##MAP, TMG_KIND_##KIND, 0, 0, TMG_TOP_NUMBERS

const struct tmg_dtype tmg_dtypes[TMG_DTYPES] = {
    [TMG_DTYPE_BF16] = {"bf16", FLOAT(16, BFLOAT16, 8, 7, SPECIAL)},
    [TMG_DTYPE_FP16] = {"fp16", FLOAT(16, FLOAT16, 5, 10, SPECIAL)},
    [TMG_DTYPE_FP32] = {"fp32", FLOAT(32, FLOAT32, 8, 23, SPECIAL)},
    [TMG_DTYPE_FP64] = {"fp64", FLOAT(64, FLOAT64, 11, 52, SPECIAL)},
    [TMG_DTYPE_E4M3] = {"e4m3", FLOAT(8, UINT8, 4, 3, NAN)},
    [TMG_DTYPE_E5M2] = {"e5m2", FLOAT(8, UINT8, 5, 2, SPECIAL)},
    [TMG_DTYPE_I8] = {"i8", INTEGER(8, UINT8, SIGNED)},
    [TMG_DTYPE_U8] = {"u8", INTEGER(8, UINT8, UNSIGNED)},
    [TMG_DTYPE_I16] = {"i16", INTEGER(16, UINT16, SIGNED)},
    [TMG_DTYPE_U16] = {"u16", INTEGER(16, UINT16, UNSIGNED)},
    [TMG_DTYPE_I32] = {"i32", INTEGER(32, INT32, SIGNED)},
    [TMG_DTYPE_U32] = {"u32", INTEGER(32, UINT32, UNSIGNED)},
    [TMG_DTYPE_I64] = {"i64", INTEGER(64, INT64, SIGNED)},
    [TMG_DTYPE_U64] = {"u64", INTEGER(64, UINT64, UNSIGNED)},
    [TMG_DTYPE_UE8M0] = {"ue8m0", FLOAT(8, UINT8, 8, 0, NAN)},
    [TMG_DTYPE_E3M2] = {"e3m2", FLOAT(6, 16U6_ALIGN16B, 3, 2, NUMBERS)},
    [TMG_DTYPE_E2M3] = {"e2m3", FLOAT(6, 16U6_ALIGN16B, 2, 3, NUMBERS)},
    [TMG_DTYPE_E2M1] = {"e2m1", FLOAT(4, 16U4_ALIGN8B, 2, 1, NUMBERS)},
};

int tmg_dtype_find(const char *name) {
    for (int i = 0; i < TMG_DTYPES; ++i)
        if (!strcmp(tmg_dtypes[i].name, name)) return i;
    return -1;
}
