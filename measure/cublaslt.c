// D[m,n] = A[m,k] B[n,k]^T is, in cuBLASLt's column-major view, D^T[n,m] = B^T[n,k] A[k,m]:
// its first matrix is our B, transposed, and its second is our A as it stands.
#include "measure/cublaslt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/cublaslt_api.h"
#include "measure/library.h"
#include "runtime/error.h"

static const size_t workspace_bytes = (size_t)64 << 20;  // the library's own advice is 32 MiB

struct cublaslt {
    struct gpu *gpu;
    void *file;
    char name[1200];
    cublasLtHandle_t handle;
    tmagen_address workspace, one;  // [one]: the number, as a scale on the device
    const char *(*status_name)(cublasStatus_t);
#define FIELD(call, arguments) cublasStatus_t(*call) arguments;
    CUBLASLT_CALLS(FIELD)
#undef FIELD
};

struct cublaslt_plan {
    struct cublaslt *library;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c, d;
    cublasLtMatmulHeuristicResult_t algos[CUBLASLT_ALGOS_MAX];
    int algo_count;
    bool bias, residual, integers, blocks, alone;
};

static int check(const struct cublaslt *library, cublasStatus_t status, const char *what) {
    if (status == 0) return TMAGEN_OK;
    const char *name = library->status_name ? library->status_name(status) : "";
    return tmg_fail(TMAGEN_ERROR_DEVICE, "%s: status %d %s", what, status, name);
}

// Fills the table of calls. Returns the first symbol that the library lacks, or NULL.
static const char *fill_table(struct cublaslt *library) {
    static const struct {
        const char *symbol;
        size_t offset;
    } calls[] = {
#define ROW(call, arguments) {#call, offsetof(struct cublaslt, call)},
        CUBLASLT_CALLS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        void *address = dlsym(library->file, calls[i].symbol);
        if (!address) return calls[i].symbol;
        memcpy((char *)library + calls[i].offset, &address, sizeof address);
    }
    void *name = dlsym(library->file, "cublasLtGetStatusName");
    memcpy(&library->status_name, &name, sizeof name);
    return NULL;
}

static void name_library(struct cublaslt *library, const char *path) {
    size_t (*get_version)(void);
    void *address = dlsym(library->file, "cublasLtGetVersion");
    memcpy(&get_version, &address, sizeof address);
    const size_t version =
        address ? get_version() : 0;  // 130100 for 13.1.0; 12.x has the same form
    snprintf(library->name, sizeof library->name, "cuBLASLt %zu.%zu.%zu (%s)", version / 10000,
             version / 100 % 100, version % 100, path);
}

static int upload_one(struct cublaslt *library) {
    const float one = 1;
    tmagen_device *device = library->gpu->device;
    const int status = tmagen_memory_alloc(device, sizeof one, &library->one);
    return status ? status : tmagen_memory_upload(device, library->one, &one, sizeof one);
}

int cublaslt_open(struct gpu *gpu, struct cublaslt **result) {
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    char path[1000], error[3000];
    struct cublaslt *library = calloc(1, sizeof *library);
    if (!library) return tmg_fail_memory();
    library->gpu = gpu;
    library->file = library_find("TMAGEN_CUBLASLT", names, path, sizeof path, error, sizeof error);
    if (!library->file) {
        free(library);
        return tmg_fail(TMAGEN_ERROR_FILE,
                        "no cuBLASLt: looked for libcublasLt.so.13 and .12 in %s; "
                        "set TMAGEN_CUBLASLT to its path",
                        error);
    }
    const char *missing = fill_table(library);
    int status = TMAGEN_OK;
    if (missing) status = tmg_fail(TMAGEN_ERROR_FILE, "%s has no %s", path, missing);
    if (status == TMAGEN_OK) {
        name_library(library, path);
        status = check(library, library->cublasLtCreate(&library->handle), "cublasLtCreate");
    }
    if (status == TMAGEN_OK) {
        status = tmagen_memory_alloc(gpu->device, workspace_bytes, &library->workspace);
    }
    if (status == TMAGEN_OK) status = upload_one(library);
    if (status != TMAGEN_OK) {
        cublaslt_close(library);
        return status;
    }
    *result = library;
    return TMAGEN_OK;
}

// The file stays loaded: unloading half a gigabyte of CUDA code at exit helps nobody.
void cublaslt_close(struct cublaslt *library) {
    if (!library) return;
    tmagen_memory_free(library->gpu->device, library->workspace);
    tmagen_memory_free(library->gpu->device, library->one);
    if (library->handle) library->cublasLtDestroy(library->handle);
    free(library);
}

const char *cublaslt_name(const struct cublaslt *library) { return library->name; }

// The library's name of an element type, or -1.
static int data_type(enum tmg_dtype_id dtype) {
    switch (dtype) {
    case TMG_DTYPE_BF16: return CUDA_R_16BF;
    case TMG_DTYPE_FP16: return CUDA_R_16F;
    case TMG_DTYPE_FP32: return CUDA_R_32F;
    case TMG_DTYPE_E4M3: return CUDA_R_8F_E4M3;
    case TMG_DTYPE_E5M2: return CUDA_R_8F_E5M2;
    case TMG_DTYPE_I8: return CUDA_R_8I;
    case TMG_DTYPE_I32: return CUDA_R_32I;
    default: return -1;
    }
}

// [layout] is that of the first of [count] matrices, each [offset] elements behind the one before.
static int set_batch(struct cublaslt *library, cublasLtMatrixLayout_t layout, int64_t count,
                     int64_t offset) {
    const int32_t problems = (int32_t)count;
    cublasStatus_t status = library->cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &problems, sizeof problems);
    if (status == 0) {
        status = library->cublasLtMatrixLayoutSetAttribute(
            layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof offset);
    }
    return check(library, status, "cublasLtMatrixLayoutSetAttribute");
}

// A row-major matrix is a column-major one of its rows as columns. [dtype]: of its elements. Of
// rank 3 it is a batch of matrices.
static int make_layout(struct cublaslt *library, const struct ref_tensor *tensor,
                       enum tmg_dtype_id dtype, cublasLtMatrixLayout_t *layout) {
    const int type = data_type(dtype);
    if (type < 0) {
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "cuBLASLt has no type %s",
                        tmg_dtypes[tensor->dtype].name);
    }
    const int row = tensor->rank - 2;
    const int status = check(
        library,
        library->cublasLtMatrixLayoutCreate(layout, type, (uint64_t)tensor->dims[row + 1],
                                            (uint64_t)tensor->dims[row], tensor->strides[row]),
        "cublasLtMatrixLayoutCreate");
    if (status || row == 0) return status;
    return set_batch(library, *layout, tensor->dims[0], tensor->strides[0]);
}

static int set_attribute(struct cublaslt_plan *plan, int attribute, const void *value,
                         size_t bytes) {
    return check(plan->library,
                 plan->library->cublasLtMatmulDescSetAttribute(plan->desc, attribute, value, bytes),
                 "cublasLtMatmulDescSetAttribute");
}

static int set_pointer(struct cublaslt_plan *plan, int attribute, tmagen_address address) {
    const void *pointer = (const void *)(uintptr_t)address;
    return set_attribute(plan, attribute, &pointer, sizeof pointer);
}

static bool is_fp8(const struct ref_tensor *tensor) {
    return tensor->dtype == TMG_DTYPE_E4M3 || tensor->dtype == TMG_DTYPE_E5M2;
}

// FP8 with one scale a tensor, all of them 1: what they are changes no time. Sums are the tensor
// cores' own, as they are here where nobody promotes them.
static int describe_fp8(struct cublaslt_plan *plan, bool d_too) {
    static const int scales[] = {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                 CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                 CUBLASLT_MATMUL_DESC_D_SCALE_POINTER};
    const void *one = (const void *)(uintptr_t)plan->library->one;
    const int8_t fast = 1;
    int status = set_attribute(plan, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast);
    for (int i = 0; status == TMAGEN_OK && i < 2 + d_too; ++i)
        status = set_attribute(plan, scales[i], &one, sizeof one);
    return status;
}

// Whether the scales of [operand] lie as the library wants them: those of single rows side by side,
// those of 128 of them in rows of whole fours.
static bool blocks_fit(const struct ref_problem *problem, const json_t *values, const char *operand,
                       bool square) {
    char name[32];
    snprintf(name, sizeof name, "%s_scale_columns", operand);
    const bool columns = json_is_true(json_object_get(values, name));
    snprintf(name, sizeof name, "%s_scales", operand);
    const struct ref_tensor *scales = ref_tensor_find(problem, name);
    return scales->dtype == TMG_DTYPE_FP32 &&
           (square ? !columns && scales->strides[0] % 4 == 0 : columns);
}

// FP8 with scales of blocks, 1x128 or 128x128. The library's first matrix is our B.
static int describe_blocks(struct cublaslt_plan *plan, const struct ref_problem *problem) {
    static const struct {
        const char *operand, *rows;
        int mode, pointer;
    } operands[] = {{"a", "a_scale_rows", CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                     CUBLASLT_MATMUL_DESC_B_SCALE_POINTER},
                    {"b", "b_scale_rows", CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
                     CUBLASLT_MATMUL_DESC_A_SCALE_POINTER}};
    const json_t *values = json_object_get(problem->reference->rows, "values");
    int status = TMAGEN_OK;
    plan->blocks = true;
    for (int i = 0; status == TMAGEN_OK && i < 2; ++i) {
        const bool square = json_number_value(json_object_get(values, operands[i].rows)) > 1;
        const int mode = square ? CUBLASLT_SCALE_BLK128x128_32F : CUBLASLT_SCALE_VEC128_32F;
        if (!blocks_fit(problem, values, operands[i].operand, square)) {
            return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                            "cuBLASLt wants %s_scales in fp32, of 1x128 in order: column, of "
                            "128x128 in order: row, k a multiple of 512",
                            operands[i].operand);
        }
        status = set_attribute(plan, operands[i].mode, &mode, sizeof mode);
        if (status == TMAGEN_OK)  // an address, until a launch gives its own
            status = set_pointer(plan, operands[i].pointer, plan->library->one);
    }
    return status;
}

int cublaslt_epilogue(const json_t *ops, bool *residual) {
    static const struct {
        const char *op;
        int epilogue;  // 0: the library's C
        bool last;     // what is added comes before it
    } known[] = {{"bias", CUBLASLT_EPILOGUE_BIAS, false},
                 {"residual", 0, false},
                 {"relu", CUBLASLT_EPILOGUE_RELU, true},
                 {"gelu", CUBLASLT_EPILOGUE_GELU, true}};
    int epilogue = 0;
    bool last = false;
    *residual = false;
    for (size_t i = 0; i < json_array_size(ops); ++i) {
        const char *name = json_string_value(json_object_get(json_array_get(ops, i), "name"));
        size_t row = 0;
        while (row < 4 && strcmp(known[row].op, name ? name : "")) ++row;
        if (row == 4 || last) return 0;
        epilogue |= known[row].epilogue;
        *residual |= known[row].epilogue == 0;
        last = known[row].last;
    }
    return epilogue ? epilogue : CUBLASLT_EPILOGUE_DEFAULT;
}

// The epilogue for the ops, if the library has one; a launch gives the address of a bias.
static int describe_ops(struct cublaslt_plan *plan, const struct ref_problem *problem) {
    const json_t *values = json_object_get(problem->reference->rows, "values");
    const int epilogue = cublaslt_epilogue(json_object_get(values, "ops"), &plan->residual);
    plan->alone = epilogue == 0;
    plan->residual &= !plan->alone;
    if (plan->alone) return TMAGEN_OK;
    int status = set_attribute(plan, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (status || !(epilogue & CUBLASLT_EPILOGUE_BIAS)) return status;
    const int type = data_type(ref_tensor_find(problem, "bias")->dtype);
    plan->bias = true;
    return set_attribute(plan, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type);
}

// [a_columns], [b_columns]: the operand is stored as [k,m], as [k,n].
static int describe(struct cublaslt_plan *plan, bool a_columns, bool b_columns) {
    struct cublaslt *library = plan->library;
    const int first = b_columns ? CUBLAS_OP_N : CUBLAS_OP_T;
    const int second = a_columns ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int compute = plan->integers ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F;
    const int scale = plan->integers ? CUDA_R_32I : CUDA_R_32F;
    int status = check(library, library->cublasLtMatmulDescCreate(&plan->desc, compute, scale),
                       "cublasLtMatmulDescCreate");
    if (status) return status;
    status = set_attribute(plan, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first);
    if (status) return status;
    return set_attribute(plan, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second);
}

static int ask(struct cublaslt_plan *plan) {
    struct cublaslt *library = plan->library;
    cublasLtMatmulPreference_t preference;
    int status = check(library, library->cublasLtMatmulPreferenceCreate(&preference),
                       "cublasLtMatmulPreferenceCreate");
    if (status) return status;
    status = check(library,
                   library->cublasLtMatmulPreferenceSetAttribute(
                       preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                       sizeof workspace_bytes),
                   "cublasLtMatmulPreferenceSetAttribute");
    if (status == TMAGEN_OK) {
        const cublasStatus_t answer = library->cublasLtMatmulAlgoGetHeuristic(
            library->handle, plan->desc, plan->b, plan->a, plan->c, plan->d, preference,
            CUBLASLT_ALGOS_MAX, plan->algos, &plan->algo_count);
        if (answer || plan->algo_count < 1) {
            status = tmg_fail(TMAGEN_ERROR_ARGUMENT, "cuBLASLt offers nothing for this shape");
        }
    }
    library->cublasLtMatmulPreferenceDestroy(preference);
    return status;
}

int cublaslt_plan_make(struct cublaslt *library, const struct ref_problem *problem,
                       struct cublaslt_plan **result) {
    struct cublaslt_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return tmg_fail_memory();
    plan->library = library;
    const json_t *values = json_object_get(problem->reference->rows, "values");
    const struct ref_tensor *a = ref_tensor_find(problem, "a"), *b = ref_tensor_find(problem, "b"),
                            *d = ref_tensor_find(problem, "d");
    // what C would be, were it read: of 8 bits there is none
    const enum tmg_dtype_id c = is_fp8(d) ? TMG_DTYPE_BF16 : d->dtype;
    plan->integers = d->dtype == TMG_DTYPE_I32;
    int status = describe(plan, json_is_true(json_object_get(values, "a_columns")),
                          json_is_true(json_object_get(values, "b_columns")));
    if (status == TMAGEN_OK) status = describe_ops(plan, problem);
    if (status == TMAGEN_OK && ref_tensor_find(problem, "a_scales"))
        status = describe_blocks(plan, problem);
    else if (status == TMAGEN_OK && is_fp8(a))
        status = describe_fp8(plan, is_fp8(d));
    if (status == TMAGEN_OK) status = make_layout(library, a, a->dtype, &plan->a);
    if (status == TMAGEN_OK) status = make_layout(library, b, b->dtype, &plan->b);
    const struct ref_tensor *added = plan->residual ? ref_tensor_find(problem, "residual") : d;
    if (status == TMAGEN_OK) status = make_layout(library, added, c, &plan->c);
    if (status == TMAGEN_OK) status = make_layout(library, d, d->dtype, &plan->d);
    if (status == TMAGEN_OK) status = ask(plan);
    if (status != TMAGEN_OK) {
        cublaslt_plan_free(plan);
        return status;
    }
    *result = plan;
    return TMAGEN_OK;
}

void cublaslt_plan_free(struct cublaslt_plan *plan) {
    if (!plan) return;
    struct cublaslt *library = plan->library;
    if (plan->a) library->cublasLtMatrixLayoutDestroy(plan->a);
    if (plan->b) library->cublasLtMatrixLayoutDestroy(plan->b);
    if (plan->c) library->cublasLtMatrixLayoutDestroy(plan->c);
    if (plan->d) library->cublasLtMatrixLayoutDestroy(plan->d);
    if (plan->desc) library->cublasLtMatmulDescDestroy(plan->desc);
    free(plan);
}

bool cublaslt_plan_alone(const struct cublaslt_plan *plan) { return plan->alone; }

json_t *cublaslt_product_rows(const struct cublaslt_plan *plan, const json_t *rows) {
    json_t *product = json_deep_copy(rows), *values = json_object_get(product, "values");
    json_object_del(values, "packed");  // that ops round to bf16
    if (!plan->blocks) json_object_del(values, "promoted");
    if (!json_object_set_new(values, "ops", json_array())) return product;
    json_decref(product);
    return NULL;
}

int cublaslt_plan_algos(const struct cublaslt_plan *plan) { return plan->algo_count; }

// A number out of an algorithm; 0 where the library does not know it.
static unsigned configured(const struct cublaslt_plan *plan, int algo, int attribute,
                           size_t bytes) {
    uint32_t value = 0;
    size_t written;
    const cublasStatus_t status = plan->library->cublasLtMatmulAlgoConfigGetAttribute(
        &plan->algos[algo].algo, attribute, &value, bytes, &written);
    return status == 0 ? value : 0;
}

void cublaslt_plan_describe(const struct cublaslt_plan *plan, int algo, char *text, size_t size) {
    const unsigned parts = configured(plan, algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4);
    snprintf(text, size, "tile %u, cluster %u, stages %u",
             configured(plan, algo, CUBLASLT_ALGO_CONFIG_TILE_ID, 4),
             configured(plan, algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2),
             configured(plan, algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, 4));
    const size_t used = strlen(text);
    if (parts > 1) snprintf(text + used, size - used, ", %u parts of K", parts);
}

int cublaslt_launch(struct cublaslt_plan *plan, int algo, CUstream stream,
                    const struct cublaslt_tensors *tensors) {
    struct cublaslt *library = plan->library;
    const union factor {
        float real;
        int integer;
    } one = plan->integers ? (union factor){.integer = 1} : (union factor){1}, zero = {0};
    const void *a = (const void *)(uintptr_t)tensors->a, *b = (const void *)(uintptr_t)tensors->b;
    void *d = (void *)(uintptr_t)tensors->d;
    const void *c = plan->residual ? (const void *)(uintptr_t)tensors->residual : d;
    int status = TMAGEN_OK;
    if (plan->bias) status = set_pointer(plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, tensors->bias);
    if (status == TMAGEN_OK && plan->blocks)
        status = set_pointer(plan, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, tensors->b_scales);
    if (status == TMAGEN_OK && plan->blocks)
        status = set_pointer(plan, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, tensors->a_scales);
    if (status) return status;
    return check(library,
                 library->cublasLtMatmul(
                     library->handle, plan->desc, &one, b, plan->b, a, plan->a,
                     plan->residual ? &one : &zero, c, plan->c, d, plan->d, &plan->algos[algo].algo,
                     (void *)(uintptr_t)library->workspace, workspace_bytes, stream),
                 "cublasLtMatmul");
}
