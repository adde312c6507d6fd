// Loads the CUDA driver by name and fills the table of its calls, once a process.
// dlsym and not cuGetProcAddress: the symbols with their version suffix are the ABI we declare.
#include "runtime/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/forks.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct tmg_driver driver;
static int status = TMAGEN_ERROR_NO_DRIVER;
static unsigned forks;  // when it was loaded
static char reason[1024];

static const struct {
    const char *symbol;
    size_t offset;
    int needed;
} calls[] = {
#define TMG_ROW(field, symbol, needed, arguments) \
    {symbol, offsetof(struct tmg_driver, field), needed},
    TMG_DRIVER_CALLS(TMG_ROW)
#undef TMG_ROW
};

// Fills the table from [library]. Returns the first needed symbol that it lacks, or NULL.
static const char *fill_table(void *library) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        void *address = dlsym(library, calls[i].symbol);
        if (!address && calls[i].needed) return calls[i].symbol;
        memcpy((char *)&driver + calls[i].offset, &address, sizeof address);
    }
    return NULL;
}

static void load(void) {
    forks = tmg_forks();
    const char *name = secure_getenv("TMAGEN_LIBCUDA");
    if (!name || !*name) name = "libcuda.so.1";
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(reason, sizeof reason, "no CUDA driver: %s", dlerror());
        return;
    }
    const char *missing = fill_table(library);
    if (missing) {
        snprintf(reason, sizeof reason, "the CUDA driver %s is too old: it has no %s", name,
                 missing);
        return;
    }
    CUresult result = driver.cuInit(0);
    if (result == CUDA_SUCCESS) result = driver.cuDriverGetVersion(&driver.version);
    if (result != CUDA_SUCCESS) {
        const char *text = NULL;
        driver.cuGetErrorString(result, &text);
        status = TMAGEN_ERROR_NO_DEVICE;
        snprintf(reason, sizeof reason, "the CUDA driver %s finds no usable device: %s", name,
                 text ? text : "unknown error");
        return;
    }
    status = TMAGEN_OK;
}

const struct tmg_driver *tmg_driver(void) {
    if (tmg_driver_status() == TMAGEN_OK) return &driver;
    if (status == TMAGEN_OK)
        tmg_fail(TMAGEN_ERROR_NO_DEVICE,
                 "CUDA was started before this process was forked, and does not serve a child of "
                 "that: fork first, or run a program of its own");
    else
        tmg_fail(status, "%s", reason);
    return NULL;
}

int tmg_driver_status(void) {
    pthread_once(&once, load);
    return status || forks == tmg_forks() ? status : TMAGEN_ERROR_NO_DEVICE;
}

int tmg_driver_check(CUresult result, const char *what) {
    if (result == CUDA_SUCCESS) return TMAGEN_OK;
    const char *name = NULL, *text = NULL;
    driver.cuGetErrorName(result, &name);
    driver.cuGetErrorString(result, &text);
    int code = result == CUDA_ERROR_OUT_OF_MEMORY ? TMAGEN_ERROR_MEMORY : TMAGEN_ERROR_DEVICE;
    return tmg_fail(code, "%s: %s: %s", what, name ? name : "unknown", text ? text : "unknown");
}
