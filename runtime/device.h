// What a device must be able to do: the table of functions behind tmagen_device.
// CUDA and the emulator are two rows; nothing else in the runtime knows which one it talks to.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "runtime/tmagen.h"

// A tensor map's 128 opaque bytes, whoever encodes them.
struct tmg_tensor_map {
    _Alignas(128) uint64_t opaque[16];
};

// What a tensor map is encoded from, in cuTensorMapEncodeTiled's own terms and order: dims and box
// innermost first, strides in bytes of dims 1 and up. The enums are those of cuda_api.h. [im2col]:
// in cuTensorMapEncodeIm2col's terms, corners, channels and pixels instead of the box.
struct tmg_tensor_map_args {
    bool im2col;
    int type, interleave, swizzle, l2_promotion, fill;
    uint32_t rank;
    tmagen_address address;
    uint64_t dims[TMAGEN_MAX_RANK];
    uint64_t strides[TMAGEN_MAX_RANK];
    uint32_t box[TMAGEN_MAX_RANK];
    uint32_t element_strides[TMAGEN_MAX_RANK];
    int lower[3], upper[3];  // of W, H, D
    uint32_t channels, pixels;
};

// What a module is loaded from. All pointers are only valid during the call.
struct tmg_module_source {
    const void *code;  // of the kind that the backend asks for; PTX is zero-terminated
    size_t bytes;
    const char *entry;
    const size_t *param_bytes;  // of each parameter, in order, as the manifest has it
    size_t param_count;
    unsigned block[3], cluster[3];
    unsigned dynamic_shared_bytes;
    const char *manifest;             // JSON text: names of barriers and roles, for reports
    const char *source;               // CUDA text, or NULL
    const tmagen_source_line *lines;  // of the source; these outlive the module
    size_t line_count;
};

// What the device itself says of a loaded entry; -1 where it does not.
struct tmg_module_info {
    int registers, local_bytes, shared_bytes, blocks_per_sm;
    int resident_blocks;  // at once on the whole device, in whole clusters; 0 where it is not known
};

struct tmg_launch_config {
    unsigned grid[3], block[3], cluster[3];
    unsigned dynamic_shared_bytes;
    unsigned flags;                     // TMAGEN_LAUNCH_*
    const struct tmg_binding *binding;  // for a backend that asks for it, else NULL
    tmagen_address workspace;
    size_t workspace_bytes;
};

// Of an emulator: how much it did, in how many seconds of all CPUs together.
struct tmg_effort {
    uint64_t thread_instructions, multiply_adds;
    double core_seconds;
};

// [state] is what open() returned. Every int function returns TMAGEN_OK or an error with
// tmagen_error_last() set, and may be called from any thread.
struct tmg_backend {
    const char *name;    // what tmagen_device_open() takes before the ':'
    tmagen_kind kind;    // what module_load() takes
    bool wants_binding;  // launch() is told of the tensors behind its parameters
    int (*open)(int ordinal, void **state, tmagen_device_info *info);
    void (*close)(void *state);
    int (*synchronize)(void *state);
    int (*alloc)(void *state, size_t bytes, tmagen_address *address);
    void (*free)(void *state, tmagen_address address);
    int (*upload)(void *state, tmagen_address to, const void *from, size_t bytes);
    int (*download)(void *state, void *to, tmagen_address from, size_t bytes);
    int (*fill)(void *state, tmagen_address to, uint8_t byte, size_t bytes);
    // As fill, but the bytes count as never written. NULL where the device cannot know.
    int (*poison)(void *state, tmagen_address to, uint8_t byte, size_t bytes);
    int (*module_load)(void *state, const struct tmg_module_source *source, void **module,
                       struct tmg_module_info *info);
    void (*module_unload)(void *state, void *module);
    int (*tensor_map)(void *state, const struct tmg_tensor_map_args *args,
                      struct tmg_tensor_map *map);
    int (*clear_async)(void *state, tmagen_address to, size_t bytes, void *stream);  // zeros
    // [params] points to each parameter's value, as cuLaunchKernelEx takes them.
    int (*launch)(void *state, void *module, const struct tmg_launch_config *config, void *stream,
                  void **params);
    // The text behind tmagen_device_reports(); NULL where there never is any.
    const char *(*reports)(void *state);
    // What all launches so far took to emulate; NULL where they run in hardware.
    void (*effort)(void *state, struct tmg_effort *effort);
    // From now on each launch's profile is printed to [out] when it has ended; NULL: no longer.
    // NULL where they run in hardware.
    void (*profile)(void *state, FILE *out);
    // Behind tmagen_device_set_budget() and _cancel(); NULL where a launch cannot be ended.
    void (*set_budget)(void *state, const tmagen_budget *budget);
    void (*cancel)(void *state);
};

struct tmagen_device {
    const struct tmg_backend *backend;
    void *state;
    tmagen_device_info info;
    unsigned forks;       // tmg_forks() when it was opened
    _Atomic int holders;  // whoever opened it, its kernels and its sets
    _Atomic int closed;
};

// TMAGEN_ERROR_ARGUMENT where [device] is NULL or closed, TMAGEN_ERROR_DEVICE where it was opened
// before a fork.
int tmg_device_check(const tmagen_device *device);

// Keeps the device's state until as many releases; a closed device serves nobody meanwhile.
void tmg_device_hold(tmagen_device *device);
void tmg_device_release(tmagen_device *device);

extern const struct tmg_backend tmg_cuda_backend;  // device_cuda.c
extern const struct tmg_backend tmg_emu_backend;   // device_emu.c, over runtime/emu

// Fills with bytes that nobody has written: the emulator reports who reads them.
int tmg_memory_poison(tmagen_device *device, tmagen_address to, uint8_t byte, size_t bytes);

// Makes the device's CUDA context current in this thread, for callers of tmg_driver() (measure/).
// Nothing to do, successfully, on other backends.
int tmg_device_make_current(tmagen_device *device);
