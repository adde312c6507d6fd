// Streams, graphs and events over the driver's table.
// Capture is relaxed: a peer's library may load a module when it is first asked to launch.
#include "measure/gpu.h"

#include "measure/nvml.h"
#include "runtime/device.h"
#include "runtime/error.h"

// Has NVML, where it is there, look at the device that the driver opened.
static void choose_sensors(const struct tmg_driver *driver) {
    CUdevice device;
    char id[32];
    if (driver->cuCtxGetDevice && driver->cuDeviceGetPCIBusId && !driver->cuCtxGetDevice(&device) &&
        !driver->cuDeviceGetPCIBusId(id, sizeof id, device))
        nvml_choose(id);
}

int gpu_open(const char *name, struct gpu *gpu) {
    *gpu = (struct gpu){.driver = tmg_driver()};
    if (!gpu->driver) return TMAGEN_ERROR_NO_DRIVER;
    int status = tmagen_device_open(name, &gpu->device);
    if (status == TMAGEN_OK) status = tmagen_device_get_info(gpu->device, &gpu->info);
    if (status == TMAGEN_OK) status = tmg_device_make_current(gpu->device);
    if (status == TMAGEN_OK) {
        status = tmg_driver_check(gpu->driver->cuStreamCreate(&gpu->stream, CU_STREAM_NON_BLOCKING),
                                  "cuStreamCreate");
    }
    if (status == TMAGEN_OK) choose_sensors(gpu->driver);
    if (status != TMAGEN_OK) gpu_close(gpu);
    return status;
}

void gpu_close(struct gpu *gpu) {
    if (gpu->stream) gpu->driver->cuStreamDestroy(gpu->stream);
    tmagen_device_close(gpu->device);
    gpu->stream = NULL;
    gpu->device = NULL;
}

int gpu_wait(struct gpu *gpu) {
    return tmg_driver_check(gpu->driver->cuStreamSynchronize(gpu->stream), "the launches before");
}

int gpu_record(struct gpu *gpu, int (*enqueue)(void *, CUstream), void *context,
               struct gpu_graph *graph) {
    const struct tmg_driver *driver = gpu->driver;
    *graph = (struct gpu_graph){0};
    int status =
        tmg_driver_check(driver->cuStreamBeginCapture(gpu->stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                         "cuStreamBeginCapture");
    if (status != TMAGEN_OK) return status;
    status = enqueue(context, gpu->stream);
    // the capture has to end in any case; an error of enqueue() goes before one of the end
    const CUresult ended = driver->cuStreamEndCapture(gpu->stream, &graph->graph);
    if (status == TMAGEN_OK) status = tmg_driver_check(ended, "cuStreamEndCapture");
    if (status == TMAGEN_OK) {
        status = tmg_driver_check(driver->cuGraphInstantiate(&graph->exec, graph->graph, 0),
                                  "cuGraphInstantiateWithFlags");
    }
    if (status == TMAGEN_OK) {
        status = tmg_driver_check(driver->cuGraphUpload(graph->exec, gpu->stream), "cuGraphUpload");
    }
    if (status != TMAGEN_OK) gpu_graph_free(gpu, graph);
    return status;
}

int gpu_replay(struct gpu *gpu, const struct gpu_graph *graph) {
    return tmg_driver_check(gpu->driver->cuGraphLaunch(graph->exec, gpu->stream), "cuGraphLaunch");
}

void gpu_graph_free(struct gpu *gpu, struct gpu_graph *graph) {
    if (graph->exec) gpu->driver->cuGraphExecDestroy(graph->exec);
    if (graph->graph) gpu->driver->cuGraphDestroy(graph->graph);
    *graph = (struct gpu_graph){0};
}

int gpu_time_stream(struct gpu *gpu, int (*enqueue)(void *, CUstream), void *context, int times,
                    double *ms) {
    const struct tmg_driver *driver = gpu->driver;
    CUevent events[2] = {NULL, NULL};
    float elapsed = 0;
    int status = TMAGEN_OK;
    for (int i = 0; i < 2 && status == TMAGEN_OK; ++i) {
        status =
            tmg_driver_check(driver->cuEventCreate(&events[i], CU_EVENT_DEFAULT), "cuEventCreate");
    }
    if (status == TMAGEN_OK) {
        status = tmg_driver_check(driver->cuEventRecord(events[0], gpu->stream), "cuEventRecord");
    }
    for (int i = 0; i < times && status == TMAGEN_OK; ++i) status = enqueue(context, gpu->stream);
    if (status == TMAGEN_OK) {
        status = tmg_driver_check(driver->cuEventRecord(events[1], gpu->stream), "cuEventRecord");
    }
    if (status == TMAGEN_OK) status = gpu_wait(gpu);
    if (status == TMAGEN_OK) {
        status = tmg_driver_check(driver->cuEventElapsedTime(&elapsed, events[0], events[1]),
                                  "cuEventElapsedTime");
    }
    for (int i = 0; i < 2; ++i) {
        if (events[i]) driver->cuEventDestroy(events[i]);
    }
    *ms = elapsed;
    return status;
}

size_t gpu_share(const struct gpu *gpu, size_t bytes) {
    const size_t most = (size_t)gpu->info.memory_bytes / 8;
    return bytes < most ? bytes : most;
}

struct replaying {
    struct gpu *gpu;
    const struct gpu_graph *graph;
};

static int enqueue_replay(void *context, CUstream stream) {
    const struct replaying *replaying = context;
    (void)stream;
    return gpu_replay(replaying->gpu, replaying->graph);
}

int gpu_time(struct gpu *gpu, const struct gpu_graph *graph, int times, double *ms) {
    struct replaying replaying = {gpu, graph};
    return gpu_time_stream(gpu, enqueue_replay, &replaying, times, ms);
}
