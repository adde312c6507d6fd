// The places are a table of patterns; beside each python3 of $PATH lie the wheels of its
// environment. dlopen alone knows whether a file can be used, so it is what tries them.
#include "measure/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const folders[] = {
    "$CUDA_HOME/lib64",
    "$CUDA_PATH/lib64",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda-*/lib64",
    "/usr/local/cuda*/lib",
    "/opt/cuda/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "$CONDA_PREFIX/lib",
    "$VIRTUAL_ENV/lib/python3*/site-packages/nvidia/*/lib",
    "$HOME/.local/lib/python3*/site-packages/nvidia/*/lib",
    "/usr/local/lib/python3*/*-packages/nvidia/*/lib",
    "/usr/lib/python3*/*-packages/nvidia/*/lib",
};

struct library_search {
    const char *const *names;
    char *path, *error;
    size_t path_size, error_size;
};

static void note(struct library_search *search, const char *place) {
    const size_t used = strlen(search->error);
    snprintf(search->error + used, search->error_size - used, "%s%s", used ? ", " : "", place);
}

// Loads [file] and finds out where it came from.
static void *load(struct library_search *search, const char *file) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map = NULL;
    if (!library) return NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map)) map = NULL;
    snprintf(search->path, search->path_size, "%s", map ? map->l_name : file);
    return library;
}

// Tries every file of the wanted names in the folders that match [pattern].
static void *load_from(struct library_search *search, const char *pattern) {
    void *library = NULL;
    for (size_t i = 0; !library && search->names[i]; ++i) {
        char files[1200];
        snprintf(files, sizeof files, "%s/%s", pattern, search->names[i]);
        glob_t found;
        const bool some = glob(files, 0, NULL, &found) == 0;
        for (size_t j = 0; some && !library && j < found.gl_pathc; ++j) {
            library = load(search, found.gl_pathv[j]);
            if (!library) note(search, dlerror());
        }
        globfree(&found);
    }
    return library;
}

// Replaces a leading $VARIABLE by its value. False where it is not set.
static bool expand(const char *folder, char *text, size_t size) {
    if (*folder != '$') return snprintf(text, size, "%s", folder) < (int)size;
    const size_t len = strcspn(folder, "/");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)len - 1, folder + 1);
    const char *value = getenv(name);
    return value && *value && snprintf(text, size, "%s%s", value, folder + len) < (int)size;
}

// The wheels of each environment whose programs are in $PATH: BIN/../lib/python3*/...
static void *load_from_path(struct library_search *search) {
    void *library = NULL;
    for (const char *at = getenv("PATH"); !library && at && *at;) {
        const int len = (int)strcspn(at, ":");
        char folder[1000];
        snprintf(folder, sizeof folder, "%.*s/../lib/python3*/*-packages/nvidia/*/lib", len, at);
        if (len) library = load_from(search, folder);
        at += len + (at[len] == ':');
    }
    if (!library) note(search, "the wheels of the Pythons in PATH");
    return library;
}

void *library_find(const char *variable, const char *const *names, char *path, size_t path_size,
                   char *error, size_t error_size) {
    struct library_search search = {names, path, error, path_size, error_size};
    error[0] = 0;
    const char *chosen = getenv(variable);
    if (chosen && *chosen) {
        void *library = load(&search, chosen);
        if (!library) note(&search, dlerror());
        return library;
    }
    for (size_t i = 0; names[i]; ++i) {
        void *library = load(&search, names[i]);
        if (library) return library;
    }
    note(&search, "the loader's path");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i) {
        char folder[1000];
        if (!expand(folders[i], folder, sizeof folder)) continue;
        void *library = load_from(&search, folder);
        if (library) return library;
        note(&search, folder);
    }
    return load_from_path(&search);
}
