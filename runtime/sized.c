// Structs between versions, by the rule of Linux's openat2: the shorter side reads as zeros.
#include "runtime/sized.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/manifest.h"

enum {
    MAX_LINES = 64 << 20,   // of a source, as many as it may have bytes
    MAX_KERNELS = 1 << 16,  // of a set, whose table may not need all
};

int tmg_check_size(const char *what, size_t size, size_t least) {
    if (size >= least) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: its size is %zu bytes; legal: at least %zu", what,
                    size, least);
}

int tmg_take_struct(const char *what, const void *given, size_t given_size, void *own,
                    size_t own_size, size_t least) {
    const unsigned char *bytes = given;
    const int status = tmg_check_size(what, given_size, least);
    for (size_t i = own_size; i < given_size && !status; ++i)
        if (bytes[i])
            return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                            "%s: has %zu bytes, this library knows %zu, and what is behind them "
                            "is not zero: it needs a newer library",
                            what, given_size, own_size);
    if (status) return status;
    memset(own, 0, own_size);
    memcpy(own, given, given_size < own_size ? given_size : own_size);
    return TMAGEN_OK;
}

int tmg_give_struct(const char *what, const void *own, size_t own_size, void *given,
                    size_t given_size, size_t least) {
    const int status = tmg_check_size(what, given_size, least);
    if (status) return status;
    memset(given, 0, given_size);
    memcpy(given, own, given_size < own_size ? given_size : own_size);
    return TMAGEN_OK;
}

// The [count] items of [size] bytes of a caller's list, in our layout.
static int take_list(const char *what, const void *list, size_t count, size_t size, void *own,
                     size_t own_size, size_t least, size_t most) {
    if (count > most)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: %zu are given; legal: at most %zu", what, count,
                        most);
    int status = TMAGEN_OK;
    for (size_t i = 0; i < count && list && !status; ++i)
        status = tmg_take_struct(what, (const char *)list + i * size, size,
                                 (char *)own + i * own_size, own_size, least);
    return status;
}

static int take_code(const tmagen_code **code, uint64_t sizes, tmagen_code *own) {
    const tmagen_code *given = *code;
    if (!given) return TMAGEN_OK;
    *code = own;
    return tmg_take_struct("tmagen_code", given, sizes >> 32 & 0xffff, own, sizeof *own,
                           sizeof *own);
}

int tmg_take_load(const tmagen_load_options *given, uint64_t sizes, struct tmg_own_load *own) {
    tmagen_load_options *options = &own->options;
    *own = (struct tmg_own_load){.lines = NULL};
    int status =
        given ? tmg_take_struct("tmagen_load_options", given, sizes & 0xffff, options,
                                sizeof *options, offsetof(tmagen_load_options, manifest_bytes))
              : TMAGEN_OK;
    if (!status) status = take_code(&options->code, sizes, &own->code);
    if (status || !options->lines) return status;
    if (options->line_count < MAX_LINES)
        own->lines = calloc(options->line_count + 1, sizeof *own->lines);
    if (!own->lines) return tmg_fail_memory();
    status =
        take_list("tmagen_source_line", options->lines, options->line_count, sizes >> 16 & 0xffff,
                  own->lines, sizeof *own->lines, sizeof *own->lines, MAX_LINES);
    options->lines = own->lines;
    return status;
}

static int take_kernels(const tmagen_set_options *options, uint64_t sizes,
                        tmagen_set_kernel *kernels) {
    tmagen_code *codes = (tmagen_code *)(kernels + options->kernel_count);
    int status = take_list("tmagen_set_kernel", options->kernels, options->kernel_count,
                           sizes >> 16 & 0xffff, kernels, sizeof *kernels,
                           offsetof(tmagen_set_kernel, manifest_bytes), MAX_KERNELS);
    for (size_t i = 0; i < options->kernel_count && !status; ++i)
        status = take_code(&kernels[i].code, sizes, &codes[i]);
    return status;
}

int tmg_take_set(const tmagen_set_options *given, uint64_t sizes, tmagen_set_options *own,
                 tmagen_set_kernel **kernels) {
    *own = (tmagen_set_options){0};
    *kernels = NULL;
    int status = given ? tmg_take_struct("tmagen_set_options", given, sizes & 0xffff, own,
                                         sizeof *own, sizeof *own)
                       : TMAGEN_OK;
    if (status || !own->kernels) return status;
    if (own->kernel_count < MAX_KERNELS)
        *kernels = calloc(own->kernel_count + 1, sizeof **kernels + sizeof(tmagen_code));
    if (!*kernels) return tmg_fail_memory();
    status = take_kernels(own, sizes, *kernels);
    if (status) free(*kernels), *kernels = NULL;
    own->kernels = *kernels;
    return status;
}

struct tmg_own_launch {
    tmagen_launch launch;
    tmagen_tensor tensors[TMG_MAX_TENSORS];
    tmagen_dim dims[TMG_MAX_DIMS];
    tmagen_scalar scalars[TMG_MAX_PARAMS];
};

static int take_all(const tmagen_launch *given, uint64_t sizes, struct tmg_own_launch *own) {
    tmagen_launch *launch = &own->launch;
    int status = tmg_take_struct("tmagen_launch", given, sizes & 0xffff, launch, sizeof *launch,
                                 offsetof(tmagen_launch, sms));
    if (!status)
        status = take_list("tmagen_tensor", launch->tensors, launch->tensor_count,
                           sizes >> 16 & 0xffff, own->tensors, sizeof *own->tensors,
                           offsetof(tmagen_tensor, dtype), TMG_MAX_TENSORS);
    if (!status)
        status = take_list("tmagen_dim", launch->dims, launch->dim_count, sizes >> 32 & 0xffff,
                           own->dims, sizeof *own->dims, sizeof *own->dims, TMG_MAX_DIMS);
    if (!status)
        status =
            take_list("tmagen_scalar", launch->scalars, launch->scalar_count, sizes >> 48,
                      own->scalars, sizeof *own->scalars, sizeof *own->scalars, TMG_MAX_PARAMS);
    if (launch->tensors) launch->tensors = own->tensors;
    if (launch->dims) launch->dims = own->dims;
    if (launch->scalars) launch->scalars = own->scalars;
    return status;
}

int tmg_take_launch(const tmagen_launch **launch, uint64_t sizes, struct tmg_own_launch **room) {
    if (!*launch || sizes == TMAGEN_LAUNCH_SIZES) return TMAGEN_OK;
    struct tmg_own_launch *own = calloc(1, sizeof *own);
    if (!own) return tmg_fail_memory();
    const int status = take_all(*launch, sizes, own);
    if (status) return free(own), status;
    *launch = &own->launch;
    *room = own;
    return TMAGEN_OK;
}
