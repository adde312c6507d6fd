// The emulator as a device: the same table of functions as CUDA's, over runtime/emu.
// Launches run to their end at once; the first report of one is its error, in full.
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device.h"
#include "runtime/emu/emu.h"
#include "runtime/error.h"

enum { EMULATED_SMS = 4, NAMES_MAX = 64 };

struct emu_state {
    pthread_mutex_t lock;  // one launch at a time: the emulator runs a machine on one thread
    struct emu_memory *memory;
    uint64_t seed, launches;
};

// Names for reports point into [manifest], which the module keeps.
struct emu_loaded {
    struct emu_module *module;
    char *entry;
    json_t *manifest;
    struct emu_barrier_name barriers[NAMES_MAX];
    struct emu_role roles[NAMES_MAX];
    size_t barrier_count, role_count;
    size_t param_count;
};

// ---- The device

// Seed of the first launch; each later one takes the next, so that repeated runs differ in order.
static uint64_t seed_from_environment(void) {
    const char *text = getenv("TMAGEN_EMU_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

static int emu_open(int ordinal, void **state, tmagen_device_info *info) {
    if (ordinal) return tmg_fail(TMAGEN_ERROR_NO_DEVICE, "there is one emulator only: emu");
    struct emu_state *made = calloc(1, sizeof *made);
    if (made) made->memory = emu_memory_new();
    if (!made || !made->memory) {
        free(made);
        return tmg_fail_memory();
    }
    pthread_mutex_init(&made->lock, NULL);
    made->seed = seed_from_environment();
    *info = (tmagen_device_info){.name = "emulator",
                                 .arch = "sm_90",
                                 .sms = EMULATED_SMS,
                                 .shared_memory_per_block = 227 * 1024,
                                 .shared_memory_per_sm = 228 * 1024,
                                 .l2_bytes = 1 << 20,
                                 .memory_bytes = INT64_C(1) << 32};
    *state = made;
    return TMAGEN_OK;
}

static void emu_close(void *state) {
    struct emu_state *emu = state;
    emu_memory_delete(emu->memory);
    pthread_mutex_destroy(&emu->lock);
    free(emu);
}

static int emu_synchronize(void *state) {
    (void)state;
    return TMAGEN_OK;
}

// ---- Memory

// Runs [call] under the lock; [what] completes the message where it fails.
#define LOCKED(emu, call, what)                                                          \
    do {                                                                                 \
        pthread_mutex_lock(&(emu)->lock);                                                \
        int failed = (call) != 0;                                                        \
        pthread_mutex_unlock(&(emu)->lock);                                              \
        return failed ? tmg_fail(TMAGEN_ERROR_DEVICE, "emulator: %s", what) : TMAGEN_OK; \
    } while (0)

static int emu_alloc(void *state, size_t bytes, tmagen_address *address) {
    struct emu_state *emu = state;
    pthread_mutex_lock(&emu->lock);
    *address = emu_memory_alloc(emu->memory, bytes, NULL);
    pthread_mutex_unlock(&emu->lock);
    return *address ? TMAGEN_OK : tmg_fail_memory();
}

static void emu_free(void *state, tmagen_address address) {
    struct emu_state *emu = state;
    pthread_mutex_lock(&emu->lock);
    emu_memory_free(emu->memory, address);
    pthread_mutex_unlock(&emu->lock);
}

static int emu_upload(void *state, tmagen_address to, const void *from, size_t bytes) {
    struct emu_state *emu = state;
    LOCKED(emu, emu_memory_write(emu->memory, to, from, bytes), "an upload outside of any buffer");
}

static int emu_download(void *state, void *to, tmagen_address from, size_t bytes) {
    struct emu_state *emu = state;
    LOCKED(emu, emu_memory_read(emu->memory, to, from, bytes), "a download outside of any buffer");
}

static int emu_fill(void *state, tmagen_address to, uint8_t byte, size_t bytes) {
    struct emu_state *emu = state;
    LOCKED(emu, emu_memory_fill(emu->memory, to, byte, bytes), "a fill outside of any buffer");
}

static int emu_clear_async(void *state, tmagen_address to, size_t bytes, void *stream) {
    (void)stream;
    return emu_fill(state, to, 0, bytes);
}

// ---- Modules

static long number(const json_t *object, const char *key) {
    return (long)json_integer_value(json_object_get(object, key));
}

static const char *name_of(const json_t *object) {
    const char *name = json_string_value(json_object_get(object, "name"));
    return name ? name : "?";
}

// What the manifest calls barriers and roles; whatever is missing there is only missing in reports.
static void read_names(struct emu_loaded *loaded) {
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(loaded->manifest, "barriers"), i, entry) {
        if (i == NAMES_MAX) break;
        loaded->barriers[loaded->barrier_count++] = (struct emu_barrier_name){
            name_of(entry), (uint32_t)number(entry, "offset"), (uint32_t)number(entry, "count")};
    }
    json_array_foreach(json_object_get(loaded->manifest, "roles"), i, entry) {
        if (i == NAMES_MAX) break;
        loaded->roles[loaded->role_count++] =
            (struct emu_role){name_of(entry), (unsigned)number(entry, "first_warp"),
                              (unsigned)number(entry, "warps")};
    }
}

static int check_params(const struct emu_module *module, const struct tmg_module_source *source) {
    int count = emu_entry_params(module, source->entry);
    if (count < 0)
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: no kernel of that name", source->entry);
    if ((size_t)count != source->param_count)
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: the kernel has %d parameters, its manifest %zu",
                        source->entry, count, source->param_count);
    for (int i = 0; i < count; ++i) {
        size_t bytes = emu_entry_param_size(module, source->entry, i);
        if (bytes != source->param_bytes[i])
            return tmg_fail(TMAGEN_ERROR_MANIFEST,
                            "%s: parameter %d has %zu bytes in the kernel and %zu in the manifest",
                            source->entry, i, bytes, source->param_bytes[i]);
    }
    return TMAGEN_OK;
}

static void emu_module_unload(void *state, void *module) {
    struct emu_loaded *loaded = module;
    (void)state;
    emu_module_free(loaded->module);
    json_decref(loaded->manifest);
    free(loaded->entry);
    free(loaded);
}

static int emu_module_load(void *state, const struct tmg_module_source *source, void **module,
                           struct tmg_module_info *info) {
    struct emu_error error;
    struct emu_loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded) return tmg_fail_memory();
    int status = TMAGEN_OK;
    loaded->entry = strdup(source->entry);
    loaded->param_count = source->param_count;
    loaded->manifest = source->manifest ? json_loads(source->manifest, 0, NULL) : NULL;
    read_names(loaded);
    if (!loaded->entry) status = tmg_fail_memory();
    if (!status &&
        emu_module_parse(source->entry, source->code, source->bytes, &loaded->module, &error))
        status = tmg_fail(TMAGEN_ERROR_DEVICE, "emulator: %s", error.text);
    if (!status) status = check_params(loaded->module, source);
    if (status) {
        emu_module_unload(state, loaded);
        return status;
    }
    *info = (struct tmg_module_info){-1, -1, -1, 1, 0};
    *module = loaded;
    return TMAGEN_OK;
}

// ---- Launching

static int emu_tensor_map(void *state, const struct tmg_tensor_map_args *args,
                          struct tmg_tensor_map *map) {
    struct emu_error error;
    (void)state;
    if (!emu_tensor_map_encode(map, args->type, args->rank, args->address, args->dims,
                               args->strides, args->box, args->element_strides, args->interleave,
                               args->swizzle, args->l2_promotion, args->fill, &error))
        return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_DEVICE, "tensor map: %s", error.text);
}

// All reports of a launch as one message; it is cut where the error's buffer ends.
static int fail_with(const struct emu_result *result, uint64_t seed) {
    enum { TEXT = 8000 };
    char *text = malloc(TEXT);
    size_t used = 0;
    if (!text) return tmg_fail_memory();
    text[0] = '\0';
    for (size_t i = 0; i < result->report_count && used < TEXT; ++i)
        used += (size_t)snprintf(text + used, TEXT - used, "%s%s", i ? "\n" : "",
                                 result->reports[i].text ? result->reports[i].text : "");
    int status =
        tmg_fail(TMAGEN_ERROR_DEVICE, "emulator, seed %llu: %s", (unsigned long long)seed, text);
    free(text);
    return status;
}

static int emu_launch(void *state, void *module, const struct tmg_launch_config *config,
                      void *stream, void **params) {
    struct emu_state *emu = state;
    const struct emu_loaded *loaded = module;
    struct emu_result result;
    struct emu_error error;
    struct emu_launch launch = {.module = loaded->module,
                                .entry = loaded->entry,
                                .dynamic_smem = config->dynamic_shared_bytes,
                                .params = (const void *const *)params,
                                .param_count = loaded->param_count,
                                .sms = EMULATED_SMS,
                                .barriers = loaded->barriers,
                                .barrier_count = loaded->barrier_count,
                                .roles = loaded->roles,
                                .role_count = loaded->role_count};
    (void)stream;
    memcpy(launch.grid, config->grid, sizeof launch.grid);
    memcpy(launch.block, config->block, sizeof launch.block);
    memcpy(launch.cluster, config->cluster, sizeof launch.cluster);
    pthread_mutex_lock(&emu->lock);
    launch.seed = emu->seed + emu->launches++;
    int status = emu_launch_run(emu->memory, &launch, &result, &error);
    pthread_mutex_unlock(&emu->lock);
    if (status) return tmg_fail(TMAGEN_ERROR_DEVICE, "emulator: %s", error.text);
    if (result.report_count) status = fail_with(&result, launch.seed);
    emu_result_free(&result);
    return status;
}

const struct tmg_backend tmg_emu_backend = {
    .name = "emu",
    .kind = TMAGEN_PTX,
    .open = emu_open,
    .close = emu_close,
    .synchronize = emu_synchronize,
    .alloc = emu_alloc,
    .free = emu_free,
    .upload = emu_upload,
    .download = emu_download,
    .fill = emu_fill,
    .module_load = emu_module_load,
    .module_unload = emu_module_unload,
    .tensor_map = emu_tensor_map,
    .clear_async = emu_clear_async,
    .launch = emu_launch,
};
