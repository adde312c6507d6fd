// cuBLASLt as the peer of gemm: its first heuristic, and every other that it offers.
// Found at run time; what is not there cannot be compared with, and the error lists where it was
// sought.
#pragma once
#include "measure/gpu.h"
#include "measure/reference.h"

enum { CUBLASLT_ALGOS_MAX = 32 };

struct cublaslt;
struct cublaslt_plan;

// Loads the library: $TMAGEN_CUBLASLT, the loader's path, CUDA's folders, Python's wheels.
// TMAGEN_ERROR_FILE, with the places in tmagen_error_last(), where there is none.
int cublaslt_open(struct gpu *gpu, struct cublaslt **library);
void cublaslt_close(struct cublaslt *library);

// "cuBLASLt 13.1.0 (/path)".
const char *cublaslt_name(const struct cublaslt *library);

// How the library does gemm's chain of [ops], rows with a name each, which may be null: the number
// of its epilogue, and whether its C is the residual. 0: it has no such epilogue.
int cublaslt_epilogue(const json_t *ops, bool *residual);

// Prepares gemm's [problem]: tensors a, b, d and, where there are any, bias, residual, a_scales,
// b_scales. Where the library has no epilogue for the ops, it is given the product alone.
// TMAGEN_ERROR_ARGUMENT where the library offers nothing for it.
int cublaslt_plan_make(struct cublaslt *library, const struct ref_problem *problem,
                       struct cublaslt_plan **plan);
void cublaslt_plan_free(struct cublaslt_plan *plan);

// Whether it was; and the rows of gemm's reference for the product alone, new, or NULL.
bool cublaslt_plan_alone(const struct cublaslt_plan *plan);
json_t *cublaslt_product_rows(const struct cublaslt_plan *plan, const json_t *rows);
// How many algorithms the library offers; number 0 is its first choice.
int cublaslt_plan_algos(const struct cublaslt_plan *plan);

// What algorithm [algo] is, by the numbers that cublasLt.h gives tiles, clusters and stages:
// "tile 144, cluster 8, stages 32, 2 parts of K".
void cublaslt_plan_describe(const struct cublaslt_plan *plan, int algo, char *text, size_t size);

// A problem's tensors; 0 for those that it has not.
struct cublaslt_tensors {
    tmagen_address a, b, bias, residual, d, a_scales, b_scales;
};

// Launches with algorithm [algo].
int cublaslt_launch(struct cublaslt_plan *plan, int algo, CUstream stream,
                    const struct cublaslt_tensors *tensors);
