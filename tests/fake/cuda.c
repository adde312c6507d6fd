// A stand-in for libcuda.so.1: one device, memory on the host, launches recorded and not run.
// With it the CUDA backend is tested where there is no GPU. FAKE_CUDA=none has no device.
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cuda.h"

__attribute__((visibility("default"))) struct fake_cuda fake_cuda = {.active_clusters = 60};

static _Thread_local CUcontext current;
static int primary_context;  // its address is the context

#define FAKE __attribute__((visibility("default"))) CUresult
FAKE cuInit(unsigned flags) {
    const char *kind = getenv("FAKE_CUDA");
    return flags || (kind && !strcmp(kind, "none")) ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

FAKE cuDriverGetVersion(int *version) { return *version = 13000, CUDA_SUCCESS; }

FAKE cuGetErrorName(CUresult code, const char **text) {
    *text = code == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_FAKE";
    return CUDA_SUCCESS;
}

FAKE cuGetErrorString(CUresult code, const char **text) {
    *text =
        code == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "as the test wants";
    return CUDA_SUCCESS;
}

FAKE cuDeviceGetCount(int *count) { return *count = 1, CUDA_SUCCESS; }

FAKE cuDeviceGet(CUdevice *device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }

FAKE cuDeviceGetName(char *name, int size, CUdevice device) {
    (void)device;
    strncpy(name, "Fake H200", (size_t)size);
    return CUDA_SUCCESS;
}

FAKE cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    static const struct {
        int attribute, value;
    } table[] = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 60 << 20},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10},
    };
    (void)device;
    *value = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i)
        if (table[i].attribute == attribute) *value = table[i].value;
    return CUDA_SUCCESS;
}

FAKE cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    (void)device;
    return *bytes = (size_t)1 << 37, CUDA_SUCCESS;
}

FAKE cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    (void)device;
    return *context = (CUcontext)(void *)&primary_context, CUDA_SUCCESS;
}

FAKE cuCtxGetCurrent(CUcontext *context) { return *context = current, CUDA_SUCCESS; }

FAKE cuCtxSetCurrent(CUcontext context) { return current = context, CUDA_SUCCESS; }

FAKE cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    if (bytes > (size_t)1 << 30) return CUDA_ERROR_OUT_OF_MEMORY;
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    *address = (CUdeviceptr)(uintptr_t)memory;
    return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

FAKE cuMemFree_v2(CUdeviceptr address) { return free((void *)(uintptr_t)address), CUDA_SUCCESS; }

FAKE cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    return memcpy((void *)(uintptr_t)to, from, bytes), CUDA_SUCCESS;
}

FAKE cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    return memcpy(to, (void *)(uintptr_t)from, bytes), CUDA_SUCCESS;
}

FAKE cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    return memset((void *)(uintptr_t)to, value, count), CUDA_SUCCESS;
}

FAKE cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    (void)stream;
    return memset((void *)(uintptr_t)to, value, count), CUDA_SUCCESS;
}

FAKE cuModuleLoadData(CUmodule *module, const void *image) {
    *module = (CUmodule)(uintptr_t)image;
    return fake_cuda.load_result;
}

FAKE cuModuleUnload(CUmodule module) {
    (void)module;
    return ++fake_cuda.unloads, CUDA_SUCCESS;
}

FAKE cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    *function = (CUfunction)(void *)module;
    return strcmp(name, "no_such_kernel") ? CUDA_SUCCESS : 500;
}

FAKE cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
    (void)function;
    *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 168 : 0;
    return CUDA_SUCCESS;
}

FAKE cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    (void)function;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        fake_cuda.dynamic_shared_bytes = value;
    return CUDA_SUCCESS;
}

FAKE cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes) {
    (void)function;
    if (!fake_cuda.param_count) return CUDA_ERROR_NOT_READY;
    if (index >= fake_cuda.param_count) return CUDA_ERROR_INVALID_VALUE;
    *offset = 0;
    *bytes = fake_cuda.param_bytes[index];
    return CUDA_SUCCESS;
}

FAKE cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                 size_t dynamic_shared) {
    (void)function, (void)threads, (void)dynamic_shared;
    return *blocks = 1, CUDA_SUCCESS;
}

FAKE cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
                                  const CUlaunchConfig *config) {
    (void)function, (void)config;
    return *clusters = fake_cuda.active_clusters, CUDA_SUCCESS;
}

FAKE cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                      void **extra) {
    (void)function, (void)extra;
    fake_cuda.config = *config;
    for (unsigned i = 0; i < config->numAttrs; ++i) fake_cuda.attributes[i] = config->attrs[i];
    for (size_t i = 0; i < fake_cuda.param_count; ++i)
        memcpy(fake_cuda.params[i], params[i], fake_cuda.param_bytes[i]);
    fake_cuda.launch_context = current;
    ++fake_cuda.launches;
    return fake_cuda.launch_result;
}

FAKE cuTensorMapEncodeTiled(CUtensorMap *map, int type, uint32_t rank, void *address,
                            const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                            const uint32_t *element_strides, int interleave, int swizzle,
                            int l2_promotion, int fill) {
    (void)element_strides, (void)interleave, (void)l2_promotion, (void)fill;
    const uint64_t words[16] = {(uintptr_t)address,
                                dims[0],
                                rank > 1 ? dims[1] : 0,
                                rank > 1 ? strides[0] : 0,
                                box[0],
                                rank > 1 ? box[1] : 0,
                                (uint64_t)type,
                                (uint64_t)swizzle,
                                rank};
    memcpy(map, words, sizeof words);
    ++fake_cuda.encodes;
    return fake_cuda.encode_result;
}

// Calls that must be there and that nothing here uses.
#define IDLE(name) \
    FAKE name(void) { return CUDA_SUCCESS; }
IDLE(cuDevicePrimaryCtxRelease_v2)
IDLE(cuCtxSynchronize)
IDLE(cuMemGetInfo_v2)
IDLE(cuMemcpyDtoDAsync_v2)
IDLE(cuMemsetD32Async)
IDLE(cuStreamCreate)
IDLE(cuStreamDestroy_v2)
IDLE(cuStreamSynchronize)
IDLE(cuStreamBeginCapture_v2)
IDLE(cuStreamEndCapture)
IDLE(cuGraphInstantiateWithFlags)
IDLE(cuGraphUpload)
IDLE(cuGraphLaunch)
IDLE(cuGraphGetNodes)
IDLE(cuGraphExecDestroy)
IDLE(cuGraphDestroy)
IDLE(cuEventCreate)
IDLE(cuEventDestroy_v2)
IDLE(cuEventRecord)
IDLE(cuEventQuery)
IDLE(cuEventSynchronize)
IDLE(cuEventElapsedTime)
