// The emulator as a device: the same kernels, launches and memory, run and checked on this CPU.
// A launch is over when it returns, and a launch in which the checker found anything has failed.
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/arch.h"
#include "runtime/binding.h"
#include "runtime/device.h"
#include "runtime/emu/emu.h"
#include "runtime/error.h"

enum { MESSAGE = 6000, MAX_BARRIERS = 4096, MAX_WARPS = 32 };

struct emu_state {
    pthread_mutex_t lock;  // of all below; the emulator's memory is for one thread at a time
    struct emu_memory *memory;
    uint64_t seed;  // of the next launch
    tmagen_budget budget;
    volatile int cancel;  // the launch that runs or comes next
    unsigned buffers;
    char *reports;  // of the latest launch; NULL: none
    struct tmg_effort effort;
    FILE *profile;  // where launches' profiles go; NULL: nobody asks
};

struct emu_kernel {
    struct emu_module *module;
    char *entry;
    json_t *names;  // the manifest, which owns the strings below
    struct emu_barrier_name *barriers;
    struct emu_role *roles;
    struct emu_source_line *lines;
    size_t barrier_count, role_count, line_count, param_count;
};

// ---- Opening

static const struct tmg_arch *emulated(void) { return tmg_arch_find(TMG_EMULATED_ARCH); }

static int emu_open(int ordinal, void **state, tmagen_device_info *info) {
    static _Atomic unsigned opened;  // so that an address says which device it is of
    struct emu_state *emu = calloc(1, sizeof *emu);
    struct emu_memory *memory = emu ? emu_memory_new_apart(opened++) : NULL;
    if (!memory) {
        free(emu);
        return tmg_fail_memory();
    }
    pthread_mutex_init(&emu->lock, NULL);
    emu->memory = memory;
    emu->seed = (uint64_t)ordinal;
    const struct tmg_arch *arch = emulated();
    *info = (tmagen_device_info){.name = "emulator of " TMG_EMULATED_ARCH,
                                 .arch = "sm_90",
                                 .sms = TMG_EMULATED_SMS,
                                 .shared_memory_per_block = (int)arch->shared_per_block,
                                 .shared_memory_per_sm = (int)arch->shared_per_sm};
    *state = emu;
    return TMAGEN_OK;
}

static void emu_close(void *state) {
    struct emu_state *emu = state;
    emu_memory_delete(emu->memory);
    pthread_mutex_destroy(&emu->lock);
    free(emu->reports);
    free(emu);
}

static int emu_synchronize(void *state) {
    struct emu_state *emu = state;
    pthread_mutex_lock(&emu->lock);
    emu_memory_settle(emu->memory);
    pthread_mutex_unlock(&emu->lock);
    return TMAGEN_OK;
}

// ---- Memory

static int emu_alloc(void *state, size_t bytes, tmagen_address *address) {
    struct emu_state *emu = state;
    char name[32];
    pthread_mutex_lock(&emu->lock);
    snprintf(name, sizeof name, "buffer %u", ++emu->buffers);
    const uint64_t made = emu_memory_alloc(emu->memory, bytes, name);
    pthread_mutex_unlock(&emu->lock);
    if (!made) return tmg_fail_memory();
    *address = made;
    return TMAGEN_OK;
}

static void emu_free(void *state, tmagen_address address) {
    struct emu_state *emu = state;
    pthread_mutex_lock(&emu->lock);
    emu_memory_free(emu->memory, address);
    pthread_mutex_unlock(&emu->lock);
}

// Unlocks and gives the status of a copy or fill that returned [result]. No launch goes on over it.
static int finish(struct emu_state *emu, int result, const char *what, tmagen_address address,
                  size_t bytes) {
    emu_memory_settle(emu->memory);
    pthread_mutex_unlock(&emu->lock);
    if (!result) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s of %zu bytes at 0x%llx is not inside one allocation",
                    what, bytes, (unsigned long long)address);
}

static int emu_upload(void *state, tmagen_address to, const void *from, size_t bytes) {
    struct emu_state *emu = state;
    pthread_mutex_lock(&emu->lock);
    return finish(emu, emu_memory_write(emu->memory, to, from, bytes), "upload", to, bytes);
}

static int emu_download(void *state, void *to, tmagen_address from, size_t bytes) {
    struct emu_state *emu = state;
    pthread_mutex_lock(&emu->lock);
    return finish(emu, emu_memory_read(emu->memory, to, from, bytes), "download", from, bytes);
}

static int emu_fill(void *state, tmagen_address to, uint8_t byte, size_t bytes) {
    struct emu_state *emu = state;
    pthread_mutex_lock(&emu->lock);
    return finish(emu, emu_memory_fill(emu->memory, to, byte, bytes), "fill", to, bytes);
}

static int emu_poison(void *state, tmagen_address to, uint8_t byte, size_t bytes) {
    struct emu_state *emu = state;
    pthread_mutex_lock(&emu->lock);
    int result = emu_memory_fill(emu->memory, to, byte, bytes);
    if (!result) result = emu_memory_poison(emu->memory, to, bytes);
    return finish(emu, result, "fill", to, bytes);
}

static int emu_clear_async(void *state, tmagen_address to, size_t bytes, void *stream) {
    (void)stream;
    return emu_fill(state, to, 0, bytes);
}

static int emu_tensor_map(void *state, const struct tmg_tensor_map_args *args,
                          struct tmg_tensor_map *map) {
    (void)state;
    struct emu_error error;
    const int failed =
        args->im2col
            ? emu_tensor_map_encode_im2col(map, args->type, args->rank, args->address, args->dims,
                                           args->strides, args->lower, args->upper, args->channels,
                                           args->pixels, args->element_strides, args->interleave,
                                           args->swizzle, args->l2_promotion, args->fill, &error)
            : emu_tensor_map_encode(map, args->type, args->rank, args->address, args->dims,
                                    args->strides, args->box, args->element_strides,
                                    args->interleave, args->swizzle, args->l2_promotion, args->fill,
                                    &error);
    if (!failed) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s", error.text);
}

// ---- Modules

static struct emu_budget budget_of(struct emu_state *emu) {
    return (struct emu_budget){.steps = emu->budget.steps,
                               .seconds = emu->budget.seconds,
                               .memory = emu->budget.memory_bytes,
                               .output = emu->budget.output_bytes,
                               .cancel = &emu->cancel};
}

// The non-negative integer [key] of a manifest's object, 0 where there is none.
static uint32_t number(const json_t *object, const char *key) {
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

// What the manifest calls barriers and warps. Rows without a name are left out: they only serve
// reports, so nothing in them can be wrong enough to refuse the kernel.
static int read_names(struct emu_kernel *kernel) {
    const json_t *barriers = json_object_get(kernel->names, "barriers");
    const json_t *roles = json_object_get(kernel->names, "roles"), *row;
    size_t i;
    kernel->barriers = calloc(json_array_size(barriers) + 1, sizeof *kernel->barriers);
    kernel->roles = calloc(json_array_size(roles) + 1, sizeof *kernel->roles);
    if (!kernel->barriers || !kernel->roles) return tmg_fail_memory();
    json_array_foreach(barriers, i, row) {
        const char *name = json_string_value(json_object_get(row, "name"));
        const uint32_t offset = number(row, "offset"), count = number(row, "count");
        if (!name || offset > emulated()->shared_per_block || count > MAX_BARRIERS) continue;
        kernel->barriers[kernel->barrier_count++] =
            (struct emu_barrier_name){.name = name, .offset = offset, .count = count};
    }
    json_array_foreach(roles, i, row) {
        const char *name = json_string_value(json_object_get(row, "name"));
        const uint32_t first = number(row, "first_warp"), warps = number(row, "warps");
        if (!name || first >= MAX_WARPS || warps > MAX_WARPS) continue;
        kernel->roles[kernel->role_count++] =
            (struct emu_role){.name = name, .first_warp = first, .warps = warps};
    }
    return TMAGEN_OK;
}

static int copy_lines(struct emu_kernel *kernel, const struct tmg_module_source *source) {
    kernel->lines = calloc(source->line_count + 1, sizeof *kernel->lines);
    if (!kernel->lines) return tmg_fail_memory();
    for (size_t i = 0; i < source->line_count; ++i)
        kernel->lines[i] = (struct emu_source_line){
            source->lines[i].file, source->lines[i].line > 0 ? (unsigned)source->lines[i].line : 0};
    kernel->line_count = source->line_count;
    return TMAGEN_OK;
}

// The kernel's parameters must be those of the manifest.
static int check_params(const struct emu_kernel *kernel, const struct tmg_module_source *source) {
    const int count = emu_entry_params(kernel->module, source->entry);
    if (count < 0)
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: no kernel of that name", source->entry);
    if ((size_t)count != source->param_count)
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: the kernel has %d parameters, its manifest %zu",
                        source->entry, count, source->param_count);
    for (int i = 0; i < count; ++i) {
        const size_t bytes = emu_entry_param_size(kernel->module, source->entry, i);
        if (bytes == source->param_bytes[i]) continue;
        return tmg_fail(TMAGEN_ERROR_MANIFEST,
                        "%s: parameter %d has %zu bytes in the kernel and %zu in the manifest",
                        source->entry, i, bytes, source->param_bytes[i]);
    }
    return TMAGEN_OK;
}

static void emu_module_unload(void *state, void *module) {
    struct emu_kernel *kernel = module;
    (void)state;
    emu_module_free(kernel->module);
    json_decref(kernel->names);
    free(kernel->entry);
    free(kernel->barriers);
    free(kernel->roles);
    free(kernel->lines);
    free(kernel);
}

static int load(struct emu_kernel *kernel, const struct tmg_module_source *source,
                const struct emu_budget *budget) {
    struct emu_error error;
    char name[160];
    snprintf(name, sizeof name, "%.128s.ptx", source->entry);
    if (emu_module_parse(name, source->code, source->bytes, budget, &kernel->module, &error))
        return tmg_fail(TMAGEN_ERROR_DEVICE, "%s", error.text);
    kernel->entry = strdup(source->entry);
    kernel->names = json_loads(source->manifest ? source->manifest : "{}", 0, NULL);
    kernel->param_count = source->param_count;
    if (!kernel->entry || !kernel->names) return tmg_fail_memory();
    int status = check_params(kernel, source);
    if (!status && emu_entry_check(kernel->module, source->entry, budget, &error))
        status = tmg_fail(TMAGEN_ERROR_DEVICE, "%s", error.text);
    if (!status) status = read_names(kernel);
    if (!status) status = copy_lines(kernel, source);
    return status;
}

// By threads and shared memory alone: nothing here knows a kernel's registers.
static int blocks_per_sm(const struct tmg_module_source *source) {
    const unsigned threads = source->block[0] * source->block[1] * source->block[2];
    const unsigned by_threads = threads ? 32 * emulated()->warps_per_sm / threads : 0;
    const unsigned by_shared =
        emulated()->shared_per_sm / (source->dynamic_shared_bytes + TMG_BLOCK_RESERVE);
    return (int)(by_threads < by_shared ? by_threads : by_shared);
}

static int emu_module_load(void *state, const struct tmg_module_source *source, void **module,
                           struct tmg_module_info *info) {
    struct emu_state *emu = state;
    struct emu_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) return tmg_fail_memory();
    pthread_mutex_lock(&emu->lock);
    const struct emu_budget budget = budget_of(emu);
    pthread_mutex_unlock(&emu->lock);
    const int status = load(kernel, source, &budget);
    if (status) {
        emu_module_unload(state, kernel);
        return status;
    }
    *info = (struct tmg_module_info){-1, -1, -1, blocks_per_sm(source), 0};
    *module = kernel;
    return TMAGEN_OK;
}

// ---- Launching

// All reports one after the other, an empty line behind each; NULL without memory.
static char *join_reports(const struct emu_result *result, uint64_t seed) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    for (size_t i = 0; i < result->report_count; ++i) {
        const struct emu_report *report = &result->reports[i];
        fputs(report->text ? report->text : "out of memory\n", out);
        if (report->count > 1) fprintf(out, "  %u times there\n", report->count);
        fprintf(out, "  in the order of seed %llu\n\n", (unsigned long long)seed);
    }
    fprintf(out, "%s\n\n", result->end);
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}

// The error of a launch with reports: those that fit as a whole, and how many are left out.
static int fail_reports(const char *entry, const char *reports, size_t count) {
    size_t shown = 0, used = 0;
    for (const char *end; (end = strstr(reports + used, "\n\n")); ++shown) {
        const size_t next = (size_t)(end - reports) + 2;
        if (shown && next > MESSAGE) break;
        used = next;
    }
    const size_t hidden = count > shown ? count - shown : 0;
    char more[64] = "";
    if (hidden) snprintf(more, sizeof more, "\n\nand %zu more reports", hidden);
    return tmg_fail(TMAGEN_ERROR_DEVICE, "%s: the emulator reports\n%.*s%s", entry,
                    used > 2 ? (int)(used - 2) : 0, reports, more);
}

static int launch(struct emu_state *emu, const struct emu_launch *launch) {
    struct emu_result result;
    struct emu_error error;
    free(emu->reports);
    emu->reports = NULL;
    ++emu->seed;
    const int refused = emu_launch_run(emu->memory, launch, &result, &error);
    emu->cancel = 0;
    if (launch->profile && !refused) emu_profile_print(launch->profile, emu->profile);
    if (refused) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: %s", launch->entry, error.text);
    int status = TMAGEN_OK;
    emu->effort.thread_instructions += result.thread_instructions;
    emu->effort.multiply_adds += result.multiply_adds;
    emu->effort.core_seconds += result.core_seconds;
    if (result.report_count) {
        emu->reports = join_reports(&result, launch->seed);
        status = emu->reports ? fail_reports(launch->entry, emu->reports, result.report_count)
                              : tmg_fail_memory();
    }
    emu_result_free(&result);
    return status;
}

// The tensors and the workspace of a launch, for bounds and for reports. Returns how many.
static size_t list_tensors(const struct tmg_launch_config *config, struct emu_tensor *list) {
    const struct tmg_binding *binding = config->binding;
    size_t count = 0;
    for (unsigned i = 0; binding && i < binding->manifest->tensor_count; ++i) {
        const struct tmg_tensor *tensor = &binding->manifest->tensors[i];
        const struct tmg_bound_tensor *bound = &binding->tensors[i];
        list[count++] = (struct emu_tensor){.name = tensor->name,
                                            .address = bound->data,
                                            .bytes = (uint64_t)tmg_span_bytes(tensor, bound),
                                            .bits = (unsigned)tmg_dtypes[tensor->dtype].bits,
                                            .rank = tensor->rank,
                                            .dims = bound->dims,
                                            .strides = bound->strides,
                                            .writes = tensor->writes};
    }
    if (config->workspace)
        list[count++] = (struct emu_tensor){.name = "the workspace",
                                            .address = config->workspace,
                                            .bytes = config->workspace_bytes,
                                            .writes = true};
    return count;
}

// As many as the device has; more where the launch is for more, so that each finds a place.
static unsigned sms_of(const struct tmg_binding *binding) {
    const bool more = binding && binding->sms > TMG_EMULATED_SMS && binding->sms <= INT32_MAX;
    return more ? (unsigned)binding->sms : TMG_EMULATED_SMS;
}

static int emu_backend_launch(void *state, void *module, const struct tmg_launch_config *config,
                              void *stream, void **params) {
    struct emu_state *emu = state;
    const struct emu_kernel *kernel = module;
    (void)stream;
    struct emu_tensor tensors[TMG_MAX_TENSORS + 1];
    struct emu_launch what = {.module = kernel->module,
                              .entry = kernel->entry,
                              .dynamic_smem = config->dynamic_shared_bytes,
                              .params = (const void *const *)params,
                              .param_count = kernel->param_count,
                              .sms = sms_of(config->binding),
                              .dependent = config->flags & TMAGEN_LAUNCH_OVERLAP,
                              .non_portable = true,  // as device_cuda.c has it
                              .barriers = kernel->barriers,
                              .barrier_count = kernel->barrier_count,
                              .roles = kernel->roles,
                              .role_count = kernel->role_count,
                              .lines = kernel->lines,
                              .line_count = kernel->line_count,
                              .tensors = tensors,
                              .tensor_count = list_tensors(config, tensors)};
    memcpy(what.grid, config->grid, sizeof what.grid);
    memcpy(what.block, config->block, sizeof what.block);
    memcpy(what.cluster, config->cluster, sizeof what.cluster);
    pthread_mutex_lock(&emu->lock);
    what.seed = emu->seed;
    what.budget = budget_of(emu);
    if (emu->profile) what.profile = emu_profile_new();
    const int status = launch(emu, &what);
    emu_profile_delete(what.profile);
    pthread_mutex_unlock(&emu->lock);
    return status;
}

static const char *emu_reports(void *state) {
    const struct emu_state *emu = state;
    return emu->reports ? emu->reports : "";
}

static void emu_effort(void *state, struct tmg_effort *effort) {
    struct emu_state *emu = state;
    pthread_mutex_lock(&emu->lock);
    *effort = emu->effort;
    pthread_mutex_unlock(&emu->lock);
}

static void emu_set_profile(void *state, FILE *out) {
    struct emu_state *emu = state;
    pthread_mutex_lock(&emu->lock);
    emu->profile = out;
    pthread_mutex_unlock(&emu->lock);
}

static void emu_set_budget(void *state, const tmagen_budget *budget) {
    struct emu_state *emu = state;
    pthread_mutex_lock(&emu->lock);
    emu->budget = *budget;
    pthread_mutex_unlock(&emu->lock);
}

static void emu_cancel(void *state) {
    struct emu_state *emu = state;
    emu->cancel = 1;
}

const struct tmg_backend tmg_emu_backend = {
    .name = "emu",
    .kind = TMAGEN_PTX,
    .wants_binding = true,
    .open = emu_open,
    .close = emu_close,
    .synchronize = emu_synchronize,
    .alloc = emu_alloc,
    .free = emu_free,
    .upload = emu_upload,
    .download = emu_download,
    .fill = emu_fill,
    .poison = emu_poison,
    .module_load = emu_module_load,
    .module_unload = emu_module_unload,
    .tensor_map = emu_tensor_map,
    .clear_async = emu_clear_async,
    .launch = emu_backend_launch,
    .reports = emu_reports,
    .effort = emu_effort,
    .profile = emu_set_profile,
    .set_budget = emu_set_budget,
    .cancel = emu_cancel,
};
