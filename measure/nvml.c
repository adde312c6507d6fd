// NVML by dlopen, prototypes by hand.
// Whatever fails, there is simply no reading.
#include "measure/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct {
    int (*init)(void);
    int (*device)(const char *bus_id, void **device);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*power)(void *device, unsigned *milliwatts);
    void *chosen;  // NULL: none
} nvml;
static bool ready;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool load_symbol(void *library, const char *name, void *function) {
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static void load(void) {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    ready = load_symbol(library, "nvmlInit_v2", &nvml.init) &&
            load_symbol(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml.device) &&
            load_symbol(library, "nvmlDeviceGetClockInfo", &nvml.clock) &&
            load_symbol(library, "nvmlDeviceGetPowerUsage", &nvml.power) && nvml.init() == 0;
}

void nvml_choose(const char *bus_id) {
    pthread_once(&once, load);
    if (!ready || nvml.device(bus_id, &nvml.chosen)) nvml.chosen = NULL;
}

bool nvml_sample(double *clock_mhz, double *watts) {
    enum { CLOCK_SM = 1 };
    unsigned mhz, milliwatts;
    if (!nvml.chosen || nvml.clock(nvml.chosen, CLOCK_SM, &mhz) ||
        nvml.power(nvml.chosen, &milliwatts))
        return false;
    *clock_mhz = mhz;
    *watts = milliwatts / 1000.0;
    return true;
}
