// A stand-in for NVRTC: output is a function of source and options, and a compile takes as long as
// a test wants. Fast, and everywhere the same, so that the cache can be tested by force.
//   FAKE_NVRTC_LOG=FILE     every compile appends a line
//   FAKE_NVRTC_MS=N         a compile takes N ms
//   FAKE_NVRTC_BYTES=N      a cubin has N bytes (4096)
//   FAKE_NVRTC_OLD=1        the option --no-cache is unknown, as in releases before 12.8
// A source with "#error" in it does not compile; one with "#pragma warn" does, with a warning, and
// one with "#pragma spill" with spills.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cuda_api.h"

#define FAKE __attribute__((visibility("default"))) nvrtcResult

struct _nvrtcProgram {
    char *source, name[256], log[1024];
    unsigned long long hash;
    int ptx;
};

static long setting(const char *name, long fallback) {
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : fallback;
}

FAKE nvrtcVersion(int *major, int *minor) {
    *major = (int)setting("FAKE_NVRTC_MAJOR", 13);
    *minor = 0;
    return NVRTC_SUCCESS;
}

FAKE nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name,
                        int header_count, const char *const *headers, const char *const *names) {
    (void)header_count, (void)headers, (void)names;
    *program = calloc(1, sizeof **program);
    (*program)->source = strdup(source);
    snprintf((*program)->name, sizeof(*program)->name, "%s", name);
    return NVRTC_SUCCESS;
}

FAKE nvrtcDestroyProgram(nvrtcProgram *program) {
    free((*program)->source);
    free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

static void mix(unsigned long long *hash, const char *text) {
    for (; *text; ++text) *hash = (*hash ^ (unsigned char)*text) * 0x100000001b3ULL;
}

static void record(const char *name) {
    const char *path = getenv("FAKE_NVRTC_LOG");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    char line[300];
    int length = snprintf(line, sizeof line, "%d %s\n", (int)getpid(), name);
    if (file >= 0 && write(file, line, (size_t)length) != length) abort();
    if (file >= 0) close(file);
}

FAKE nvrtcCompileProgram(nvrtcProgram program, int option_count, const char *const *options) {
    int verbose = 0;
    program->hash = 0xcbf29ce484222325ULL;
    for (int i = 0; i < option_count; ++i) {
        int quiet_option = !strcmp(options[i], "--no-cache");
        if (quiet_option && setting("FAKE_NVRTC_OLD", 0)) return NVRTC_ERROR_INVALID_OPTION;
        if (strstr(options[i], "ptxas-options")) verbose = 1;
        if (strstr(options[i], "=compute_")) program->ptx = 1;
        if (!quiet_option && !strstr(options[i], "ptxas-options")) mix(&program->hash, options[i]);
    }
    mix(&program->hash, program->source);
    record(program->name);
    long ms = setting("FAKE_NVRTC_MS", 0);
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    if (strstr(program->source, "#error")) {
        snprintf(program->log, sizeof program->log, "%s(1): error: #error\n", program->name);
        return NVRTC_ERROR_COMPILATION;
    }
    int spills = strstr(program->source, "#pragma spill") ? 8 : 0;
    if (verbose && !program->ptx)
        sprintf(program->log,
                "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
                "ptxas info    : Function properties for k\n"
                "ptxas         .     160 bytes stack frame, %d bytes spill stores, %d bytes spill "
                "loads\n"
                "ptxas info    : Used 40 registers, used 1 barriers, 256 bytes smem\n",
                spills, spills + spills / 2);
    if (strstr(program->source, "#pragma warn"))
        strcat(program->log, "k.cu(1): warning: as you wish\n");
    return NVRTC_SUCCESS;
}

FAKE nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
    *bytes = program->ptx ? 0 : (size_t)setting("FAKE_NVRTC_BYTES", 4096);
    return NVRTC_SUCCESS;
}

FAKE nvrtcGetCUBIN(nvrtcProgram program, char *cubin) {
    size_t bytes;
    nvrtcGetCUBINSize(program, &bytes);
    unsigned long long state = program->hash;
    for (size_t i = 0; i < bytes; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        cubin[i] = (char)(state >> 56);
    }
    return NVRTC_SUCCESS;
}

static int print_ptx(nvrtcProgram program, char *text, size_t size) {
    return snprintf(text, size, "// fake PTX %016llx\n", program->hash) + 1;
}

FAKE nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes) {
    char text[64];
    *bytes = (size_t)print_ptx(program, text, sizeof text);
    return NVRTC_SUCCESS;
}

FAKE nvrtcGetPTX(nvrtcProgram program, char *ptx) {
    print_ptx(program, ptx, 64);
    return NVRTC_SUCCESS;
}

FAKE nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
    *bytes = strlen(program->log) + 1;
    return NVRTC_SUCCESS;
}

FAKE nvrtcGetProgramLog(nvrtcProgram program, char *log) {
    strcpy(log, program->log);
    return NVRTC_SUCCESS;
}
