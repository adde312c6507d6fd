// The part of cuBLASLt's binary interface that is used here, declared by hand as of version 12 and
// 13. The library is a peer to measure against, never needed to build or to run.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "runtime/cuda_api.h"

typedef int cublasStatus_t;  // 0 is success
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublasLtMatmulDesc *cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayout *cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreference *cublasLtMatmulPreference_t;

typedef struct {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;

typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
} cublasLtMatmulHeuristicResult_t;
_Static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96, "as the library fills it");

enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32I = 72 };
enum {
    CUDA_R_32F = 0,
    CUDA_R_16F = 2,
    CUDA_R_8I = 3,
    CUDA_R_32I = 10,
    CUDA_R_16BF = 14,
    CUDA_R_8F_E4M3 = 28,
    CUDA_R_8F_E5M2 = 29
};
enum {
    CUBLASLT_EPILOGUE_DEFAULT = 1,
    CUBLASLT_EPILOGUE_RELU = 2,  // those below add up: RELU_BIAS is 6, GELU_BIAS 36
    CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLASLT_EPILOGUE_GELU = 32
};
enum {
    CUBLASLT_MATMUL_DESC_TRANSA = 3,
    CUBLASLT_MATMUL_DESC_TRANSB = 4,
    CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
    CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17,
    CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18,
    CUBLASLT_MATMUL_DESC_D_SCALE_POINTER = 20,
    CUBLASLT_MATMUL_DESC_FAST_ACCUM = 25,
    CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26,
    CUBLASLT_MATMUL_DESC_A_SCALE_MODE = 31,  // from 12.9 on for blocks of 128
    CUBLASLT_MATMUL_DESC_B_SCALE_MODE = 32
};
enum { CUBLASLT_SCALE_VEC128_32F = 4, CUBLASLT_SCALE_BLK128x128_32F = 5 };
enum {
    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6  // in elements
};
enum { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 };
enum {
    CUBLASLT_ALGO_CONFIG_TILE_ID = 1,
    CUBLASLT_ALGO_CONFIG_SPLITK_NUM = 2,
    CUBLASLT_ALGO_CONFIG_STAGES_ID = 6,
    CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID = 8  // of 16 bits, the others of 32
};

// X(function, arguments); all return cublasStatus_t.
#define CUBLASLT_CALLS(X)                                                                        \
    X(cublasLtCreate, (cublasLtHandle_t * handle))                                               \
    X(cublasLtDestroy, (cublasLtHandle_t handle))                                                \
    X(cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t * desc, int compute_type, int scale_type)) \
    X(cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t desc))                                    \
    X(cublasLtMatmulDescSetAttribute,                                                            \
      (cublasLtMatmulDesc_t desc, int attribute, const void *value, size_t bytes))               \
    X(cublasLtMatrixLayoutCreate, (cublasLtMatrixLayout_t * layout, int type, uint64_t rows,     \
                                   uint64_t columns, int64_t leading_dimension))                 \
    X(cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout))                              \
    X(cublasLtMatrixLayoutSetAttribute,                                                          \
      (cublasLtMatrixLayout_t layout, int attribute, const void *value, size_t bytes))           \
    X(cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * preference))                 \
    X(cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference))                  \
    X(cublasLtMatmulPreferenceSetAttribute,                                                      \
      (cublasLtMatmulPreference_t preference, int attribute, const void *value, size_t bytes))   \
    X(cublasLtMatmulAlgoGetHeuristic,                                                            \
      (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,             \
       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,             \
       cublasLtMatmulPreference_t preference, int requested,                                     \
       cublasLtMatmulHeuristicResult_t *results, int *returned))                                 \
    X(cublasLtMatmulAlgoConfigGetAttribute, (const cublasLtMatmulAlgo_t *algo, int attribute,    \
                                             void *value, size_t bytes, size_t *written))        \
    X(cublasLtMatmul,                                                                            \
      (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,     \
       cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,          \
       const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,                \
       cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,       \
       size_t workspace_bytes, CUstream stream))
