// The parts of the CUDA driver's and NVRTC's binary interface that are used here, declared by hand.
// No CUDA header is needed to build, and the table of calls is what driver.c loads by name.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;  // 0 is success
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphNode_st *CUgraphNode;

enum {  // CUresult
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_NOT_READY = 600
};

enum {  // CUdevice_attribute
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
};

enum {  // CUfunction_attribute
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
    CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
};

enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DEFAULT = 0, CU_EVENT_DISABLE_TIMING = 2 };
enum {
    CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2
};

// ---- Launches ----
enum {  // CUlaunchAttributeID
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6
};

typedef union CUlaunchAttributeValue {
    char pad[64];
    struct {
        unsigned x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
    uint64_t alignment;  // the driver's union holds pointers
} CUlaunchAttributeValue;

typedef struct CUlaunchAttribute {
    int id;
    char pad[4];
    CUlaunchAttributeValue value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

// ---- Tensor maps ----
typedef struct CUtensorMap {
    _Alignas(128) uint64_t opaque[16];
} CUtensorMap;

enum {  // CUtensorMapDataType
    CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
    CU_TENSOR_MAP_DATA_TYPE_UINT16,
    CU_TENSOR_MAP_DATA_TYPE_UINT32,
    CU_TENSOR_MAP_DATA_TYPE_INT32,
    CU_TENSOR_MAP_DATA_TYPE_UINT64,
    CU_TENSOR_MAP_DATA_TYPE_INT64,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B = 13,
    CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B,
    CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B
};
enum { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };
enum {  // CUtensorMapSwizzle
    CU_TENSOR_MAP_SWIZZLE_NONE = 0,
    CU_TENSOR_MAP_SWIZZLE_32B,
    CU_TENSOR_MAP_SWIZZLE_64B,
    CU_TENSOR_MAP_SWIZZLE_128B
};
enum {  // CUtensorMapL2promotion
    CU_TENSOR_MAP_L2_PROMOTION_NONE = 0,
    CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
    CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
    CU_TENSOR_MAP_L2_PROMOTION_L2_256B
};
enum {
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,  // zeros
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA = 1
};

// ---- The driver's calls: X(field, exported symbol, needed, arguments) ----
// [needed] 0: an older driver may lack it, and the field is then NULL.
#define TMG_DRIVER_CALLS(X)                                                                        \
    X(cuInit, "cuInit", 1, (unsigned flags))                                                       \
    X(cuDriverGetVersion, "cuDriverGetVersion", 1, (int *version))                                 \
    X(cuGetErrorName, "cuGetErrorName", 1, (CUresult code, const char **text))                     \
    X(cuGetErrorString, "cuGetErrorString", 1, (CUresult code, const char **text))                 \
    X(cuDeviceGetCount, "cuDeviceGetCount", 1, (int *count))                                       \
    X(cuDeviceGet, "cuDeviceGet", 1, (CUdevice * device, int ordinal))                             \
    X(cuDeviceGetName, "cuDeviceGetName", 1, (char *name, int size, CUdevice device))              \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", 1,                                             \
      (int *value, int attribute, CUdevice device))                                                \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", 1, (size_t * bytes, CUdevice device))               \
    X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", 0, (char *id, int size, CUdevice device))        \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 1,                                     \
      (CUcontext * context, CUdevice device))                                                      \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", 1, (CUdevice device))             \
    X(cuCtxGetCurrent, "cuCtxGetCurrent", 1, (CUcontext * context))                                \
    X(cuCtxGetDevice, "cuCtxGetDevice", 0, (CUdevice * device))                                    \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", 1, (CUcontext context))                                  \
    X(cuCtxSynchronize, "cuCtxSynchronize", 1, (void))                                             \
    X(cuMemGetInfo, "cuMemGetInfo_v2", 1, (size_t * free, size_t * total))                         \
    X(cuMemAlloc, "cuMemAlloc_v2", 1, (CUdeviceptr * address, size_t bytes))                       \
    X(cuMemFree, "cuMemFree_v2", 1, (CUdeviceptr address))                                         \
    X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", 1, (CUdeviceptr to, const void *from, size_t bytes))        \
    X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", 1, (void *to, CUdeviceptr from, size_t bytes))              \
    X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", 1,                                                \
      (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                           \
    X(cuMemsetD8, "cuMemsetD8_v2", 1, (CUdeviceptr to, unsigned char value, size_t count))         \
    X(cuMemsetD8Async, "cuMemsetD8Async", 1,                                                       \
      (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))                        \
    X(cuMemsetD32Async, "cuMemsetD32Async", 1,                                                     \
      (CUdeviceptr to, unsigned value, size_t count, CUstream stream))                             \
    X(cuModuleLoadData, "cuModuleLoadData", 1, (CUmodule * module, const void *image))             \
    X(cuModuleUnload, "cuModuleUnload", 1, (CUmodule module))                                      \
    X(cuModuleGetFunction, "cuModuleGetFunction", 1,                                               \
      (CUfunction * function, CUmodule module, const char *name))                                  \
    X(cuFuncGetAttribute, "cuFuncGetAttribute", 1,                                                 \
      (int *value, int attribute, CUfunction function))                                            \
    X(cuFuncSetAttribute, "cuFuncSetAttribute", 1,                                                 \
      (CUfunction function, int attribute, int value))                                             \
    X(cuFuncGetParamInfo, "cuFuncGetParamInfo", 0,                                                 \
      (CUfunction function, size_t index, size_t * offset, size_t * bytes))                        \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor",  \
      1, (int *blocks, CUfunction function, int threads, size_t dynamic_shared))                   \
    X(cuOccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters", 0,                             \
      (int *clusters, CUfunction function, const CUlaunchConfig *config))                          \
    X(cuLaunchKernelEx, "cuLaunchKernelEx", 0,                                                     \
      (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))            \
    X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled", 0,                                         \
      (CUtensorMap * map, int type, uint32_t rank, void *address, const uint64_t *dims,            \
       const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,              \
       int interleave, int swizzle, int l2_promotion, int fill))                                   \
    X(cuTensorMapEncodeIm2col, "cuTensorMapEncodeIm2col", 0,                                       \
      (CUtensorMap * map, int type, uint32_t rank, void *address, const uint64_t *dims,            \
       const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,             \
       uint32_t pixels, const uint32_t *element_strides, int interleave, int swizzle,              \
       int l2_promotion, int fill))                                                                \
    X(cuStreamCreate, "cuStreamCreate", 1, (CUstream * stream, unsigned flags))                    \
    X(cuStreamDestroy, "cuStreamDestroy_v2", 1, (CUstream stream))                                 \
    X(cuStreamSynchronize, "cuStreamSynchronize", 1, (CUstream stream))                            \
    X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", 1, (CUstream stream, int mode))             \
    X(cuStreamEndCapture, "cuStreamEndCapture", 1, (CUstream stream, CUgraph * graph))             \
    X(cuGraphInstantiate, "cuGraphInstantiateWithFlags", 1,                                        \
      (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                               \
    X(cuGraphUpload, "cuGraphUpload", 1, (CUgraphExec exec, CUstream stream))                      \
    X(cuGraphLaunch, "cuGraphLaunch", 1, (CUgraphExec exec, CUstream stream))                      \
    X(cuGraphGetNodes, "cuGraphGetNodes", 1, (CUgraph graph, CUgraphNode * nodes, size_t * count)) \
    X(cuGraphExecDestroy, "cuGraphExecDestroy", 1, (CUgraphExec exec))                             \
    X(cuGraphDestroy, "cuGraphDestroy", 1, (CUgraph graph))                                        \
    X(cuEventCreate, "cuEventCreate", 1, (CUevent * event, unsigned flags))                        \
    X(cuEventDestroy, "cuEventDestroy_v2", 1, (CUevent event))                                     \
    X(cuEventRecord, "cuEventRecord", 1, (CUevent event, CUstream stream))                         \
    X(cuEventQuery, "cuEventQuery", 1, (CUevent event))                                            \
    X(cuEventSynchronize, "cuEventSynchronize", 1, (CUevent event))                                \
    X(cuEventElapsedTime, "cuEventElapsedTime", 1, (float *ms, CUevent start, CUevent end))

// ---- NVRTC's calls, in the same form ----
typedef int nvrtcResult;  // 0 is success
typedef struct _nvrtcProgram *nvrtcProgram;

#define TMG_NVRTC_CALLS(X)                                                                       \
    X(nvrtcVersion, (int *major, int *minor))                                                    \
    X(nvrtcCreateProgram,                                                                        \
      (nvrtcProgram * program, const char *source, const char *name, int header_count,           \
       const char *const *headers, const char *const *names))                                    \
    X(nvrtcDestroyProgram, (nvrtcProgram * program))                                             \
    X(nvrtcCompileProgram, (nvrtcProgram program, int option_count, const char *const *options)) \
    X(nvrtcGetCUBINSize, (nvrtcProgram program, size_t * bytes))                                 \
    X(nvrtcGetCUBIN, (nvrtcProgram program, char *cubin))                                        \
    X(nvrtcGetPTXSize, (nvrtcProgram program, size_t * bytes))                                   \
    X(nvrtcGetPTX, (nvrtcProgram program, char *ptx))                                            \
    X(nvrtcGetProgramLogSize, (nvrtcProgram program, size_t * bytes))                            \
    X(nvrtcGetProgramLog, (nvrtcProgram program, char *log))

enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_INVALID_OPTION = 5, NVRTC_ERROR_COMPILATION = 6 };
