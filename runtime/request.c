// Makes a request out of a caller's options.
// One place for the options that NVRTC gets, because they are part of the key.
#include "runtime/request.h"

#include <stdio.h>
#include <string.h>

#include "runtime/directive.h"
#include "runtime/error.h"

enum { MAX_SOURCE = 64 << 20 };

// Options that shape the output: they are in the key. [-lineinfo] puts the file's folder into the
// cubin, hence the made-up one: else the compiling process's folder would be there.
static const char *const shaping[] = {"--std=c++17", "-lineinfo"};
const char tmg_source_folder[] = "/tmagen/";

static int check_word(const char *what, const char *text, size_t longest) {
    if (!text || !*text) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s is missing", what);
    static const char legal[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+";
    if (strlen(text) > longest || text[strspn(text, legal)] || *text == '.' || *text == '-')
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: '%.80s' is not 1 to %zu letters, digits and any of _.-+", what, text,
                        longest);
    return TMAGEN_OK;
}

// The --gpu-architecture option: for PTX the virtual architecture, which skips the assembler.
static void print_arch(const struct tmg_request *request, char *text, size_t size) {
    const char *arch = request->arch;
    if (!strcmp(request->kind, "ptx") && !strncmp(arch, "sm_", 3))
        snprintf(text, size, "--gpu-architecture=compute_%s", arch + 3);
    else
        snprintf(text, size, "--gpu-architecture=%s", arch);
}

static int check_source(const char *source, size_t bytes) {
    if (!source) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the source is missing");
    if (bytes > MAX_SOURCE)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the source has %zu bytes; at most %d are compiled",
                        bytes, MAX_SOURCE);
    if (memchr(source, 0, bytes))
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the source has a zero in it");
    return TMAGEN_OK;
}

// The key holds the source alone: what it would include could change behind it.
static int check_whole(const char *source, size_t bytes, const char *name) {
    const char *word;
    const int line = tmg_source_asks(source, bytes, &word);
    if (!line) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                    "%s:%d: %s%s asks for another file, which the cache's key could not hold: a "
                    "source must be whole",
                    name, line, *word == '_' ? "" : "#", word);
}

static int check_choices(const tmagen_compile_options *options) {
    if ((unsigned)options->kind > TMAGEN_CUBIN_AND_PTX)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "kind: %d is no tmagen_kind", (int)options->kind);
    if ((unsigned)options->mode > TMAGEN_NO_CACHE)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "mode: %d is no tmagen_mode", (int)options->mode);
    return TMAGEN_OK;
}

int tmg_request_describe(const char *source, size_t bytes, const tmagen_compile_options *options,
                         const char *sha256, struct tmg_request_text *text) {
    if (!options) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the compile options are missing");
    int status = check_source(source, bytes);
    if (!status) status = check_choices(options);
    if (!status) status = check_word("arch", options->arch, 31);
    if (!status) status = check_word("name", options->name, 127);
    if (!status && !sha256) status = check_whole(source, bytes, options->name);
    if (status) return status;
    if (!sha256) tmg_digest_text(source, bytes, text->source_sha256);
    text->request = (struct tmg_request){.kind = options->kind == TMAGEN_PTX ? "ptx" : "cubin",
                                         .arch = options->arch,
                                         .name = options->name,
                                         .options = text->options,
                                         .source = source,
                                         .source_bytes = bytes,
                                         .source_sha256 = sha256 ? sha256 : text->source_sha256};
    print_arch(&text->request, text->options, sizeof text->options / 2);
    for (size_t i = 0; i < sizeof shaping / sizeof *shaping; ++i)
        strcat(strcat(text->options, " "), shaping[i]);
    return TMAGEN_OK;
}
