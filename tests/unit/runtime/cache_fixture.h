// What the tests of the cache share: a cache folder of their own, and compiling by a stand-in.
// A fresh folder a test, so that none depends on what another left.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/tmagen.h"
#include "tests/unit/fakes.h"

static char cache_dir[4200], compile_log[4200];

// Every test has its own cache folder, and a log of compiles that starts empty.
static inline int fresh(void **state) {
    (void)state;
    const char *folder = fresh_folder();
    snprintf(cache_dir, sizeof cache_dir, "%s/cache", folder);
    snprintf(compile_log, sizeof compile_log, "%s/log", folder);
    setenv("FAKE_NVRTC_LOG", compile_log, 1);
    setenv("TMAGEN_CACHE", cache_dir, 1);
    return 0;
}

static inline int compiles(void) {
    FILE *log = fopen(compile_log, "r");
    int lines = 0, c;
    while (log && (c = fgetc(log)) != EOF) lines += c == '\n';
    if (log) fclose(log);
    return lines;
}

static inline int compile(const char *source, tmagen_mode mode, tmagen_code *code) {
    const tmagen_compile_options options = {.arch = "sm_90a", .name = "k.cu", .mode = mode};
    return tmagen_compile(source, strlen(source), &options, code);
}

// Compiles "source" as usual and returns whether that was a hit; the key goes to [key] unless NULL.
static inline int hits(char *key) {
    tmagen_code code;
    assert_int_equal(compile("source", TMAGEN_COMPILE_ON_MISS, &code), TMAGEN_OK);
    assert_int_equal(code.bytes, 4096);
    int hit = code.hit;
    if (key) strcpy(key, code.key);
    tmagen_code_free(&code);
    return hit;
}

static inline void entry_path(const char *key, char path[4400]) {
    snprintf(path, 4400, "%s/%.*s", cache_dir, TMAGEN_KEY_CHARS - 1, key);
}

// Flips a bit of the byte at [at], or, with [length] not negative, cuts the file to that.
static inline void damage(const char *path, off_t at, off_t length) {
    int file = open(path, O_RDWR);
    assert_true(file >= 0);
    uint8_t byte;
    if (length >= 0)
        assert_int_equal(ftruncate(file, length), 0);
    else {
        assert_int_equal(pread(file, &byte, 1, at), 1);
        byte ^= 0x40;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
    }
    close(file);
}
