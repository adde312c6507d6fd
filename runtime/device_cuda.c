// The CUDA backend: a device's primary context, reached through the driver's table of calls.
// Calls may come from threads with another context, or none: each call makes ours current and gives
// the caller's back.
#include <stdio.h>
#include <stdlib.h>

#include "runtime/arch.h"
#include "runtime/device.h"
#include "runtime/driver.h"
#include "runtime/error.h"

struct cuda_state {
    const struct tmg_driver *driver;
    CUdevice device;
    CUcontext context;
};

struct cuda_module {
    CUmodule module;
    CUfunction function;
};

// The context that was current before ours. Where there was none, ours stays.
struct scope {
    CUcontext before;
    int changed;
};

static int enter(const struct cuda_state *cuda, struct scope *scope) {
    *scope = (struct scope){0};
    CUresult result = cuda->driver->cuCtxGetCurrent(&scope->before);
    if (!result && scope->before == cuda->context) return TMAGEN_OK;
    scope->changed = 1;
    if (!result) result = cuda->driver->cuCtxSetCurrent(cuda->context);
    return tmg_driver_check(result, "cuCtxSetCurrent");
}

static int leave(const struct cuda_state *cuda, const struct scope *scope, CUresult result,
                 const char *what) {
    if (scope->changed && scope->before) cuda->driver->cuCtxSetCurrent(scope->before);
    return tmg_driver_check(result, what);
}

// ---- Opening

static const struct {
    int attribute;
    size_t field;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, offsetof(tmagen_device_info, sms)},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, offsetof(tmagen_device_info, clock_khz)},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, offsetof(tmagen_device_info, memory_clock_khz)},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, offsetof(tmagen_device_info, memory_bus_bits)},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
     offsetof(tmagen_device_info, shared_memory_per_block)},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
     offsetof(tmagen_device_info, shared_memory_per_sm)},
};

static void describe(const struct cuda_state *cuda, tmagen_device_info *info) {
    const struct tmg_driver *driver = cuda->driver;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; ++i)
        driver->cuDeviceGetAttribute((int *)(void *)((char *)info + attributes[i].field),
                                     attributes[i].attribute, cuda->device);
    int l2 = 0, major = 0, minor = 0;
    driver->cuDeviceGetAttribute(&l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, cuda->device);
    driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                 cuda->device);
    driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                 cuda->device);
    snprintf(info->arch, sizeof info->arch, "sm_%d%d", major, minor);
    driver->cuDeviceGetName(info->name, sizeof info->name, cuda->device);
    size_t memory = 0;
    driver->cuDeviceTotalMem(&memory, cuda->device);
    info->l2_bytes = l2;
    info->memory_bytes = (int64_t)memory;
    info->driver_version = driver->version;
}

static int check_driver(const struct tmg_driver *driver) {
    if (driver->cuLaunchKernelEx && driver->cuTensorMapEncodeTiled) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_NO_DRIVER,
                    "the CUDA driver is of version %d.%d; 12.0 or later is needed",
                    driver->version / 1000, driver->version % 1000 / 10);
}

static int open_device(struct cuda_state *cuda, int ordinal) {
    int count = 0;
    int status = tmg_driver_check(cuda->driver->cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (!status && ordinal >= count)
        return tmg_fail(TMAGEN_ERROR_NO_DEVICE, "there is no CUDA device %d; the driver sees %d",
                        ordinal, count);
    if (!status)
        status = tmg_driver_check(cuda->driver->cuDeviceGet(&cuda->device, ordinal), "cuDeviceGet");
    if (status) return status;
    CUresult result = cuda->driver->cuDevicePrimaryCtxRetain(&cuda->context, cuda->device);
    return tmg_driver_check(result, "cuDevicePrimaryCtxRetain");
}

static int cuda_open(int ordinal, void **state, tmagen_device_info *info) {
    struct cuda_state cuda = {.driver = tmg_driver()};
    if (!cuda.driver) return tmg_driver_status();
    int status = check_driver(cuda.driver);
    struct cuda_state *kept = status ? NULL : malloc(sizeof *kept);
    if (!status && !kept) status = tmg_fail_memory();
    if (!status) status = open_device(&cuda, ordinal);
    if (status) {
        free(kept);
        return status;
    }
    describe(&cuda, info);
    *kept = cuda;
    *state = kept;
    return TMAGEN_OK;
}

static void cuda_close(void *state) {
    struct cuda_state *cuda = state;
    cuda->driver->cuDevicePrimaryCtxRelease(cuda->device);
    free(cuda);
}

// ---- Memory

// Calls [call] in our context and returns from the function with its status.
#define IN_CONTEXT(cuda, name, call)                                              \
    do {                                                                          \
        struct scope scope;                                                       \
        int status = enter(cuda, &scope);                                         \
        return status ? status : leave(cuda, &scope, (cuda)->driver->call, name); \
    } while (0)

static int cuda_synchronize(void *state) {
    struct cuda_state *cuda = state;
    IN_CONTEXT(cuda, "cuCtxSynchronize", cuCtxSynchronize());
}

static int cuda_alloc(void *state, size_t bytes, tmagen_address *address) {
    struct cuda_state *cuda = state;
    IN_CONTEXT(cuda, "cuMemAlloc", cuMemAlloc(address, bytes));
}

static int free_memory(struct cuda_state *cuda, tmagen_address address) {
    IN_CONTEXT(cuda, "cuMemFree", cuMemFree(address));
}

static void cuda_free(void *state, tmagen_address address) { free_memory(state, address); }

// Waits for the default stream. The driver returns from an upload or a fill before the device's
// memory holds it, which streams that do not wait for the default one would see.
static int settle(struct cuda_state *cuda) {
    IN_CONTEXT(cuda, "cuStreamSynchronize", cuStreamSynchronize(NULL));
}

static int start_upload(struct cuda_state *cuda, tmagen_address to, const void *from,
                        size_t bytes) {
    IN_CONTEXT(cuda, "cuMemcpyHtoD", cuMemcpyHtoD(to, from, bytes));
}

static int cuda_upload(void *state, tmagen_address to, const void *from, size_t bytes) {
    int status = start_upload(state, to, from, bytes);
    return status ? status : settle(state);
}

static int cuda_download(void *state, void *to, tmagen_address from, size_t bytes) {
    struct cuda_state *cuda = state;
    IN_CONTEXT(cuda, "cuMemcpyDtoH", cuMemcpyDtoH(to, from, bytes));
}

static int start_fill(struct cuda_state *cuda, tmagen_address to, uint8_t byte, size_t bytes) {
    IN_CONTEXT(cuda, "cuMemsetD8", cuMemsetD8(to, byte, bytes));
}

static int cuda_fill(void *state, tmagen_address to, uint8_t byte, size_t bytes) {
    int status = start_fill(state, to, byte, bytes);
    return status ? status : settle(state);
}

static int cuda_clear_async(void *state, tmagen_address to, size_t bytes, void *stream) {
    struct cuda_state *cuda = state;
    IN_CONTEXT(cuda, "cuMemsetD8Async", cuMemsetD8Async(to, 0, bytes, stream));
}

// ---- Modules

// The kernel's parameters must be those of the manifest: the driver would read beyond the shorter
// list.
static int check_params(const struct tmg_driver *driver, CUfunction function,
                        const struct tmg_module_source *source) {
    size_t offset, bytes, count = 0;
    CUresult result;
    if (!driver->cuFuncGetParamInfo) return TMAGEN_OK;
    for (; !(result = driver->cuFuncGetParamInfo(function, count, &offset, &bytes)); ++count) {
        if (count >= source->param_count || bytes == source->param_bytes[count]) continue;
        return tmg_fail(TMAGEN_ERROR_MANIFEST,
                        "%s: parameter %zu has %zu bytes in the kernel and %zu in the manifest",
                        source->entry, count, bytes, source->param_bytes[count]);
    }
    if (result != CUDA_ERROR_INVALID_VALUE) return TMAGEN_OK;  // not "past the last": it cannot say
    if (count == source->param_count) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: the kernel has %zu parameters, its manifest %zu",
                    source->entry, count, source->param_count);
}

static unsigned product(const unsigned size[3]) { return size[0] * size[1] * size[2]; }

static int allow_resources(const struct tmg_driver *driver, CUfunction function,
                           const struct tmg_module_source *source) {
    CUresult result = CUDA_SUCCESS;
    if (source->dynamic_shared_bytes)
        result =
            driver->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       (int)source->dynamic_shared_bytes);
    if (result)
        return tmg_fail_within(tmg_driver_check(result, "cuFuncSetAttribute"),
                               "%s: %u bytes of dynamic shared memory", source->entry,
                               source->dynamic_shared_bytes);
    if (product(source->cluster) > TMG_CLUSTER_PORTABLE)
        result = driver->cuFuncSetAttribute(function,
                                            CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    return tmg_driver_check(result, "cuFuncSetAttribute, for a cluster of a size not portable");
}

static CUlaunchAttribute cluster_attribute(const unsigned cluster[3]) {
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    attribute.value.clusterDim.x = cluster[0];
    attribute.value.clusterDim.y = cluster[1];
    attribute.value.clusterDim.z = cluster[2];
    return attribute;
}

// How many blocks of whole clusters are on the device at once; 0 where the driver cannot say.
static int count_resident(const struct cuda_state *cuda, CUfunction function,
                          const struct tmg_module_source *source) {
    CUlaunchAttribute attribute = cluster_attribute(source->cluster);
    CUlaunchConfig config = {.gridDimX = source->cluster[0],
                             .gridDimY = source->cluster[1],
                             .gridDimZ = source->cluster[2],
                             .blockDimX = source->block[0],
                             .blockDimY = source->block[1],
                             .blockDimZ = source->block[2],
                             .sharedMemBytes = source->dynamic_shared_bytes,
                             .attrs = &attribute,
                             .numAttrs = 1};
    int clusters = 0;
    if (product(source->cluster) == 1 || !cuda->driver->cuOccupancyMaxActiveClusters) return 0;
    if (cuda->driver->cuOccupancyMaxActiveClusters(&clusters, function, &config)) return 0;
    return clusters * (int)product(source->cluster);
}

static void describe_module(const struct cuda_state *cuda, CUfunction function,
                            const struct tmg_module_source *source, struct tmg_module_info *info) {
    const struct tmg_driver *driver = cuda->driver;
    *info = (struct tmg_module_info){-1, -1, -1, 0, 0};
    driver->cuFuncGetAttribute(&info->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
    driver->cuFuncGetAttribute(&info->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function);
    driver->cuFuncGetAttribute(&info->shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &info->blocks_per_sm, function, (int)product(source->block), source->dynamic_shared_bytes);
    info->resident_blocks = count_resident(cuda, function, source);
}

// Loads in our context, which is current.
static int load_module(const struct cuda_state *cuda, const struct tmg_module_source *source,
                       struct cuda_module *module, struct tmg_module_info *info) {
    const struct tmg_driver *driver = cuda->driver;
    int status = tmg_driver_check(driver->cuModuleLoadData(&module->module, source->code),
                                  "cuModuleLoadData");
    if (status)
        return tmg_fail_within(status, "%s: the driver, of CUDA %d.%d, does not load it",
                               source->entry, driver->version / 1000, driver->version % 1000 / 10);
    CUresult result = driver->cuModuleGetFunction(&module->function, module->module, source->entry);
    status = tmg_driver_check(result, "cuModuleGetFunction");
    if (status)
        status =
            tmg_fail_within(TMAGEN_ERROR_MANIFEST, "%s: no kernel of that name", source->entry);
    if (!status) status = check_params(driver, module->function, source);
    if (!status) status = allow_resources(driver, module->function, source);
    if (status)
        driver->cuModuleUnload(module->module);
    else
        describe_module(cuda, module->function, source, info);
    return status;
}

static int cuda_module_load(void *state, const struct tmg_module_source *source, void **module,
                            struct tmg_module_info *info) {
    struct cuda_state *cuda = state;
    struct cuda_module *loaded = malloc(sizeof *loaded);
    if (!loaded) return tmg_fail_memory();
    struct scope scope;
    int status = enter(cuda, &scope);
    if (!status) {
        status = load_module(cuda, source, loaded, info);
        leave(cuda, &scope, CUDA_SUCCESS, "");
    }
    if (status)
        free(loaded);
    else
        *module = loaded;
    return status;
}

static int unload_module(struct cuda_state *cuda, struct cuda_module *module) {
    IN_CONTEXT(cuda, "cuModuleUnload", cuModuleUnload(module->module));
}

static void cuda_module_unload(void *state, void *module) {
    unload_module(state, module);
    free(module);
}

// ---- Launching

static int encode_im2col(const struct tmg_driver *driver, const struct tmg_tensor_map_args *args,
                         struct tmg_tensor_map *map) {
    if (!driver->cuTensorMapEncodeIm2col)
        return tmg_fail(TMAGEN_ERROR_NO_DRIVER, "the CUDA driver encodes no im2col tensor maps");
    CUresult result = driver->cuTensorMapEncodeIm2col(
        (CUtensorMap *)map, args->type, args->rank, (void *)(uintptr_t)args->address, args->dims,
        args->strides, args->lower, args->upper, args->channels, args->pixels,
        args->element_strides, args->interleave, args->swizzle, args->l2_promotion, args->fill);
    return tmg_driver_check(result, "cuTensorMapEncodeIm2col");
}

static int cuda_tensor_map(void *state, const struct tmg_tensor_map_args *args,
                           struct tmg_tensor_map *map) {
    struct cuda_state *cuda = state;
    if (args->im2col) return encode_im2col(cuda->driver, args, map);
    CUresult result = cuda->driver->cuTensorMapEncodeTiled(
        (CUtensorMap *)map, args->type, args->rank, (void *)(uintptr_t)args->address, args->dims,
        args->strides, args->box, args->element_strides, args->interleave, args->swizzle,
        args->l2_promotion, args->fill);
    return tmg_driver_check(result, "cuTensorMapEncodeTiled");
}

static int cuda_launch(void *state, void *module, const struct tmg_launch_config *launch,
                       void *stream, void **params) {
    struct cuda_state *cuda = state;
    CUlaunchAttribute list[2];
    CUlaunchConfig config = {.gridDimX = launch->grid[0],
                             .gridDimY = launch->grid[1],
                             .gridDimZ = launch->grid[2],
                             .blockDimX = launch->block[0],
                             .blockDimY = launch->block[1],
                             .blockDimZ = launch->block[2],
                             .sharedMemBytes = launch->dynamic_shared_bytes,
                             .hStream = stream,
                             .attrs = list};
    if (product(launch->cluster) > 1) list[config.numAttrs++] = cluster_attribute(launch->cluster);
    if (launch->flags & TMAGEN_LAUNCH_OVERLAP) {
        CUlaunchAttribute overlap = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
        overlap.value.programmaticStreamSerializationAllowed = 1;
        list[config.numAttrs++] = overlap;
    }
    CUfunction function = ((struct cuda_module *)module)->function;
    IN_CONTEXT(cuda, "cuLaunchKernelEx", cuLaunchKernelEx(&config, function, params, NULL));
}

int tmg_device_make_current(tmagen_device *device) {
    if (device->backend != &tmg_cuda_backend) return TMAGEN_OK;
    struct cuda_state *cuda = device->state;
    return tmg_driver_check(cuda->driver->cuCtxSetCurrent(cuda->context), "cuCtxSetCurrent");
}

const struct tmg_backend tmg_cuda_backend = {
    .name = "cuda",
    .kind = TMAGEN_CUBIN,
    .open = cuda_open,
    .close = cuda_close,
    .synchronize = cuda_synchronize,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .fill = cuda_fill,
    .module_load = cuda_module_load,
    .module_unload = cuda_module_unload,
    .tensor_map = cuda_tensor_map,
    .clear_async = cuda_clear_async,
    .launch = cuda_launch,
};
