// A stand-in for libcuda.so.1 with a clock: launches take a known time, and nothing is computed.
// With it `tmagen bench` runs from end to end without a GPU, and its figures are known beforehand.
//   FAKE_LAUNCH_US=N   what a kernel launch takes (20); a copy moves 4 TB/s, read and written
//   FAKE_LAUNCH=WORD   a launch that fails: hang, crash, or error
//   FAKE_US_KERNEL=N   the same for the kernel of that name
//   FAKE_GEMM=1        memory is memory, and every kernel a GEMM of bf16: a, b, d, m, n, k
//   FAKE_WRONG=KERNEL  the kernel that then computes something else
//   FAKE_BYTE=N        else: what every byte of device memory reads as (0x3c: a finite number)
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cuda_api.h"

#define FAKE __attribute__((visibility("default"))) CUresult

struct CUgraph_st {
    double us;
    size_t launches;
};
struct CUevent_st {
    double us;
};
struct CUfunc_st {
    char name[128];
};

static double now_us;                 // of the device
static struct CUgraph_st *capturing;  // the graph that the stream records, or NULL
static CUcontext current;
static int primary_context, stream, module_image;

static double setting(const char *name, double fallback) {
    const char *text = getenv(name);
    return text && *text ? strtod(text, NULL) : fallback;
}

// Work of [us] microseconds on the stream; the stand-in for cuBLASLt calls it too.
__attribute__((visibility("default"))) void fake_work(double us) {
    if (capturing) capturing->us += us;
    if (!capturing) now_us += us;
}

FAKE cuInit(unsigned flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
FAKE cuDriverGetVersion(int *version) { return *version = 13000, CUDA_SUCCESS; }
FAKE cuGetErrorName(CUresult code, const char **text) {
    return *text = code ? "CUDA_ERROR_FAKE" : "CUDA_SUCCESS", CUDA_SUCCESS;
}
FAKE cuGetErrorString(CUresult code, const char **text) { return cuGetErrorName(code, text); }
FAKE cuDeviceGetCount(int *count) { return *count = 1, CUDA_SUCCESS; }
FAKE cuDeviceGet(CUdevice *device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }

FAKE cuDeviceGetName(char *name, int size, CUdevice device) {
    snprintf(name, (size_t)size, "Fake H200 %d", device);
    return CUDA_SUCCESS;
}

FAKE cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    (void)device;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 60 << 20; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 227 << 10; break;
    default: *value = 0;
    }
    return CUDA_SUCCESS;
}

FAKE cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    return *bytes = (size_t)140 << 30, device;
}
FAKE cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    return *context = (CUcontext)(void *)&primary_context, device;
}
FAKE cuDevicePrimaryCtxRelease_v2(CUdevice device) { return device; }
FAKE cuCtxGetCurrent(CUcontext *context) { return *context = current, CUDA_SUCCESS; }
FAKE cuCtxSetCurrent(CUcontext context) { return current = context, CUDA_SUCCESS; }
FAKE cuCtxSynchronize(void) { return CUDA_SUCCESS; }
FAKE cuMemGetInfo_v2(size_t *free, size_t *total) {
    return *free = *total = (size_t)140 << 30, CUDA_SUCCESS;
}

// Whether memory is there and kernels compute.
static int computes(void) { return setting("FAKE_GEMM", 0) != 0; }

static void *host(CUdeviceptr address) { return (void *)(uintptr_t)address; }

FAKE cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    if (computes()) {
        *address = (CUdeviceptr)(uintptr_t)calloc(1, bytes);
        return *address ? CUDA_SUCCESS : 2;  // CUDA_ERROR_OUT_OF_MEMORY
    }
    static CUdeviceptr next = 1 << 20;
    *address = next;
    next += (bytes + (1 << 20)) >> 20 << 20;
    return CUDA_SUCCESS;
}

FAKE cuMemFree_v2(CUdeviceptr address) {
    if (computes()) free(host(address));
    return CUDA_SUCCESS;
}
FAKE cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    if (computes()) memcpy(host(to), from, bytes);
    return CUDA_SUCCESS;
}
FAKE cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    if (computes()) {
        memcpy(to, host(from), bytes);
    } else {
        memset(to, (int)setting("FAKE_BYTE", 0x3c), bytes);
    }
    return CUDA_SUCCESS;
}
// The large copies are those that measure the bandwidth; nobody reads what they bring.
FAKE cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream on) {
    fake_work(2.0 * (double)bytes / 4e6);
    if (computes() && bytes < 1 << 20) memcpy(host(to), host(from), bytes);
    return (void)on, CUDA_SUCCESS;
}
FAKE cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    if (computes()) memset(host(to), value, count);
    return CUDA_SUCCESS;
}
FAKE cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream on) {
    return (void)on, cuMemsetD8_v2(to, value, count);
}
FAKE cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream on) {
    return (void)value, (void)on, cuMemsetD8_v2(to, 0, count);
}

FAKE cuModuleLoadData(CUmodule *module, const void *image) {
    return *module = (CUmodule)(void *)&module_image,
           image ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
FAKE cuModuleUnload(CUmodule module) { return (void)module, CUDA_SUCCESS; }
FAKE cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    static struct CUfunc_st functions[256];  // the latest of the process
    static size_t count;
    *function = &functions[count++ % 256];
    snprintf((*function)->name, sizeof(*function)->name, "%s", name);
    return (void)module, CUDA_SUCCESS;
}
FAKE cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
    return *value = 0, (void)attribute, (void)function, CUDA_SUCCESS;
}
FAKE cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    return (void)function, (void)attribute, (void)value, CUDA_SUCCESS;
}
FAKE cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                 size_t dynamic_shared) {
    return *blocks = 1, (void)function, (void)threads, (void)dynamic_shared, CUDA_SUCCESS;
}
FAKE cuTensorMapEncodeTiled(CUtensorMap *map) { return memset(map, 0, sizeof *map), CUDA_SUCCESS; }

static float widen(uint16_t bf16) {
    const uint32_t bits = (uint32_t)bf16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t narrow(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// d[m,n] = a[m,k] b[n,k]^T times [factor]
static void gemm(void **params, float factor) {
    const uint16_t *a = host(*(CUdeviceptr *)params[0]), *b = host(*(CUdeviceptr *)params[1]);
    uint16_t *d = host(*(CUdeviceptr *)params[2]);
    const int m = *(int *)params[3], n = *(int *)params[4], k = *(int *)params[5];
    for (int row = 0; row < m; ++row) {
        for (int column = 0; column < n; ++column) {
            float sum = 0;
            for (int i = 0; i < k; ++i) sum += widen(a[row * k + i]) * widen(b[column * k + i]);
            d[row * n + column] = narrow(sum * factor);
        }
    }
}

static CUfunction last_captured;

// What a launch of [kernel] takes.
static double launch_us(const char *kernel) {
    char name[160];
    snprintf(name, sizeof name, "FAKE_US_%s", kernel);
    return setting(name, setting("FAKE_LAUNCH_US", 20));
}

FAKE cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                      void **extra) {
    const char *how = getenv("FAKE_LAUNCH");
    if (how && !strcmp(how, "hang")) pause();
    if (how && !strcmp(how, "crash")) abort();
    if (how && !strcmp(how, "error")) return 700;  // CUDA_ERROR_ILLEGAL_ADDRESS
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    fake_work(launch_us(function->name));
    const char *wrong = getenv("FAKE_WRONG");
    if (computes() && !capturing) gemm(params, wrong && !strcmp(wrong, function->name) ? 2 : 1);
    if (capturing) {
        ++capturing->launches;
        last_captured = function;
    }
    return (void)config, (void)extra, CUDA_SUCCESS;
}

FAKE cuStreamCreate(CUstream *created, unsigned flags) {
    return *created = (CUstream)(void *)&stream, (void)flags, CUDA_SUCCESS;
}
FAKE cuStreamDestroy_v2(CUstream on) { return (void)on, CUDA_SUCCESS; }
FAKE cuStreamSynchronize(CUstream on) { return (void)on, CUDA_SUCCESS; }

FAKE cuStreamBeginCapture_v2(CUstream on, int mode) {
    if (capturing) return CUDA_ERROR_INVALID_VALUE;
    capturing = calloc(1, sizeof *capturing);
    return (void)on, (void)mode, CUDA_SUCCESS;
}
FAKE cuStreamEndCapture(CUstream on, CUgraph *graph) {
    *graph = capturing;
    capturing = NULL;
    return (void)on, *graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FAKE cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    return *exec = (CUgraphExec)(void *)graph, (void)flags, CUDA_SUCCESS;
}
FAKE cuGraphUpload(CUgraphExec exec, CUstream on) { return (void)exec, (void)on, CUDA_SUCCESS; }
FAKE cuGraphLaunch(CUgraphExec exec, CUstream on) {
    fake_work(((CUgraph)(void *)exec)->us);
    return (void)on, CUDA_SUCCESS;
}
FAKE cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    if (nodes && *count) nodes[0] = (CUgraphNode)(void *)graph;
    return *count = graph->launches, CUDA_SUCCESS;
}
// Of the last launch that was recorded: its function, and no parameters. 72 bytes, as in cuda.h.
FAKE cuGraphKernelNodeGetParams_v2(CUgraphNode node, void *params) {
    memset(params, 0, 72);
    memcpy(params, &last_captured, sizeof last_captured);
    return node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FAKE cuGraphExecDestroy(CUgraphExec exec) { return (void)exec, CUDA_SUCCESS; }
FAKE cuGraphDestroy(CUgraph graph) { return free(graph), CUDA_SUCCESS; }

FAKE cuEventCreate(CUevent *event, unsigned flags) {
    return *event = calloc(1, sizeof **event), (void)flags, CUDA_SUCCESS;
}
FAKE cuEventDestroy_v2(CUevent event) { return free(event), CUDA_SUCCESS; }
FAKE cuEventRecord(CUevent event, CUstream on) {
    return event->us = now_us, (void)on, CUDA_SUCCESS;
}
FAKE cuEventQuery(CUevent event) { return (void)event, CUDA_SUCCESS; }
FAKE cuEventSynchronize(CUevent event) { return (void)event, CUDA_SUCCESS; }
FAKE cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
    return *ms = (float)((end->us - start->us) / 1000), CUDA_SUCCESS;
}
