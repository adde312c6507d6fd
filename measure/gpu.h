// A CUDA device as measuring needs it: a stream, graphs of captured launches, and events between
// them. A thin layer over the driver's table; every call is checked and names what failed.
#pragma once
#include "runtime/driver.h"
#include "runtime/tmagen.h"

struct gpu {
    const struct tmg_driver *driver;
    tmagen_device *device;
    tmagen_device_info info;
    CUstream stream;
};

// Opens [name], "cuda" or "cuda:N". Every function here returns TMAGEN_OK or a library error code.
int gpu_open(const char *name, struct gpu *gpu);
void gpu_close(struct gpu *gpu);

// [bytes], or the eighth of a small GPU's memory that measuring may take.
size_t gpu_share(const struct gpu *gpu, size_t bytes);

// Waits for the stream.
int gpu_wait(struct gpu *gpu);

// Launches that were recorded once and are replayed as one.
struct gpu_graph {
    CUgraph graph;
    CUgraphExec exec;
};

// Records what [enqueue] puts on the stream that it gets. [enqueue] returns a library error code.
int gpu_record(struct gpu *gpu, int (*enqueue)(void *context, CUstream stream), void *context,
               struct gpu_graph *graph);
int gpu_replay(struct gpu *gpu, const struct gpu_graph *graph);
void gpu_graph_free(struct gpu *gpu, struct gpu_graph *graph);

// Replays [graph] [times] times and waits; [ms] gets the time of all replays together.
int gpu_time(struct gpu *gpu, const struct gpu_graph *graph, int times, double *ms);

// The same for what [enqueue] puts on the stream by itself: copies, which a graph would hand to a
// copy engine instead of the SMs.
int gpu_time_stream(struct gpu *gpu, int (*enqueue)(void *context, CUstream stream), void *context,
                    int times, double *ms);
