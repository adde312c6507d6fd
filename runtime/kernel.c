// Loading a kernel: manifest, source, code from the cache or the compiler, module on the device.
// The steps are in one place and in this order, so that the first thing wrong is what is reported.
#include "runtime/kernel.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/arch.h"
#include "runtime/compile.h"
#include "runtime/error.h"
#include "runtime/forks.h"
#include "runtime/whole_file.h"
#include "runtime/key.h"
#include "runtime/prepare.h"
#include "runtime/seconds.h"
#include "runtime/sized.h"

enum { MAX_SOURCE = 64 << 20, MAX_PATH = 4096 };

// What one load works on.
struct loading {
    tmagen_device *device;
    const tmagen_load_options *options;
    char path[MAX_PATH];  // of the manifest
    tmagen_kernel *kernel;
    char *source;
    size_t source_bytes;
    tmagen_code code;
};

// A name that ends in .json is a path; others are looked up in the options' directory.
static int find_manifest(const char *name, struct loading *load) {
    size_t length = strlen(name);
    const char *folder = load->options->directory;
    if (!folder || !*folder) folder = secure_getenv("TMAGEN_KERNELS");
    if (!folder || !*folder) folder = "out";
    int is_path = length > 5 && !strcmp(name + length - 5, ".json");
    int needed = is_path ? snprintf(load->path, MAX_PATH, "%s", name)
                         : snprintf(load->path, MAX_PATH, "%s/%s.json", folder, name);
    if (needed < MAX_PATH) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the manifest's path is too long");
}

static int read_manifest(const char *name, struct loading *load) {
    const char *text = load->options->manifest_text;
    const size_t bytes = load->options->manifest_bytes;
    struct tmg_manifest **manifest = &load->kernel->manifest;
    if (text) return tmg_manifest_parse(text, bytes ? bytes : strlen(text), name, manifest);
    if (load->options->code)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "code in memory needs its manifest there too");
    int status = find_manifest(name, load);
    return status ? status : tmg_manifest_read(load->path, manifest);
}

// [bytes] of [data] and a zero behind them, which the caller frees; NULL where there is no memory.
static char *copy_bytes(const void *data, size_t bytes) {
    char *copy = bytes < SIZE_MAX ? malloc(bytes + 1) : NULL;
    if (!copy) return tmg_fail_memory(), NULL;
    memcpy(copy, data, bytes);
    copy[bytes] = 0;
    return copy;
}

static int copy_source(struct loading *load) {
    const char *text = load->options->source_text;
    if (!text && load->options->code) return TMAGEN_OK;
    if (!text)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "a manifest in memory needs its source there too");
    load->source_bytes = load->options->source_bytes;
    if (!load->source_bytes) load->source_bytes = strlen(text);
    load->source = copy_bytes(text, load->source_bytes);
    return load->source ? TMAGEN_OK : TMAGEN_ERROR_MEMORY;
}

// The source: given, or the manifest's file, which lies beside it.
static int read_source(struct loading *load) {
    const char *file = load->kernel->manifest->source;
    if (load->options->source_text || load->options->manifest_text) return copy_source(load);
    char path[MAX_PATH + TMG_MAX_NAME];
    const char *slash = strrchr(load->path, '/');
    int folder = slash ? (int)(slash - load->path + 1) : 0;
    snprintf(path, sizeof path, "%.*s%s", folder, load->path, file);
    return tmg_file_read(path, MAX_SOURCE, &load->source, &load->source_bytes);
}

// Whether the source is the one that the manifest was generated with: one by itself, or the two of
// different runs, would run with the other's shared memory, grid and parameters.
static int check_source(const struct loading *load) {
    const struct tmg_manifest *manifest = load->kernel->manifest;
    char digest[TMAGEN_KEY_CHARS];
    if (!*manifest->source_sha256) return TMAGEN_OK;
    tmg_digest_text(load->source, load->source_bytes, digest);
    if (!strcmp(digest, manifest->source_sha256)) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_MANIFEST,
                    "%s: its source %s has the SHA-256 %.16s..., its manifest wants %.16s...: they "
                    "are of different runs, or edited; 'tmagen gen' makes both anew",
                    manifest->name, manifest->source, digest, manifest->source_sha256);
}

static int is_elf(const tmagen_code *code) {
    return code->data && code->bytes > SELFMAG && !memcmp(code->data, ELFMAG, SELFMAG);
}

static int check_arch(const struct loading *load) {
    const char *needed = load->kernel->manifest->arch, *has = load->device->info.arch;
    const tmagen_code *code = load->options->code;
    if (load->device->backend->kind == TMAGEN_PTX)
        return TMAGEN_OK;  // the emulator checks instructions
    const int ptx = code && !is_elf(code);
    if (ptx ? tmg_arch_compiles(needed, has) : tmg_arch_runs(needed, has)) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_NO_DEVICE, "%s is a kernel for %s; this device, %s, is %s",
                    load->kernel->manifest->name, needed, load->device->info.name, has);
}

// Whether the ELF file has the bytes that its head speaks of: the driver is not told how many it
// may read.
static int is_whole(const tmagen_code *code) {
    Elf64_Ehdr head;
    if (code->bytes < sizeof head) return 0;
    memcpy(&head, code->data, sizeof head);
    const uint64_t sections = (uint64_t)head.e_shnum * head.e_shentsize;
    return head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_shoff <= code->bytes &&
           sections <= code->bytes - head.e_shoff;
}

static int check_code(const struct loading *load) {
    const char *name = load->kernel->manifest->name;
    const tmagen_code *code = load->options->code;
    if (!code->data || !code->bytes)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: its code is missing", name);
    if (is_elf(code) && load->device->backend->kind == TMAGEN_PTX)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: its code is a cubin; legal on this device: PTX",
                        name);
    if (is_elf(code) ? is_whole(code) : !memchr(code->data, 0, code->bytes)) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: its code is neither a whole cubin nor PTX", name);
}

// Takes the caller's code instead of the source's.
static int take_code(struct loading *load) {
    const tmagen_code *given = load->options->code;
    const int status = check_code(load);
    if (status) return status;
    char *copy = copy_bytes(given->data, given->bytes);
    if (!copy) return TMAGEN_ERROR_MEMORY;
    load->code = *given;
    load->code.data = load->code.owner = copy;
    load->code.hit = 1;
    load->code.key[sizeof given->key - 1] = load->code.compiler[sizeof given->compiler - 1] = 0;
    if (!given->resources.registers)  // nothing is said: no kernel has none
        load->code.resources = (tmagen_resources){-1, -1, -1, -1, -1, -1};
    return TMAGEN_OK;
}

static int get_code(struct loading *load) {
    if (load->options->code) return take_code(load);
    const struct tmg_manifest *manifest = load->kernel->manifest;
    tmagen_compile_options options = {.kind = load->device->backend->kind,
                                      .mode = load->options->mode,
                                      .arch = manifest->arch,
                                      .name = manifest->source,
                                      .cache_dir = load->options->cache_dir};
    const char *sha256 = manifest->source_sha256;
    if (*sha256 &&
        tmg_compile_find(load->source, load->source_bytes, &options, sha256, &load->code))
        return TMAGEN_OK;
    const int status = check_source(load);
    if (status) return status;
    return tmagen_compile(load->source, load->source_bytes, &options, &load->code);
}

static void fill_info(const struct loading *load, const struct tmg_module_info *module) {
    tmagen_kernel *kernel = load->kernel;
    const struct tmg_manifest *manifest = kernel->manifest;
    tmagen_kernel_info *info = &kernel->info;
    info->name = manifest->name;
    info->resources = load->code.resources;
    if (module->registers >= 0) info->resources.registers = module->registers;
    if (module->local_bytes >= 0) info->resources.stack_bytes = module->local_bytes;
    if (module->shared_bytes >= 0) info->resources.shared_bytes = module->shared_bytes;
    info->block_threads = (int)(manifest->block[0] * manifest->block[1] * manifest->block[2]);
    info->cluster_blocks =
        (int)(manifest->cluster[0] * manifest->cluster[1] * manifest->cluster[2]);
    info->dynamic_shared_bytes = (int)manifest->shared_memory;
    info->blocks_per_sm = module->blocks_per_sm;
    memcpy(info->key, load->code.key, sizeof info->key);
    memcpy(info->compiler, load->code.compiler, sizeof info->compiler);
    info->hit = load->code.hit;
    info->compile_ms = load->code.hit ? 0 : load->code.compile_ms;
}

// Loads the code as a module of the device, for one of its functions.
static int load_module(struct loading *load, struct tmg_loaded *function,
                       struct tmg_module_info *info) {
    const struct tmg_manifest *manifest = function->manifest;
    size_t param_bytes[TMG_MAX_PARAMS];
    for (unsigned i = 0; i < manifest->param_count; ++i)
        param_bytes[i] = tmg_param_bytes(&manifest->params[i]);
    const struct tmg_backend *backend = load->device->backend;
    const json_t *names = backend->kind == TMAGEN_PTX ? manifest->document : NULL;
    char *text = names ? json_dumps(names, JSON_COMPACT) : NULL;
    struct tmg_module_source source = {.code = load->code.data,
                                       .bytes = load->code.bytes,
                                       .entry = manifest->entry,
                                       .param_bytes = param_bytes,
                                       .param_count = manifest->param_count,
                                       .dynamic_shared_bytes = manifest->shared_memory,
                                       .manifest = text,
                                       .source = load->source,
                                       .lines = load->options->lines,
                                       .line_count = load->options->line_count};
    memcpy(source.block, manifest->block, sizeof source.block);
    memcpy(source.cluster, manifest->cluster, sizeof source.cluster);
    int status = backend->module_load(load->device->state, &source, &function->module, info);
    free(text);
    if (status) return status;
    function->capacity = (struct tmg_capacity){.sms = load->device->info.sms,
                                               .resident_blocks = info->resident_blocks};
    return TMAGEN_OK;
}

// All functions, the main one last: [info] is of that.
static int load_modules(struct loading *load, struct tmg_module_info *info) {
    int status = TMAGEN_OK;
    for (unsigned i = 0; i <= load->kernel->manifest->before_count && !status; ++i) {
        *info = (struct tmg_module_info){-1, -1, -1, 0, 0};
        status = load_module(load, tmg_loaded_of(load->kernel, i), info);
    }
    return status;
}

// Gives semaphores, where the workspace has any, room that no launch of another shape writes to.
static void keep_semaphores(tmagen_kernel *kernel) {
    for (unsigned i = 0; i < kernel->manifest->part_count; ++i)
        if (kernel->manifest->parts[i].zero == TMG_ZERO_FIRST)
            kernel->main.capacity.semaphore_bytes = TMG_SEMAPHORES;
}

static int load_kernel(const char *name, struct loading *load) {
    double start = tmg_seconds();
    int status = read_manifest(name, load);
    if (!status) status = check_arch(load);
    if (!status) status = read_source(load);
    if (!status) status = get_code(load);
    if (!status) status = tmg_prepare_layout(load->kernel);
    double loaded = tmg_seconds();
    struct tmg_module_info info;
    if (!status) status = load_modules(load, &info);
    if (status) return status;
    keep_semaphores(load->kernel);
    fill_info(load, &info);
    load->kernel->info.module_ms = (tmg_seconds() - loaded) * 1e3;
    load->kernel->info.load_ms = (loaded - start) * 1e3 - load->kernel->info.compile_ms;
    return TMAGEN_OK;
}

int tmagen_kernel_load_sized(tmagen_device *device, const char *name,
                             const tmagen_load_options *options, uint64_t sizes,
                             tmagen_kernel **kernel) {
    struct tmg_own_load own;
    if (!device || !name || !*name || !kernel)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the device or the kernel's name is missing");
    int status = tmg_device_check(device);
    if (status) return status;
    struct loading load = {.device = device, .options = &own.options};
    status = tmg_take_load(options, sizes, &own);
    if (!status && !(load.kernel = calloc(1, sizeof *load.kernel))) status = tmg_fail_memory();
    if (!status) {
        load.kernel->device = device;
        tmg_device_hold(device);
        status = load_kernel(name, &load);
    }
    free(own.lines);
    free(load.source);
    tmagen_code_free(&load.code);
    if (status)
        tmagen_kernel_unload(load.kernel);
    else
        *kernel = load.kernel;
    return status;
}

void tmagen_kernel_unload(tmagen_kernel *kernel) {
    if (!kernel) return;
    for (unsigned i = 0; kernel->manifest && i <= kernel->manifest->before_count; ++i) {
        void *module = tmg_loaded_of(kernel, i)->module;
        if (module && kernel->device->forks == tmg_forks())
            kernel->device->backend->module_unload(kernel->device->state, module);
    }
    tmg_device_release(kernel->device);
    tmg_prepared_free(&kernel->prepared);
    tmg_manifest_free(kernel->manifest);
    free(kernel);
}

int tmagen_kernel_get_info_sized(const tmagen_kernel *kernel, tmagen_kernel_info *info,
                                 size_t info_size) {
    if (!kernel || !info)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the kernel or the result is missing");
    return tmg_give_struct("tmagen_kernel_info", &kernel->info, sizeof kernel->info, info,
                           info_size, sizeof kernel->info);
}

const struct tmg_manifest *tmg_kernel_manifest(const tmagen_kernel *kernel) {
    return kernel->manifest;
}
