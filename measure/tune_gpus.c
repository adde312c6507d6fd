// What GPUs there are, asked by a process of its own.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/gpu.h"
#include "measure/process.h"
#include "measure/tune_state.h"
#include "runtime/error.h"

struct probe {
    int status, count, driver, sms, ordinals[TUNE_WORKERS_MAX];
    char name[128], why[TUNE_WHY];
};

// The ordinals that [text] lists, or all of the driver's.
static int list_gpus(const char *text, struct probe *probe) {
    const struct tmg_driver *driver = tmg_driver();
    int there = 0;
    if (!driver) return tmg_driver_status();
    const int status = tmg_driver_check(driver->cuDeviceGetCount(&there), "cuDeviceGetCount");
    if (status != TMAGEN_OK) return status;
    if (!strcmp(text, "all")) {
        for (; probe->count < there && probe->count < TUNE_WORKERS_MAX; ++probe->count)
            probe->ordinals[probe->count] = probe->count;
        return TMAGEN_OK;
    }
    while (*text && probe->count < TUNE_WORKERS_MAX) {
        char *end;
        const long ordinal = strtol(text, &end, 10);
        for (int i = 0; i < probe->count; ++i)
            if (probe->ordinals[i] == ordinal) end = (char *)text;
        if (end == text || ordinal < 0 || ordinal >= there || (*end && *end != ','))
            return tmg_fail(TMAGEN_ERROR_NO_DEVICE, "--gpus: '%s' names no other GPU; there are %d",
                            text, there);
        probe->ordinals[probe->count++] = (int)ordinal;
        text = *end ? end + 1 : end;
    }
    return TMAGEN_OK;
}

// Opens each once: they must be of one kind, since times of different GPUs do not compare.
static int name_gpus(struct probe *probe) {
    for (int i = 0; i < probe->count; ++i) {
        char name[32];
        tmagen_device *device;
        tmagen_device_info info = {0};
        snprintf(name, sizeof name, "cuda:%d", probe->ordinals[i]);
        int status = tmagen_device_open(name, &device);
        if (status != TMAGEN_OK) return status;
        status = tmagen_device_get_info(device, &info);
        tmagen_device_close(device);
        if (status != TMAGEN_OK) return status;
        if (i && strcmp(probe->name, info.name))
            return tmg_fail(TMAGEN_ERROR_NO_DEVICE,
                            "%s and %s: tune GPUs of different kinds by themselves", probe->name,
                            info.name);
        snprintf(probe->name, sizeof probe->name, "%s", info.name);
        probe->driver = info.driver_version;
        probe->sms = info.sms;
    }
    return TMAGEN_OK;
}

// Asks a process of its own what GPUs there are: whoever has opened one must not fork.
int tune_find_gpus(struct tuning *t) {
    struct probe *probe =
        mmap(NULL, sizeof *probe, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED) return perror("tmagen: error: mmap"), 3;
    probe->status = TMAGEN_ERROR_NO_DEVICE;
    const pid_t child = process_spawn();
    if (child == 0) {
        probe->status = list_gpus(t->plan->gpus, probe);
        if (probe->status == TMAGEN_OK) probe->status = name_gpus(probe);
        snprintf(probe->why, sizeof probe->why, "%s", tmagen_error_last());
        _exit(0);
    }
    if (child > 0) waitpid(child, NULL, 0);
    const int status = probe->status;
    if (status != TMAGEN_OK)
        fprintf(stderr, "tmagen: error: %s\n", *probe->why ? probe->why : "no GPU could be opened");
    memcpy(t->gpus, probe->ordinals, sizeof t->gpus);
    t->gpu_count = probe->count;
    t->driver = probe->driver;
    t->sms = probe->sms;
    snprintf(t->device, sizeof t->device, "%s", probe->name);
    munmap(probe, sizeof *probe);
    return status == TMAGEN_OK ? 0 : 3;
}
