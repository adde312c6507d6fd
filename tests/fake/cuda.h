// What the stand-in for the CUDA driver lets a test see and set.
// A test loads the same file as the library does (TMAGEN_LIBCUDA) and asks it for fake_cuda.
#pragma once

#include <stddef.h>

#include "runtime/cuda_api.h"

enum { FAKE_MAX_PARAMS = 64, FAKE_PARAM_BYTES = 128, FAKE_MAX_ATTRIBUTES = 8 };

struct fake_cuda {
    // Set by the test.
    size_t param_count;  // of every kernel; 0: cuFuncGetParamInfo fails
    size_t param_bytes[FAKE_MAX_PARAMS];
    CUresult launch_result, encode_result, load_result;
    int active_clusters;
    // Seen by it: the latest launch.
    int launches, encodes, unloads;
    CUlaunchConfig config;
    CUlaunchAttribute attributes[FAKE_MAX_ATTRIBUTES];
    unsigned char params[FAKE_MAX_PARAMS][FAKE_PARAM_BYTES];
    CUcontext launch_context;  // current at the launch
    int dynamic_shared_bytes;  // as set by cuFuncSetAttribute
};
