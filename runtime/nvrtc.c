// Finds NVRTC in the places where it is installed, and loads it when something must be compiled.
// The places are a table of file patterns, so that the error can list what was looked at.
#include "runtime/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/elf_id.h"
#include "runtime/error.h"

// Folders, in order. [base] is an environment variable, or "." for the program's own folder.
static const struct {
    const char *base, *folder;
} places[] = {
    {".", "nvrtc"},
    {".", "nvrtc/nvidia/*/lib"},  // a wheel unpacked beside the program, by either layout
    {"CUDA_HOME", "lib64"},
    {"CUDA_PATH", "lib64"},
    {NULL, "/usr/local/cuda/lib64"},
    {NULL, "/usr/local/cuda-*/lib64"},
    {NULL, "/opt/cuda/lib64"},
    {NULL, "/usr/lib/x86_64-linux-gnu"},
    {NULL, "/usr/lib/aarch64-linux-gnu"},
    {NULL, "/usr/lib64"},
    {"CONDA_PREFIX", "lib"},
    {"VIRTUAL_ENV", "lib/python3*/site-packages/nvidia/*/lib"},
    {"HOME", ".local/lib/python3*/site-packages/nvidia/*/lib"},
    {NULL, "/usr/local/lib/python3*/*-packages/nvidia/*/lib"},
    {NULL, "/usr/lib/python3*/*-packages/nvidia/*/lib"},
};

static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

static pthread_once_t find_once = PTHREAD_ONCE_INIT, load_once = PTHREAD_ONCE_INIT;
static struct tmg_nvrtc_place place;
static char find_error[4096];
static struct tmg_nvrtc nvrtc;
static int load_status = -1;
static char load_error[2048];

// Takes the file at [path] as the compiler if it can be read.
static int take(const char *path) {
    if (snprintf(place.path, sizeof place.path, "%s", path) >= (int)sizeof place.path) return 0;
    return !tmg_elf_identify(path, place.id, sizeof place.id);
}

// Takes the newest libnvrtc.so* in [folder], a pattern.
static int take_newest(const char *folder) {
    char pattern[1100];
    snprintf(pattern, sizeof pattern, "%s/libnvrtc.so*", folder);
    glob_t found;
    int taken = 0;
    if (!glob(pattern, 0, NULL, &found)) {
        const char *newest = found.gl_pathv[0];
        for (size_t i = 1; i < found.gl_pathc; ++i)
            if (strverscmp(found.gl_pathv[i], newest) > 0) newest = found.gl_pathv[i];
        taken = take(newest);
    }
    globfree(&found);
    return taken;
}

static void note(const char *folder) {
    size_t used = strlen(find_error);
    snprintf(find_error + used, sizeof find_error - used, "%s%s", used ? ", " : "", folder);
}

// Writes the folder of the running program into [text].
static int program_folder(char *text, size_t size) {
    ssize_t length = readlink("/proc/self/exe", text, size - 1);
    if (length <= 0) return 0;
    text[length] = 0;
    char *slash = strrchr(text, '/');
    if (slash) *slash = 0;
    return 1;
}

static int look_in_places(void) {
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        const char *base = places[i].base;
        char folder[1024], program[512];
        if (base && *base == '.')
            base = program_folder(program, sizeof program) ? program : NULL;
        else if (base)
            base = secure_getenv(base);
        if (places[i].base && (!base || !*base)) continue;
        snprintf(folder, sizeof folder, "%s%s%s", base ? base : "", base ? "/" : "",
                 places[i].folder);
        if (take_newest(folder)) return 1;
        note(folder);
    }
    return 0;
}

static int look_in_library_path(void) {
    const char *list = secure_getenv("LD_LIBRARY_PATH");
    while (list && *list) {
        size_t length = strcspn(list, ":");
        char folder[1024];
        snprintf(folder, sizeof folder, "%.*s", (int)length, list);
        if (length && take_newest(folder)) return 1;
        if (length) note(folder);
        list += length + (list[length] == ':');
    }
    return 0;
}

// The last resort: the loader's own search, which can only be asked by loading.
static int look_by_loading(void) {
    for (size_t i = 0; i < sizeof sonames / sizeof *sonames; ++i) {
        struct link_map *map = NULL;
        void *library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
        if (library && !dlinfo(library, RTLD_DI_LINKMAP, &map) && take(map->l_name)) return 1;
    }
    note("the loader's path");
    return 0;
}

static void find(void) {
    const char *chosen = secure_getenv("TMAGEN_NVRTC");
    int found = chosen && *chosen ? take(chosen)
                                  : look_in_library_path() || look_in_places() || look_by_loading();
    if (found) return;
    place.path[0] = 0;
    if (chosen && *chosen)
        snprintf(find_error, sizeof find_error, "TMAGEN_NVRTC=%s, which cannot be read", chosen);
}

const struct tmg_nvrtc_place *tmg_nvrtc_find(void) {
    pthread_once(&find_once, find);
    if (place.path[0]) return &place;
    tmg_fail(TMAGEN_ERROR_NO_COMPILER,
             "no NVRTC: looked for libnvrtc.so* in %s; set TMAGEN_NVRTC to its path", find_error);
    return NULL;
}

// NVRTC finds its builtins by the loader's rules, which do not look beside it: so they go first.
static void load_builtins(void) {
    char pattern[1100];
    snprintf(pattern, sizeof pattern, "%s", place.path);
    char *slash = strrchr(pattern, '/');
    if (!slash) return;
    snprintf(slash, sizeof pattern - (size_t)(slash - pattern), "/libnvrtc-builtins.so*");
    glob_t found;
    if (!glob(pattern, 0, NULL, &found)) dlopen(found.gl_pathv[found.gl_pathc - 1], RTLD_NOW);
    globfree(&found);
}

// Fills the table from [library]. Returns the first symbol that it lacks, or NULL.
static const char *fill_table(void *library) {
    static const struct {
        const char *symbol;
        size_t offset;
    } calls[] = {
#define TMG_ROW(call, arguments) {#call, offsetof(struct tmg_nvrtc, call)},
        TMG_NVRTC_CALLS(TMG_ROW)
#undef TMG_ROW
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        void *address = dlsym(library, calls[i].symbol);
        if (!address) return calls[i].symbol;
        memcpy((char *)&nvrtc + calls[i].offset, &address, sizeof address);
    }
    return NULL;
}

static void load(void) {
    if (!tmg_nvrtc_find()) {
        snprintf(load_error, sizeof load_error, "%.*s", (int)sizeof load_error - 1,
                 tmagen_error_last());
        return;
    }
    load_builtins();
    void *library = dlopen(place.path, RTLD_NOW | RTLD_LOCAL);
    const char *missing = library ? fill_table(library) : NULL;
    if (!library)
        snprintf(load_error, sizeof load_error, "NVRTC %s cannot be loaded: %s", place.path,
                 dlerror());
    else if (missing)
        snprintf(load_error, sizeof load_error, "NVRTC %s has no %s", place.path, missing);
    else if (nvrtc.nvrtcVersion(&nvrtc.major, &nvrtc.minor))
        snprintf(load_error, sizeof load_error, "NVRTC %s does not say its version", place.path);
    else if (nvrtc.major < 12)
        snprintf(load_error, sizeof load_error, "NVRTC %s is %d.%d: 12.0 or later is needed",
                 place.path, nvrtc.major, nvrtc.minor);
    else
        load_status = TMAGEN_OK;
}

const struct tmg_nvrtc *tmg_nvrtc(void) {
    pthread_once(&load_once, load);
    if (load_status == TMAGEN_OK) return &nvrtc;
    tmg_fail(TMAGEN_ERROR_NO_COMPILER, "%s", load_error);
    return NULL;
}
