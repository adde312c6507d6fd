// The bare launch is the library's own, recorded in a graph and read back: same function, same
// parameters. Both are called in alternating batches short enough never to fill the device's queue.
#include "measure/overhead.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/columns.h"
#include "measure/watchdog.h"
#include "runtime/error.h"
#include "runtime/seconds.h"

enum { BATCHES = 200, CALLS = 200, LOADS = 30 };

// What cuGraphKernelNodeGetParams_v2 fills in: CUDA_KERNEL_NODE_PARAMS_v2.
struct node_params {
    CUfunction function;
    unsigned grid[3], block[3], shared_bytes;
    void **params, **extra;
    void *kernel;
    CUcontext context;
};
_Static_assert(sizeof(struct node_params) == 72, "as the driver fills it");

struct launching {
    tmagen_kernel *kernel;
    tmagen_launch launch;
};

static int enqueue(void *context, CUstream stream) {
    const struct launching *launching = context;
    return tmagen_kernel_launch(launching->kernel, stream, &launching->launch);
}

// Reads the one kernel of [graph] back. A library error code.
static int read_node(struct gpu *gpu, CUgraph graph, struct node_params *params) {
    CUresult (*get)(CUgraphNode, struct node_params *);
    const char *chosen = secure_getenv("TMAGEN_LIBCUDA");  // as in runtime/driver.c
    const char *file = chosen && *chosen ? chosen : "libcuda.so.1";
    void *library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    void *address = library ? dlsym(library, "cuGraphKernelNodeGetParams_v2") : NULL;
    memcpy(&get, &address, sizeof address);
    if (!address) return tmg_fail(TMAGEN_ERROR_NO_DRIVER, "no cuGraphKernelNodeGetParams_v2");
    CUgraphNode node;
    size_t count = 1;
    const CUresult result = gpu->driver->cuGraphGetNodes(graph, &node, &count);
    if (result) return tmg_driver_check(result, "cuGraphGetNodes");
    if (count != 1) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "a launch is %zu nodes", count);
    return tmg_driver_check(get(node, params), "cuGraphKernelNodeGetParams");
}

struct figures {
    struct stats library_us, bare_us, extra_us;  // of one call; the difference batch by batch
    struct stats load_ms, own_ms, module_ms;     // of one load: all, ours, the driver's
};

// A batch of [CALLS] calls of either kind; returns microseconds a call, or -1.
static double batch(struct gpu *gpu, struct launching *launching, const CUlaunchConfig *config,
                    const struct node_params *params) {
    int status = TMAGEN_OK;
    const double begin = tmg_seconds();
    for (int i = 0; i < CALLS && status == TMAGEN_OK; ++i) {
        status = config
                     ? gpu->driver->cuLaunchKernelEx(config, params->function, params->params, NULL)
                     : enqueue(launching, gpu->stream);
    }
    const double end = tmg_seconds();
    return gpu_wait(gpu) == TMAGEN_OK && status == TMAGEN_OK ? (end - begin) / CALLS * 1e6 : -1;
}

static int time_launches(struct gpu *gpu, struct launching *launching, struct figures *figures) {
    const struct tmg_manifest *manifest = tmg_kernel_manifest(launching->kernel);
    struct gpu_graph graph;
    struct node_params params = {0};
    int status = gpu_record(gpu, enqueue, launching, &graph);
    if (status != TMAGEN_OK) return status;
    status = read_node(gpu, graph.graph, &params);
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    attribute.value.clusterDim.x = manifest->cluster[0];
    attribute.value.clusterDim.y = manifest->cluster[1];
    attribute.value.clusterDim.z = manifest->cluster[2];
    const bool clustered = manifest->cluster[0] * manifest->cluster[1] * manifest->cluster[2] > 1;
    const CUlaunchConfig config = {
        params.grid[0],  params.grid[1],      params.grid[2], params.block[0], params.block[1],
        params.block[2], params.shared_bytes, gpu->stream,    &attribute,      clustered,
    };
    double library[BATCHES], bare[BATCHES], extra[BATCHES];
    for (int i = -5; i < BATCHES && status == TMAGEN_OK; ++i) {
        const double ours = batch(gpu, launching, NULL, NULL);
        const double theirs = batch(gpu, launching, &config, &params);
        if (ours < 0 || theirs < 0) status = tmg_fail(TMAGEN_ERROR_DEVICE, "a launch failed");
        if (i >= 0) library[i] = ours, bare[i] = theirs, extra[i] = ours - theirs;
    }
    gpu_graph_free(gpu, &graph);
    if (status != TMAGEN_OK) return status;
    figures->library_us = stats_of(library, BATCHES);
    figures->bare_us = stats_of(bare, BATCHES);
    figures->extra_us = stats_of(extra, BATCHES);
    return TMAGEN_OK;
}

static int time_loads(struct gpu *gpu, const struct kernel_text *text, struct figures *figures) {
    double all[LOADS], own[LOADS], module[LOADS];
    for (int i = 0; i < LOADS; ++i) {
        tmagen_kernel *kernel;
        tmagen_kernel_info info;
        const double begin = tmg_seconds();
        int status = kernel_load(gpu->device, text, &kernel);
        all[i] = (tmg_seconds() - begin) * 1e3;
        if (status != TMAGEN_OK) return status;
        status = tmagen_kernel_get_info(kernel, &info);
        own[i] = info.load_ms;
        module[i] = info.module_ms;
        tmagen_kernel_unload(kernel);
        if (status != TMAGEN_OK) return status;
    }
    figures->load_ms = stats_of(all, LOADS);
    figures->own_ms = stats_of(own, LOADS);
    figures->module_ms = stats_of(module, LOADS);
    return TMAGEN_OK;
}

static int measure(struct gpu *gpu, struct rotation_source *source, const struct kernel_text *text,
                   struct figures *figures) {
    tmagen_tensor tensors[TMG_MAX_TENSORS];
    struct rotation rotation = {0};
    struct launching launching = {NULL, {.tensors = tensors}};
    int status = kernel_load(gpu->device, text, &launching.kernel);
    if (status != TMAGEN_OK) return status;
    launching.launch.tensor_count = tmg_kernel_manifest(launching.kernel)->tensor_count;
    struct reference reference;
    status = reference_open(tmg_kernel_manifest(launching.kernel), &text->reference, gpu->device,
                            &reference);
    if (status == TMAGEN_OK) {
        status = rotation_smallest(gpu, source, tmg_kernel_manifest(launching.kernel), &reference,
                                   &rotation, tensors);
    }
    if (status == TMAGEN_OK) {
        status = tmagen_kernel_workspace(launching.kernel, &launching.launch,
                                         &launching.launch.workspace_bytes);
    }
    if (status == TMAGEN_OK) {
        status = tmagen_memory_alloc(gpu->device, launching.launch.workspace_bytes,
                                     &launching.launch.workspace);
    }
    watchdog_step("%s: launches", text->name);
    if (status == TMAGEN_OK) status = time_launches(gpu, &launching, figures);
    tmagen_memory_free(gpu->device, launching.launch.workspace);
    rotation_free(gpu, &rotation);
    reference_close(&reference);
    tmagen_kernel_unload(launching.kernel);
    watchdog_step("%s: loads", text->name);
    return status == TMAGEN_OK ? time_loads(gpu, text, figures) : status;
}

static void put(struct table *table, const char *name, const struct figures *f) {
    table_cell(table, "%s", name);
    table_cell(table, "%.3f us", f->library_us.median);
    table_cell(table, "%.3f us", f->bare_us.median);
    table_cell(table, "%+.3f us", f->extra_us.median);
    table_cell(table, "%.3f ms", f->load_ms.median);
    table_cell(table, "%.3f ms", f->own_ms.median);
    table_cell(table, "%.3f ms", f->module_ms.median);
}

static void print_json(const char *name, const struct figures *f) {
    json_t *object = json_pack(
        "{ss sf sf sf sf sf sf}", "name", name, "launch_us", f->library_us.median, "bare_launch_us",
        f->bare_us.median, "extra_us", f->extra_us.median, "load_ms", f->load_ms.median,
        "own_load_ms", f->own_ms.median, "module_load_ms", f->module_ms.median);
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    if (text) puts(text);
    free(text);
    json_decref(object);
}

int overhead_all(const struct bench_plan *plan) {
    static const char *const titles[] = {"kernel",      ">launch",    ">cuLaunchKernelEx",
                                         ">difference", ">warm load", ">ours",
                                         ">driver's",   NULL};
    struct gpu gpu;
    struct rotation_source source = {.seed = plan->seed};
    watchdog_start(plan->timeout);
    if (gpu_open(plan->device, &gpu)) {
        kernel_complain("");
        return 3;
    }
    struct table *table = table_new(titles);
    int code = table ? 0 : 3, kernels = 0;
    for (size_t i = 0; table && i < plan->own_count; ++i) {
        struct figures figures;
        if (plan->kernels[i].table) {
            if (overhead_set(&gpu, &source, &plan->kernels[i], plan->json)) code = 1;
            continue;
        }
        ++kernels;
        if (measure(&gpu, &source, &plan->kernels[i], &figures)) {
            kernel_complain(plan->kernels[i].name);
            code = 1;
        } else if (plan->json) {
            print_json(plan->kernels[i].name, &figures);
        } else {
            put(table, plan->kernels[i].name, &figures);
        }
    }
    if (table && kernels && !plan->json) table_print(table, stdout);
    table_free(table);
    rotation_source_free(&gpu, &source);
    gpu_close(&gpu);
    watchdog_stop();
    return code;
}
