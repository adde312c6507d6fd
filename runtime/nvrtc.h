// The compiler: where NVRTC is, which it is, and its calls.
// Finding and identifying it do not load it, because a cache hit must not pay for a 100 MB library.
#pragma once

#include "runtime/cuda_api.h"

struct tmg_nvrtc {
#define TMG_FIELD(call, arguments) nvrtcResult(*call) arguments;
    TMG_NVRTC_CALLS(TMG_FIELD)
#undef TMG_FIELD
    int major, minor;
};

struct tmg_nvrtc_place {
    char path[1024];
    char id[72];  // of the build: "build-id HEX", else "head HEX"; a function of the file's content
};

// Finds NVRTC, once a process. Returns NULL, with tmagen_error_last() saying where it was looked
// for, when there is none. $TMAGEN_NVRTC names the file, and then no other place is looked at.
const struct tmg_nvrtc_place *tmg_nvrtc_find(void);

// Loads what tmg_nvrtc_find() found, once a process; NULL, with the error set, when it cannot.
const struct tmg_nvrtc *tmg_nvrtc(void);
