// Devices by name, and the public functions that only pass on to the device's backend.
// A new kind of device is one row here and one table of functions in a file of its own.
#include "runtime/device.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/forks.h"
#include "runtime/sized.h"

static const struct tmg_backend *const backends[] = {&tmg_cuda_backend, &tmg_emu_backend};

// Finds the backend that [name] begins with, and the ordinal after its ':', 0 without one.
static const struct tmg_backend *find_backend(const char *name, int *ordinal) {
    for (size_t i = 0; i < sizeof backends / sizeof *backends; ++i) {
        size_t length = strlen(backends[i]->name);
        if (strncmp(name, backends[i]->name, length)) continue;
        const char *rest = name + length;
        char *end = NULL;
        if (*rest && (*rest != ':' || rest[1] < '0' || rest[1] > '9')) continue;
        long number = *rest ? strtol(rest + 1, &end, 10) : 0;
        if (*rest && (*end || number > INT_MAX)) continue;
        *ordinal = (int)number;
        return backends[i];
    }
    return NULL;
}

int tmagen_device_open(const char *name, tmagen_device **device) {
    int ordinal = 0;
    if (!name || !device) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the device's name is missing");
    const struct tmg_backend *backend = find_backend(name, &ordinal);
    if (!backend)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "no device is called '%.64s'; legal: cuda, cuda:N, emu, emu:N", name);
    tmagen_device *opened = calloc(1, sizeof *opened);
    if (!opened) return tmg_fail_memory();
    opened->backend = backend;
    opened->forks = tmg_forks();
    opened->holders = 1;
    int status = backend->open(ordinal, &opened->state, &opened->info);
    opened->info.backend = backend->name;
    if (status)
        free(opened);
    else
        *device = opened;
    return status;
}

// ---- Who may use a device

static int is_forked(const tmagen_device *device) { return tmg_forks() != device->forks; }

static int fail_missing(void) {
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the device or the place for data is missing");
}

int tmg_device_check(const tmagen_device *device) {
    if (!device) return fail_missing();
    if (is_forked(device))
        return tmg_fail(TMAGEN_ERROR_DEVICE,
                        "the device was opened before this process was forked: a child opens its "
                        "own");
    if (!atomic_load_explicit(&device->closed, memory_order_relaxed)) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the device is closed");
}

void tmg_device_hold(tmagen_device *device) { atomic_fetch_add(&device->holders, 1); }

// In a child the state stays as it is: it is the parent's, and a lock of it may be held for ever.
void tmg_device_release(tmagen_device *device) {
    if (atomic_fetch_sub(&device->holders, 1) > 1) return;
    if (!is_forked(device)) device->backend->close(device->state);
    free(device);
}

void tmagen_device_close(tmagen_device *device) {
    if (!device || atomic_exchange(&device->closed, 1)) return;
    tmg_device_release(device);
}

int tmagen_device_get_info_sized(const tmagen_device *device, tmagen_device_info *info,
                                 size_t info_size) {
    if (!device || !info) return fail_missing();
    return tmg_give_struct("tmagen_device_info", &device->info, sizeof device->info, info,
                           info_size, sizeof device->info);
}

int tmagen_device_synchronize(tmagen_device *device) {
    const int status = tmg_device_check(device);
    return status ? status : device->backend->synchronize(device->state);
}

int tmagen_memory_alloc(tmagen_device *device, size_t bytes, tmagen_address *address) {
    const int status = address ? tmg_device_check(device) : fail_missing();
    if (status) return status;
    if (bytes) return device->backend->alloc(device->state, bytes, address);
    *address = 0;
    return TMAGEN_OK;
}

void tmagen_memory_free(tmagen_device *device, tmagen_address address) {
    if (device && address && !is_forked(device)) device->backend->free(device->state, address);
}

int tmagen_memory_upload(tmagen_device *device, tmagen_address to, const void *from, size_t bytes) {
    if (!bytes) return TMAGEN_OK;
    const int status = from ? tmg_device_check(device) : fail_missing();
    return status ? status : device->backend->upload(device->state, to, from, bytes);
}

int tmagen_memory_download(tmagen_device *device, void *to, tmagen_address from, size_t bytes) {
    if (!bytes) return TMAGEN_OK;
    const int status = to ? tmg_device_check(device) : fail_missing();
    return status ? status : device->backend->download(device->state, to, from, bytes);
}

int tmagen_memory_fill(tmagen_device *device, tmagen_address to, uint8_t byte, size_t bytes) {
    if (!bytes) return TMAGEN_OK;
    const int status = tmg_device_check(device);
    return status ? status : device->backend->fill(device->state, to, byte, bytes);
}

int tmg_memory_poison(tmagen_device *device, tmagen_address to, uint8_t byte, size_t bytes) {
    if (!bytes) return TMAGEN_OK;
    if (!device->backend->poison) return device->backend->fill(device->state, to, byte, bytes);
    return device->backend->poison(device->state, to, byte, bytes);
}

const char *tmagen_device_reports(tmagen_device *device) {
    if (!device || !device->backend->reports || is_forked(device)) return "";
    return device->backend->reports(device->state);
}

int tmagen_device_set_budget_sized(tmagen_device *device, const tmagen_budget *budget,
                                   size_t budget_size) {
    tmagen_budget own;
    int status = budget ? tmg_device_check(device) : fail_missing();
    if (!status)
        status =
            tmg_take_struct("tmagen_budget", budget, budget_size, &own, sizeof own, sizeof own);
    if (!status && device->backend->set_budget) device->backend->set_budget(device->state, &own);
    return status;
}

void tmagen_device_cancel(tmagen_device *device) {
    if (device && device->backend->cancel) device->backend->cancel(device->state);
}
