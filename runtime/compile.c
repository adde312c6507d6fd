// From CUDA source to cubin or PTX, through the cache.
// On a hit NVRTC is neither loaded nor needed; on a miss one process compiles and the others wait.
#include "runtime/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cache.h"
#include "runtime/error.h"
#include "runtime/nvrtc.h"
#include "runtime/request.h"
#include "runtime/resources.h"
#include "runtime/seconds.h"
#include "runtime/sized.h"

enum { MAX_OPTIONS = 16, LOG_SHOWN = 6000 };

// Options that only make the compiler talk; a release may not know the later ones. NVRTC's own
// cache would swallow the report; releases that do not know the option have no such cache.
static const char *const reporting[] = {"--ptxas-options=-v", "--no-cache"};
enum { REPORTING = sizeof reporting / sizeof *reporting };

void (*tmg_compile_told)(const char *name);

// What one call of tmagen_compile() works on.
struct compile_job {
    struct tmg_request_text text;
    struct tmg_request *request;
    const struct tmg_request *beside;     // the PTX that is stored as well, or NULL
    const struct tmg_nvrtc_place *place;  // NULL: no NVRTC
    tmagen_mode mode;
    const char *cache_dir;
    tmagen_code *code;
};

// ---- Compiling

// The options as NVRTC wants them: the job's, and the first [talk] of those that make it talk.
// [texts] is a copy of the job's, to be cut into words.
static int list_options(char *texts, int talk, const char *list[MAX_OPTIONS]) {
    int count = 0;
    for (char *next, *word = strtok_r(texts, " ", &next); word; word = strtok_r(NULL, " ", &next))
        list[count++] = word;
    for (int i = 0; i < talk; ++i) list[count++] = reporting[i];
    return count;
}

static nvrtcResult run_compiler(const struct tmg_nvrtc *nvrtc, nvrtcProgram program,
                                const struct compile_job *job, int talk) {
    char texts[sizeof job->text.options];
    const char *list[MAX_OPTIONS];
    memcpy(texts, job->text.options, sizeof texts);
    int count = list_options(texts, talk, list);
    return nvrtc->nvrtcCompileProgram(program, count, list);
}

// The log, zero-terminated, without our made-up folder; the caller frees it. NULL when there is
// none.
static char *read_log(const struct tmg_nvrtc *nvrtc, nvrtcProgram program) {
    size_t bytes = 0;
    if (nvrtc->nvrtcGetProgramLogSize(program, &bytes)) bytes = 0;
    char *log = calloc(bytes + 1, 1);
    if (!log || (bytes && nvrtc->nvrtcGetProgramLog(program, log))) return log;
    size_t length = strlen(tmg_source_folder);
    for (char *at = log; (at = strstr(at, tmg_source_folder));)
        memmove(at, at + length, strlen(at + length) + 1);
    return log;
}

static int fail_compile(const struct compile_job *job, nvrtcResult result, const char *log) {
    if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INVALID_OPTION)
        return tmg_fail(TMAGEN_ERROR_COMPILE, "%s does not compile for %s:\n%.*s",
                        job->request->name, job->request->arch, LOG_SHOWN, log ? log : "");
    return tmg_fail(TMAGEN_ERROR_COMPILE, "%s: NVRTC failed with error %d: %.*s",
                    job->request->name, result, LOG_SHOWN, log ? log : "");
}

// Takes what [request] asks for out of [program]; the caller frees *output.
static int read_output(const struct tmg_nvrtc *nvrtc, nvrtcProgram program,
                       const struct tmg_request *request, char **output, size_t *bytes) {
    int ptx = !strcmp(request->kind, "ptx");
    nvrtcResult result =
        ptx ? nvrtc->nvrtcGetPTXSize(program, bytes) : nvrtc->nvrtcGetCUBINSize(program, bytes);
    *output = NULL;
    if (!result && *bytes && !(*output = malloc(*bytes + 1))) return tmg_fail_memory();
    if (!result && *bytes)
        result =
            ptx ? nvrtc->nvrtcGetPTX(program, *output) : nvrtc->nvrtcGetCUBIN(program, *output);
    if (result || !*bytes) {
        free(*output);
        *output = NULL;
        return tmg_fail(TMAGEN_ERROR_COMPILE, "%s: NVRTC gave no %s for %s", request->name,
                        request->kind, request->arch);
    }
    (*output)[*bytes] = 0;
    if (ptx) *bytes = strlen(*output);  // NVRTC counts the zero
    return TMAGEN_OK;
}

// What a compile leaves; the texts are the caller's to free.
struct product {
    char *output, *log, *ptx;  // ptx: NULL unless the job has something beside
    size_t bytes, ptx_bytes;
    struct tmg_entry_info info;
};

static void free_product(struct product *product) {
    free(product->output);
    free(product->log);
    free(product->ptx);
    *product = (struct product){0};
}

static int read_outputs(const struct tmg_nvrtc *nvrtc, nvrtcProgram program,
                        const struct compile_job *job, struct product *product) {
    int status = read_output(nvrtc, program, job->request, &product->output, &product->bytes);
    if (status || !job->beside) return status;
    return read_output(nvrtc, program, job->beside, &product->ptx, &product->ptx_bytes);
}

static int compile_program(const struct tmg_nvrtc *nvrtc, nvrtcProgram program,
                           const struct compile_job *job, struct product *product) {
    nvrtcResult result = NVRTC_ERROR_INVALID_OPTION;
    for (int talk = REPORTING; talk >= 0 && result == NVRTC_ERROR_INVALID_OPTION; --talk)
        result = run_compiler(nvrtc, program, job, talk);
    product->log = read_log(nvrtc, program);
    if (!product->log) return tmg_fail_memory();
    int status = result ? fail_compile(job, result, product->log)
                        : read_outputs(nvrtc, program, job, product);
    if (status) free_product(product);
    return status;
}

static int compile(const struct compile_job *job, struct product *product) {
    const struct tmg_nvrtc *nvrtc = tmg_nvrtc();
    if (!nvrtc) return TMAGEN_ERROR_NO_COMPILER;
    double start = tmg_seconds();
    char name[256];
    snprintf(name, sizeof name, "%s%s", tmg_source_folder, job->request->name);
    char *source = strndup(job->request->source, job->request->source_bytes);
    if (!source) return tmg_fail_memory();
    nvrtcProgram program = NULL;
    nvrtcResult result = nvrtc->nvrtcCreateProgram(&program, source, name, 0, NULL, NULL);
    int status =
        result ? fail_compile(job, result, NULL) : compile_program(nvrtc, program, job, product);
    if (!result) nvrtc->nvrtcDestroyProgram(&program);
    free(source);
    if (status) return status;
    memset(&product->info, 0, sizeof product->info);
    tmg_resources_parse(product->log, &product->info.resources);
    tmg_resources_strip(product->log);
    product->info.compile_us = (int64_t)((tmg_seconds() - start) * 1e6);
    const char *hex = strchr(job->place->id, ' ');
    snprintf(product->info.compiler, sizeof product->info.compiler, "nvrtc %d.%d %.12s",
             nvrtc->major, nvrtc->minor, hex ? hex + 1 : "");
    return TMAGEN_OK;
}

// ---- Giving the result

static void give_info(const struct tmg_entry_info *info, tmagen_code *code) {
    code->resources = info->resources;
    code->compile_ms = (double)info->compile_us / 1e3;
    memcpy(code->compiler, info->compiler, sizeof code->compiler);
}

static void give_stored(struct tmg_stored *stored, tmagen_code *code) {
    code->owner = stored->block;
    code->data = stored->entry.code;
    code->bytes = stored->entry.code_bytes;
    code->log = stored->entry.log;
    code->hit = 1;
    memcpy(code->key, stored->key, sizeof code->key);
    give_info(&stored->entry.info, code);
}

// Code and log in one block, so that one free() returns both.
static int give_product(struct product *product, tmagen_code *code) {
    size_t log_bytes = strlen(product->log) + 1;
    char *block = realloc(product->output, product->bytes + 1 + log_bytes);
    if (!block) return tmg_fail_memory();
    product->output = block;
    memcpy(block + product->bytes + 1, product->log, log_bytes);
    code->owner = block;
    code->data = block;
    code->bytes = product->bytes;
    code->log = block + product->bytes + 1;
    code->hit = 0;
    give_info(&product->info, code);
    product->output = NULL;
    return TMAGEN_OK;
}

static void store(const struct tmg_cache *cache, const struct tmg_entry *entry) {
    if (tmg_cache_store(cache, entry))
        tmg_warn("%s", tmagen_error_last());
    else
        tmg_cache_trim(cache);
}

// Stores the PTX that came with the cubin as what it is by itself, where nothing is assembled.
static void store_beside(const struct tmg_cache *cache, const struct compile_job *job,
                         struct product *product) {
    struct tmg_entry entry = {.request = *job->beside,
                              .compiler = job->place->id,
                              .info = product->info,
                              .log = product->log,
                              .code = product->ptx,
                              .code_bytes = product->ptx_bytes};
    tmg_resources_parse("", &entry.info.resources);
    store(cache, &entry);
}

static void store_product(const struct tmg_cache *cache, const struct compile_job *job,
                          struct product *product) {
    const struct tmg_entry entry = {.request = *job->request,
                                    .compiler = job->place->id,
                                    .info = product->info,
                                    .log = product->log,
                                    .code = product->output,
                                    .code_bytes = product->bytes};
    store(cache, &entry);
    if (product->ptx) store_beside(cache, job, product);
}

// Compiles, stores in [cache] if there is one, and gives the result.
static int compile_and_store(const struct tmg_cache *cache, struct compile_job *job) {
    struct product product = {0};
    int status = compile(job, &product);
    if (status) return status;
    if (cache) store_product(cache, job, &product);
    tmg_request_key(job->request, job->place->id, job->code->key);
    status = give_product(&product, job->code);
    free_product(&product);
    return status;
}

static int fail_miss(const struct tmg_cache *cache, const struct compile_job *job,
                     const char *fault) {
    char key[TMAGEN_KEY_CHARS];
    if (fault == tmg_cache_no_memory) return tmg_fail_memory();
    tmg_request_key(job->request, job->place ? job->place->id : NULL, key);
    return tmg_fail(TMAGEN_ERROR_MISS, "%s: not in the cache %s (key %.16s...): %s",
                    job->request->name, cache->path, key, fault);
}

// Returns NULL and [stored], or why there is none that serves.
static const char *look_up(const struct tmg_cache *cache, const struct compile_job *job,
                           struct tmg_stored *stored) {
    const char *compiler = job->place ? job->place->id : NULL;
    const int any = !compiler || job->mode == TMAGEN_FAIL_ON_MISS;
    return tmg_cache_load(cache, job->request, compiler, any, stored);
}

static int compile_cached(const struct tmg_cache *cache, struct compile_job *job) {
    const char *compiler = job->place ? job->place->id : NULL;
    struct tmg_stored stored;
    const char *fault = look_up(cache, job, &stored);
    if (!fault) return give_stored(&stored, job->code), TMAGEN_OK;
    if (job->mode == TMAGEN_FAIL_ON_MISS) return fail_miss(cache, job, fault);
    if (!compiler) {
        tmg_nvrtc_find();
        return tmg_fail_within(TMAGEN_ERROR_NO_COMPILER,
                               "%s is not in the cache %s, and cannot be compiled",
                               job->request->name, cache->path);
    }
    tmg_request_key(job->request, compiler, job->code->key);
    int lock = tmg_cache_lock(cache, job->code->key), status = TMAGEN_OK;
    // Whoever had the lock before has stored it.
    if (tmg_cache_load(cache, job->request, compiler, 0, &stored))
        status = compile_and_store(cache, job);
    else
        give_stored(&stored, job->code);
    tmg_cache_unlock(cache, job->code->key, lock);
    return status;
}

// Opens the cache and goes through it. Without a cache the kernel is compiled all the same.
static int find_or_compile(struct compile_job *job) {
    struct tmg_cache cache;
    int cached = job->mode != TMAGEN_NO_CACHE;
    if (cached && tmg_cache_open(job->cache_dir, job->mode != TMAGEN_FAIL_ON_MISS, &cache)) {
        if (job->mode == TMAGEN_FAIL_ON_MISS)
            return tmg_fail_within(TMAGEN_ERROR_MISS, "%s: not in the cache", job->request->name);
        tmg_warn("%s", tmagen_error_last());
        cached = 0;
    }
    if (!cached) return compile_and_store(NULL, job);
    int status = compile_cached(&cache, job);
    tmg_cache_close(&cache);
    return status;
}

static int compile_job(struct compile_job *job) {
    if (tmg_compile_told) tmg_compile_told(job->request->name);
    const int status = find_or_compile(job);
    if (tmg_compile_told) tmg_compile_told(NULL);
    return status;
}

// [beside] is the PTX that is stored with a cubin that must be compiled, or NULL.
static int compile_own(const char *source, size_t bytes, const tmagen_compile_options *options,
                       const struct tmg_request *beside, tmagen_code *code) {
    double start = tmg_seconds();
    tmagen_code result = {0};
    struct compile_job job = {.request = &job.text.request, .beside = beside, .code = &result};
    tmg_warnings_clear();
    int status = code ? tmg_request_describe(source, bytes, options, NULL, &job.text)
                      : tmg_fail(TMAGEN_ERROR_ARGUMENT, "there is no room for the code");
    if (status) return status;
    job.mode = options->mode;
    job.cache_dir = options->cache_dir;
    job.place = tmg_nvrtc_find();
    if ((status = compile_job(&job))) return status;
    result.elapsed_ms = (tmg_seconds() - start) * 1e3;
    *code = result;
    return TMAGEN_OK;
}

// A cubin with its PTX: by one compile where the cubin is not there yet.
static int compile_both(const char *source, size_t bytes, const tmagen_compile_options *options,
                        tmagen_code *code) {
    tmagen_compile_options cubin = *options, ptx = *options;
    struct tmg_request_text beside;
    cubin.kind = TMAGEN_CUBIN;
    ptx.kind = TMAGEN_PTX;
    int status = tmg_request_describe(source, bytes, &ptx, NULL, &beside);
    if (!status) status = compile_own(source, bytes, &cubin, &beside.request, code);
    if (status || !code->hit) return status;
    tmagen_code found = {0};
    status = compile_own(source, bytes, &ptx, NULL, &found);
    tmagen_code_free(&found);
    if (status) tmagen_code_free(code);
    return status;
}

int tmg_compile_find(const char *source, size_t bytes, const tmagen_compile_options *options,
                     const char *sha256, tmagen_code *code) {
    double start = tmg_seconds();
    struct compile_job job = {.request = &job.text.request, .mode = options->mode};
    struct tmg_cache cache;
    struct tmg_stored stored;
    if (job.mode == TMAGEN_NO_CACHE ||
        tmg_request_describe(source, bytes, options, sha256, &job.text) ||
        tmg_cache_open(options->cache_dir, 0, &cache))
        return 0;
    job.place = tmg_nvrtc_find();
    const char *fault = look_up(&cache, &job, &stored);
    tmg_cache_close(&cache);
    if (fault) return 0;
    tmg_warnings_clear();
    *code = (tmagen_code){0};
    give_stored(&stored, code);
    code->elapsed_ms = (tmg_seconds() - start) * 1e3;
    return 1;
}

int tmagen_compile_sized(const char *source, size_t bytes, const tmagen_compile_options *options,
                         size_t options_size, tmagen_code *code, size_t code_size) {
    tmagen_compile_options own = {0};
    tmagen_code result = {0};
    int status = options ? tmg_take_struct("tmagen_compile_options", options, options_size, &own,
                                           sizeof own, sizeof own)
                         : TMAGEN_OK;
    if (!status && code) status = tmg_check_size("tmagen_code", code_size, sizeof result);
    if (!status && options && code && own.kind == TMAGEN_CUBIN_AND_PTX)
        status = compile_both(source, bytes, &own, &result);
    else if (!status)
        status = compile_own(source, bytes, options ? &own : NULL, NULL, code ? &result : NULL);
    if (!status)
        status =
            tmg_give_struct("tmagen_code", &result, sizeof result, code, code_size, sizeof result);
    return status;
}

void tmagen_code_free_sized(tmagen_code *code, size_t code_size) {
    if (!code || code_size < sizeof *code) return;
    free(code->owner);
    memset(code, 0, code_size);
}

int tmagen_compiler_describe(char *text, size_t size) {
    if (!text || !size) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "there is no room for the text");
    const struct tmg_nvrtc_place *place = tmg_nvrtc_find();
    const struct tmg_nvrtc *nvrtc = place ? tmg_nvrtc() : NULL;
    if (!nvrtc) return TMAGEN_ERROR_NO_COMPILER;
    snprintf(text, size, "nvrtc %d.%d, %s, %s", nvrtc->major, nvrtc->minor, place->id, place->path);
    return TMAGEN_OK;
}
