// The CUDA driver as a table of function pointers, loaded from libcuda.so.1 at first use.
// A program that never opens a CUDA device never needs a driver.
#pragma once

#include "runtime/cuda_api.h"

struct tmg_driver {
#define TMG_FIELD(field, symbol, needed, arguments) CUresult(*field) arguments;
    TMG_DRIVER_CALLS(TMG_FIELD)
#undef TMG_FIELD
    int version;  // 13000 for 13.0
};

// The driver, initialised by cuInit; NULL, with tmagen_error_last() set, where there is none.
// $TMAGEN_LIBCUDA names another file than libcuda.so.1. The answer never changes in a process.
const struct tmg_driver *tmg_driver(void);

// TMAGEN_OK, or the code of why there is none: TMAGEN_ERROR_NO_DRIVER or TMAGEN_ERROR_NO_DEVICE.
int tmg_driver_status(void);

// Returns TMAGEN_OK for CUDA_SUCCESS, else sets the error "[what]: NAME: text" and returns
// TMAGEN_ERROR_DEVICE, or TMAGEN_ERROR_MEMORY when the device has none left.
int tmg_driver_check(CUresult result, const char *what);
