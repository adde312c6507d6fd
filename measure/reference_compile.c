// A reference.c of a user's family becomes code of this process: compiled by the C compiler, kept
// in the cache by its content, loaded from memory. What the cache gives was checked by its digest
// and lies in a folder that nobody else may write to; nothing is ever loaded from a manifest.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/reference_code.h"
#include "measure/watchdog.h"
#include "runtime/cache.h"
#include "runtime/error.h"
#include "runtime/whole_file.h"

enum { CODE_MAX = 64 << 20, SAID_MAX = 1500 };
static const char options[] = "-std=c99 -O2 -fPIC -shared";
extern char **environ;

static const char *compiler(void) {
    const char *named = getenv("TMAGEN_CC");
    return named && *named ? named : "cc";
}

// A folder that is ours alone, and the files in it.
struct workshop {
    char folder[400], source[420], code[420], said[420];
};

static int open_workshop(struct workshop *shop) {
    const char *parent = getenv("TMPDIR");
    snprintf(shop->folder, sizeof shop->folder, "%.380s/tmagen.XXXXXX",
             parent && *parent ? parent : "/tmp");
    if (!mkdtemp(shop->folder)) {
        return tmg_fail(TMAGEN_ERROR_FILE, "%s: %s", shop->folder, strerror(errno));
    }
    snprintf(shop->source, sizeof shop->source, "%s/reference.c", shop->folder);
    snprintf(shop->code, sizeof shop->code, "%s/reference.so", shop->folder);
    snprintf(shop->said, sizeof shop->said, "%s/said", shop->folder);
    return TMAGEN_OK;
}

static void close_workshop(const struct workshop *shop) {
    unlink(shop->source);
    unlink(shop->code);
    unlink(shop->said);
    rmdir(shop->folder);
}

static int write_source(const struct workshop *shop, const char *source) {
    FILE *file = fopen(shop->source, "w");
    const bool written = file && fputs(source, file) >= 0;
    if (file && fclose(file) == 0 && written) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_FILE, "%s: %s", shop->source, strerror(errno));
}

static int fail_compile(const struct workshop *shop, const char *path) {
    char *said = NULL;
    size_t bytes;
    if (tmg_file_read(shop->said, CODE_MAX, &said, &bytes)) said = NULL;
    const int status = tmg_fail(TMAGEN_ERROR_COMPILE, "%s does not compile by %s:\n%.*s", path,
                                compiler(), SAID_MAX, said ? said : "");
    free(said);
    return status;
}

// Runs the compiler, whose words go to a file.
static int run_compiler(struct workshop *shop, const char *path) {
    char words[] = "-std=c99\0-O2\0-fPIC\0-shared\0-o";
    char name[4096], libm[] = "-lm";
    snprintf(name, sizeof name, "%s", compiler());
    char *arguments[] = {name,       words,      words + 9,    words + 13, words + 19,
                         words + 27, shop->code, shop->source, libm,       NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int code;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, shop->said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    const int failed = posix_spawnp(&child, name, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        return tmg_fail(TMAGEN_ERROR_NO_COMPILER, "there is no C compiler %s: %s", name,
                        strerror(failed));
    }
    if (waitpid(child, &code, 0) == child && WIFEXITED(code) && WEXITSTATUS(code) == 0) {
        return TMAGEN_OK;
    }
    return fail_compile(shop, path);
}

// The compiled code of [source], to be freed.
static int compile(const char *source, const char *path, char **code, size_t *bytes) {
    struct workshop shop;
    int status = open_workshop(&shop);
    if (status != TMAGEN_OK) return status;
    status = write_source(&shop, source);
    watchdog_compile(path);
    if (status == TMAGEN_OK) status = run_compiler(&shop, path);
    watchdog_compile(NULL);
    if (status == TMAGEN_OK) status = tmg_file_read(shop.code, CODE_MAX, code, bytes);
    close_workshop(&shop);
    return status;
}

// Loads code that lies in memory.
static int load(const char *path, const void *code, size_t bytes, struct reference *reference) {
    char file[64];
    const int memory = memfd_create("tmagen reference", MFD_CLOEXEC);
    if (memory < 0 || write(memory, code, bytes) != (ssize_t)bytes) {
        if (memory >= 0) close(memory);
        return tmg_fail_memory();
    }
    snprintf(file, sizeof file, "/proc/self/fd/%d", memory);
    reference->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    close(memory);
    if (!reference->library) return tmg_fail(TMAGEN_ERROR_COMPILE, "%s: %s", path, dlerror());
    reference->code = dlsym(reference->library, "tmagen_reference");
    if (reference->code) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_COMPILE, "%s does not #include \"reference.h\"", path);
}

// Compiles, keeps what came out in [cache] where there is one, and loads it.
static int compile_and_load(const struct tmg_cache *cache, const struct tmg_request *request,
                            const char *path, struct reference *reference) {
    char *code = NULL;
    size_t bytes = 0;
    int status = compile(request->source, path, &code, &bytes);
    if (status != TMAGEN_OK) return status;
    const struct tmg_entry entry = {
        .request = *request, .compiler = compiler(), .log = "", .code = code, .code_bytes = bytes};
    if (cache) tmg_cache_store(cache, &entry);
    status = load(path, code, bytes, reference);
    free(code);
    return status;
}

int reference_compile(const struct reference_text *text, struct reference *reference) {
    struct utsname machine;
    struct tmg_cache cache;
    struct tmg_stored stored;
    char name[TMG_MAX_NAME + 16];
    char *source = reference_assemble(text);
    if (!source) return tmg_fail_memory();
    snprintf(name, sizeof name, "%.100s_reference.c", text->family);
    const struct tmg_request request = {.kind = "so",
                                        .arch = uname(&machine) ? "cpu" : machine.machine,
                                        .name = name,
                                        .options = options,
                                        .source = source,
                                        .source_bytes = strlen(source)};
    const bool cached = tmg_cache_open(NULL, 1, &cache) == TMAGEN_OK;
    int status;
    if (cached && !tmg_cache_load(&cache, &request, compiler(), 0, &stored)) {
        status = load(text->files->path, stored.entry.code, stored.entry.code_bytes, reference);
        free(stored.block);
    } else {
        status = compile_and_load(cached ? &cache : NULL, &request, text->files->path, reference);
    }
    if (cached) tmg_cache_close(&cache);
    free(source);
    return status;
}
