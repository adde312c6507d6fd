// What a compile is asked for, made from a caller's options: checked, with NVRTC's options spelt
// out.
#pragma once

#include "runtime/key.h"

struct tmg_request_text {
    struct tmg_request request;  // points into options and the caller's strings
    char options[256], source_sha256[TMAGEN_KEY_CHARS];
};

// The folder that NVRTC is told a source lies in.
extern const char tmg_source_folder[];

// Fills [text] for compiling [source]. TMAGEN_ERROR_ARGUMENT where an option is missing or no word,
// or the source not whole. With [sha256], what its digest is said to be, neither is that computed
// nor the source looked into: enough to ask for an entry, which is compared with the source.
int tmg_request_describe(const char *source, size_t bytes, const tmagen_compile_options *options,
                         const char *sha256, struct tmg_request_text *text);
