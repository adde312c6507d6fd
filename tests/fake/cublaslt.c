// A stand-in for cuBLASLt: offers six algorithms, of which the first takes 30 us, the fourth 24,
// the others 40, and the second fails. It works on the clock of tests/fake/measured.c.
//   FAKE_CUBLASLT_ALGOS=N   offers N algorithms; 0: none
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "measure/cublaslt_api.h"

#define FAKE __attribute__((visibility("default"))) cublasStatus_t

enum { NOT_SUPPORTED = 15 };
static int object;  // its address stands for all objects

__attribute__((visibility("default"))) size_t cublasLtGetVersion(void) { return 130100; }

FAKE cublasLtCreate(cublasLtHandle_t *handle) { return *handle = (void *)&object, 0; }
FAKE cublasLtDestroy(cublasLtHandle_t handle) { return (void)handle, 0; }
FAKE cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, int compute_type, int scale_type) {
    return *desc = (void *)&object, compute_type == CUBLAS_COMPUTE_32F ? scale_type : 7;
}
FAKE cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return (void)desc, 0; }
FAKE cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, int attribute, const void *value,
                                    size_t bytes) {
    return (void)desc, (void)attribute, value && bytes ? 0 : 7;
}
FAKE cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, int type, uint64_t rows,
                                uint64_t columns, int64_t leading_dimension) {
    *layout = (void *)&object;
    return type >= 0 && rows && columns && leading_dimension >= (int64_t)rows ? 0 : 7;
}
FAKE cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return (void)layout, 0; }
FAKE cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
    return *preference = (void *)&object, 0;
}
FAKE cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    return (void)preference, 0;
}
FAKE cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference, int attribute,
                                          const void *value, size_t bytes) {
    return (void)preference, (void)attribute, value && bytes == sizeof(size_t) ? 0 : 7;
}

FAKE cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                    cublasLtMatmulPreference_t preference, int requested,
                                    cublasLtMatmulHeuristicResult_t *results, int *returned) {
    (void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d, (void)preference;
    const char *text = getenv("FAKE_CUBLASLT_ALGOS");
    const int offered = text && *text ? atoi(text) : 6;
    *returned = offered < requested ? offered : requested;
    for (int i = 0; i < *returned; ++i) results[i].algo.data[0] = (uint64_t)i;
    return *returned ? 0 : NOT_SUPPORTED;
}

FAKE cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                    const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                    cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                    cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                    const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_bytes,
                    CUstream stream) {
    static const double us[] = {30, 0, 40, 24, 40, 40};
    (void)handle, (void)desc, (void)a_layout, (void)b_layout, (void)c_layout, (void)d_layout;
    (void)workspace, (void)workspace_bytes, (void)stream, (void)alpha, (void)beta;
    void *driver = dlopen(getenv("TMAGEN_LIBCUDA"), RTLD_NOW);
    void (*work)(double);
    void *address = driver ? dlsym(driver, "fake_work") : NULL;
    memcpy(&work, &address, sizeof address);
    if (!address || !a || !b || c != d || algo->data[0] == 1) return NOT_SUPPORTED;
    work(us[algo->data[0] % 6]);
    return 0;
}
