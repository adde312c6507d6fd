// Points the library at the stand-ins of tests/fixtures/fake, which are built beside the tests.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Sets [variable] to the stand-in [file] of the build folder that this program lies in.
static inline void use_fake(const char *variable, const char *file) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
    if (length <= 0) abort();
    path[length] = 0;
    strcpy(strrchr(path, '/'), "/../../fixtures/fake/");
    strcat(path, file);
    setenv(variable, path, 1);
}

// Makes a fresh folder for this program's files and returns its path, which lives as long as the
// program. The test runner removes TMPDIR; run by hand, the folder stays under /tmp.
static inline const char *fresh_folder(void) {
    static char path[4096];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/unit-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path)) abort();
    return path;
}
