// Opens and closes sets, loads their kernels and keeps their pins; set_launch.c launches.
#include "runtime/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/bundle.h"
#include "runtime/error.h"
#include "runtime/whole_file.h"
#include "runtime/sized.h"

enum { MAX_PATH = 4096, MAX_TABLE = 8 << 20, MAX_MANIFEST = 1 << 20, SLOTS = 4096 };

// ---- The table and its manifests

// A name that ends in .json is a path; others are looked up in the folder.
static int find_table(tmagen_set *set, const char *directory, const char *name, char *path) {
    const size_t length = strlen(name);
    const char *slash = strrchr(name, '/');
    const int is_path = length > 5 && !strcmp(name + length - 5, ".json");
    if (!directory || !*directory) directory = secure_getenv("TMAGEN_KERNELS");
    if (!directory || !*directory) directory = "out";
    const char *folder = is_path ? (slash ? name : ".") : directory;
    const size_t bytes =
        is_path && slash ? (size_t)(slash - name) + (slash == name) : strlen(folder);
    set->folder = strndup(folder, bytes);
    if (!set->folder) return tmg_fail_memory();
    const int needed = is_path ? snprintf(path, MAX_PATH, "%s", name)
                               : snprintf(path, MAX_PATH, "%s/%s.json", set->folder, name);
    if (needed < MAX_PATH) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the table's path is too long");
}

static int read_packed(tmagen_set *set, const char *name) {
    const char *text;
    size_t bytes;
    const int status = tmg_bundle_table(set->bundle, name, &text, &bytes);
    return status ? status : tmg_table_parse(text, bytes, name, &set->table);
}

static int read_table(tmagen_set *set, const char *name, const tmagen_set_options *options) {
    char path[MAX_PATH], *text;
    size_t bytes;
    if (set->bundle) return read_packed(set, name);
    if (options->table_text)
        return tmg_table_parse(options->table_text, strlen(options->table_text), name, &set->table);
    int status = find_table(set, options->directory, name, path);
    if (!status) status = tmg_file_read(path, MAX_TABLE, &text, &bytes);
    if (status) return status;
    status = tmg_table_parse(text, bytes, path, &set->table);
    free(text);
    return status;
}

static int take_file(tmagen_set *set, unsigned index) {
    char path[MAX_PATH + TMG_MAX_NAME], *text;
    size_t bytes;
    snprintf(path, sizeof path, "%s/%s.json", set->folder, set->table->kernels[index].name);
    int status = tmg_file_read(path, MAX_MANIFEST, &text, &bytes);
    if (status) return status;
    status = tmg_table_take(set->table, index, text, bytes);
    free(text);
    return status;
}

static int take_packed(tmagen_set *set, unsigned index) {
    const char *text;
    size_t bytes;
    const int status = tmg_bundle_manifest(set->bundle, set->device,
                                           set->table->kernels[index].name, &text, &bytes);
    return status ? status : tmg_table_take(set->table, index, text, bytes);
}

static int take_text(tmagen_set *set, unsigned index, const tmagen_set_options *options) {
    const char *name = set->table->kernels[index].name;
    for (size_t i = 0; i < options->kernel_count; ++i) {
        const tmagen_set_kernel *kernel = &options->kernels[i];
        if (!kernel->name || strcmp(kernel->name, name)) continue;
        if (!kernel->manifest_text || (!kernel->source_text && !kernel->code)) break;
        set->texts[index] = kernel;
        const size_t bytes = kernel->manifest_bytes;
        return tmg_table_take(set->table, index, kernel->manifest_text,
                              bytes ? bytes : strlen(kernel->manifest_text));
    }
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: a table in memory needs its kernel %s there too",
                    set->table->name, name);
}

static int take_manifests(tmagen_set *set, const tmagen_set_options *options) {
    int status = TMAGEN_OK;
    if (options->table_text) {
        set->texts = calloc(set->table->kernel_count, sizeof *set->texts);
        if (!set->texts) return tmg_fail_memory();
    }
    for (unsigned i = 0; i < set->table->kernel_count && !status; ++i)
        status = set->bundle  ? take_packed(set, i)
                 : set->texts ? take_text(set, i, options)
                              : take_file(set, i);
    return status ? status : tmg_table_finish(set->table);
}

// ---- Opening

// A table that was measured elsewhere is better than none: it serves, with a warning.
static void warn_of_origin(const tmagen_set *set) {
    const struct tmg_table *table = set->table;
    const tmagen_device_info *info = &set->device->info;
    tmg_warnings_clear();
    if (strcmp(table->version, tmagen_version()))
        tmg_warn("the table %s is by tmagen %s, and this is %s: its entries are hints", table->name,
                 table->version, tmagen_version());
    if (set->device->backend->kind == TMAGEN_PTX) return;  // nothing is measured there
    if (strcmp(table->gpu, info->name) || table->sms != info->sms)
        tmg_warn("the table %s is of %s with %d SMs, and this is %s with %d: its entries are hints",
                 table->name, table->gpu, table->sms, info->name, info->sms);
}

// On the emulator the choices are those of the table's own GPU, so that they can be tried there.
static struct tmg_capacity capacity_of(const tmagen_set *set) {
    const int emulated = set->device->backend->kind == TMAGEN_PTX;
    return (struct tmg_capacity){.sms = emulated ? set->table->sms : set->device->info.sms,
                                 .semaphore_bytes = TMG_SEMAPHORES};
}

static void read_environment(tmagen_set *set) {
    const char *pick = secure_getenv("TMAGEN_PICK");
    struct tmg_pin *pin = &set->environment;
    pin->kernel = -1;
    if (!pick || !*pick) return;
    if (tmg_choice_read(set->table, pick, &pin->kernel, &pin->splits))
        tmg_warn("$TMAGEN_PICK: %s", tmagen_error_last());
}

static int make_room(tmagen_set *set) {
    const struct tmg_manifest *interface = set->table->interface;
    const unsigned kernels = set->table->kernel_count;
    size_t key_words = interface->dim_count + 3;
    for (unsigned i = 0; i < interface->tensor_count; ++i)
        key_words += 2 + 2 * (size_t)interface->tensors[i].rank;
    set->kernels = calloc(kernels, sizeof *set->kernels);
    set->missing = calloc(kernels, sizeof *set->missing);
    set->pins = calloc(TMG_MAX_PINS, sizeof *set->pins);
    if (!set->kernels || !set->missing || !set->pins ||
        tmg_prepared_init(&set->picks, SLOTS, key_words, 1))
        return tmg_fail_memory();
    return TMAGEN_OK;
}

// Gives up what follows from the table.
static void forget(tmagen_set *set) {
    for (unsigned i = 0; set->kernels && i < set->table->kernel_count; ++i)
        tmagen_kernel_unload(atomic_load(&set->kernels[i]));
    tmg_prepared_free(&set->picks);
    tmg_table_free(set->table);
    free((void *)set->kernels);
    free((void *)set->missing);
    free((void *)set->texts);
    free(set->pins);
    set->table = NULL;
    set->kernels = NULL;
    set->missing = NULL;
    set->texts = NULL;
    set->pins = NULL;
}

static int read_set(tmagen_set *set, const char *name, const tmagen_set_options *options) {
    int status = read_table(set, name, options);
    if (!status) status = take_manifests(set, options);
    if (!status) status = make_room(set);
    if (status) return forget(set), status;
    set->capacity = capacity_of(set);
    warn_of_origin(set);
    read_environment(set);
    atomic_store_explicit(&set->ready, 1, memory_order_release);
    return TMAGEN_OK;
}

int tmg_set_ready(tmagen_set *set) {
    const tmagen_set_options none = {0};
    if (atomic_load_explicit(&set->ready, memory_order_acquire)) return TMAGEN_OK;
    pthread_mutex_lock(&set->lock);
    const int status = atomic_load(&set->ready) ? TMAGEN_OK : read_set(set, set->packed, &none);
    pthread_mutex_unlock(&set->lock);
    return status;
}

static int open_set(tmagen_set *set, const char *name, const tmagen_set_options *options) {
    const char *text;
    size_t bytes;
    if (options->flags & ~(unsigned)TMAGEN_SET_COMPILE)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: flags 0x%x; legal: 0 or TMAGEN_SET_COMPILE",
                        name, options->flags);
    set->flags = options->flags;
    set->all.kernel = -1;
    set->cache_dir = options->cache_dir ? strdup(options->cache_dir) : NULL;
    if (options->cache_dir && !set->cache_dir) return tmg_fail_memory();
    if (!set->bundle) return read_set(set, name, options);
    set->packed = strdup(name);
    if (!set->packed) return tmg_fail_memory();
    return tmg_bundle_table(set->bundle, name, &text, &bytes);
}

// Opens [made], which has its device, and gives it to *set, or closes it.
static int give_set(tmagen_set *made, const char *name, const tmagen_set_options *options,
                    tmagen_set **set) {
    pthread_mutex_init(&made->lock, NULL);
    const int status = open_set(made, name, options);
    if (status)
        tmagen_set_close(made);
    else
        *set = made;
    return status;
}

int tmagen_set_open_sized(tmagen_device *device, const char *name,
                          const tmagen_set_options *options, uint64_t sizes, tmagen_set **set) {
    tmagen_set_options own;
    tmagen_set_kernel *kernels = NULL;
    if (!device || !name || !*name || !set)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the device or the table's name is missing");
    int status = tmg_device_check(device);
    if (!status) status = tmg_take_set(options, sizes, &own, &kernels);
    tmagen_set *made = status ? NULL : calloc(1, sizeof *made);
    if (!status && !made) status = tmg_fail_memory();
    if (!made) return free(kernels), status;
    made->device = device;
    made->own_kernels = kernels;
    tmg_device_hold(device);
    return give_set(made, name, &own, set);
}

int tmagen_bundle_open_set(tmagen_bundle *bundle, tmagen_device *device, const char *name,
                           tmagen_set **set) {
    if (!bundle || !device || !name || !*name || !set)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "the bundle, the device, the table's name or the result is missing");
    const tmagen_set_options none = {0};
    const int status = tmg_device_check(device);
    tmagen_set *made = status ? NULL : calloc(1, sizeof *made);
    if (!made) return status ? status : tmg_fail_memory();
    tmg_bundle_hold(bundle);
    made->device = device;
    made->bundle = bundle;
    tmg_device_hold(device);
    return give_set(made, name, &none, set);
}

void tmagen_set_close(tmagen_set *set) {
    if (!set) return;
    forget(set);
    pthread_mutex_destroy(&set->lock);
    tmagen_bundle_close(set->bundle);
    free(set->own_kernels);
    free(set->packed);
    free(set->folder);
    free(set->cache_dir);
    tmg_device_release(set->device);
    free(set);
}

const struct tmg_manifest *tmg_set_interface(tmagen_set *set) {
    return tmg_set_ready(set) ? NULL : set->table->interface;
}

// ---- Kernels

static int get_kernel(tmagen_set *set, int index, int compile, tmagen_kernel **kernel) {
    const char *name = set->table->kernels[index].name;
    if (set->bundle) return tmagen_bundle_load(set->bundle, set->device, name, kernel);
    const tmagen_set_kernel *text = set->texts ? set->texts[index] : NULL;
    tmagen_load_options options = {.mode = compile ? TMAGEN_COMPILE_ON_MISS : TMAGEN_FAIL_ON_MISS,
                                   .directory = set->folder,
                                   .cache_dir = set->cache_dir};
    if (text) {
        options.manifest_text = text->manifest_text;
        options.manifest_bytes = text->manifest_bytes;
        options.source_text = text->source_text;
        options.source_bytes = text->source_bytes;
        options.code = text->code;
        options.lines = text->lines;
        options.line_count = text->line_count;
    }
    return tmagen_kernel_load(set->device, name, &options, kernel);
}

static int load_kernel(tmagen_set *set, int index, int compile, tmagen_kernel **kernel) {
    const int status = get_kernel(set, index, compile, kernel);
    if (!status) (*kernel)->main.capacity.semaphore_bytes = TMG_SEMAPHORES;
    return status;
}

int tmg_set_obtain(tmagen_set *set, int index, int compile, tmagen_kernel **kernel) {
    *kernel = atomic_load_explicit(&set->kernels[index], memory_order_acquire);
    if (*kernel) return TMAGEN_OK;
    pthread_mutex_lock(&set->lock);
    *kernel = atomic_load_explicit(&set->kernels[index], memory_order_acquire);
    const int status = *kernel ? TMAGEN_OK : load_kernel(set, index, compile, kernel);
    if (!status) {
        atomic_store_explicit(&set->kernels[index], *kernel, memory_order_release);
        // launches that passed it over would take it now
        if (atomic_exchange(&set->missing[index], 0)) atomic_fetch_add(&set->generation, 1);
    } else if (status != TMAGEN_ERROR_MEMORY) {  // which may be there for the next launch
        atomic_store(&set->missing[index], 1);
    }
    pthread_mutex_unlock(&set->lock);
    return status;
}

int tmagen_set_load(tmagen_set *set, const char *kernel) {
    if (!set) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the set is missing");
    int refused = tmg_device_check(set->device);
    if (!refused) refused = tmg_set_ready(set);
    if (refused) return refused;
    const int only = kernel ? tmg_table_kernel(set->table, kernel) : -1;
    if (kernel && only < 0)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: has no kernel '%s'", set->table->name, kernel);
    int worst = TMAGEN_OK;
    char message[1024] = "";
    for (int i = 0; i < (int)set->table->kernel_count; ++i) {
        tmagen_kernel *loaded;
        const int status = only < 0 || only == i ? tmg_set_obtain(set, i, 1, &loaded) : TMAGEN_OK;
        if (!status || worst) continue;
        worst = status;
        snprintf(message, sizeof message, "%s: %s", set->table->kernels[i].name,
                 tmagen_error_last());
    }
    return worst ? tmg_fail(worst, "%s", message) : TMAGEN_OK;
}

// ---- Pins

static int same_dims(const tmagen_set *set, const struct tmg_pin *pin, const int64_t *dims) {
    return !memcmp(pin->dims, dims, set->table->interface->dim_count * sizeof *dims);
}

// Sets or removes the pin of the sizes [dims]. Under the lock.
static int pin_shape(tmagen_set *set, const int64_t *dims, const struct tmg_pin *pin) {
    unsigned at = 0;
    while (at < set->pin_count && !same_dims(set, &set->pins[at], dims)) ++at;
    if (pin->kernel < 0) {
        if (at < set->pin_count) set->pins[at] = set->pins[--set->pin_count];
        return TMAGEN_OK;
    }
    if (at == TMG_MAX_PINS)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: %d shapes are pinned; no more can be",
                        set->table->name, TMG_MAX_PINS);
    set->pins[at] = *pin;
    memcpy(set->pins[at].dims, dims, sizeof set->pins[at].dims);
    if (at == set->pin_count) ++set->pin_count;
    return TMAGEN_OK;
}

static int pin_own(tmagen_set *set, const tmagen_launch *launch, const char *choice) {
    struct tmg_pin pin = {.kernel = -1};
    struct tmg_binding binding = {0};
    int status = launch ? tmg_check_lists(set->table->name, launch) : TMAGEN_OK;
    if (!status && choice) status = tmg_choice_read(set->table, choice, &pin.kernel, &pin.splits);
    if (!status && launch) status = tmg_bind(set->table->interface, launch, &binding);
    if (status) return status;
    pthread_mutex_lock(&set->lock);
    if (launch)
        status = pin_shape(set, binding.dims, &pin);
    else
        set->all = pin;
    atomic_store(&set->pinned, set->pin_count > 0 || set->all.kernel >= 0);
    atomic_fetch_add(&set->generation, 1);
    pthread_mutex_unlock(&set->lock);
    return status;
}

int tmagen_set_pin_sized(tmagen_set *set, const tmagen_launch *launch, uint64_t sizes,
                         const char *choice) {
    struct tmg_own_launch *room = NULL;
    if (!set) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the set is missing");
    int status = tmg_device_check(set->device);
    if (!status) status = tmg_set_ready(set);
    if (!status) status = tmg_take_launch(&launch, sizes, &room);
    if (!status) status = pin_own(set, launch, choice);
    free(room);
    return status;
}

// The pin that holds for [launch]: the environment's, its shape's, or that of all.
static struct tmg_pin pin_of(tmagen_set *set, const tmagen_launch *launch, int *why) {
    struct tmg_binding binding;
    *why = TMAGEN_BY_ENVIRONMENT;
    if (set->environment.kernel >= 0) return set->environment;
    *why = 0;
    if (!atomic_load(&set->pinned)) return (struct tmg_pin){.kernel = -1};
    *why = TMAGEN_BY_PIN;
    pthread_mutex_lock(&set->lock);
    struct tmg_pin pin = set->all;
    if (set->pin_count && !tmg_bind(set->table->interface, launch, &binding))
        for (unsigned i = 0; i < set->pin_count; ++i)
            if (same_dims(set, &set->pins[i], binding.dims)) pin = set->pins[i];
    pthread_mutex_unlock(&set->lock);
    if (pin.kernel < 0) *why = 0;
    return pin;
}

int tmg_set_choose(tmagen_set *set, const tmagen_launch *launch, int64_t workspace, unsigned most,
                   struct tmg_choice *choices, unsigned *count) {
    int why;
    const struct tmg_pin pin = pin_of(set, launch, &why);
    const struct tmg_question question = {.table = set->table,
                                          .launch = launch,
                                          .capacity = set->capacity,
                                          .kernel = pin.kernel,
                                          .splits = pin.splits,
                                          .why = why,
                                          .workspace = workspace,
                                          .most = most};
    return tmg_choose(&question, choices, count);
}
