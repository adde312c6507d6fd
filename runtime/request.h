// What a compile is asked for, made from a caller's options: checked, with NVRTC's options spelt
// out.
#pragma once

#include "runtime/key.h"

struct tmg_request_text {
    struct tmg_request request;  // points into options and the caller's strings
    char options[256];
};

// The folder that NVRTC is told a source lies in.
extern const char tmg_source_folder[];

// Fills [text] for compiling [source]. TMAGEN_ERROR_ARGUMENT where an option is missing or no word.
int tmg_request_describe(const char *source, size_t bytes, const tmagen_compile_options *options,
                         struct tmg_request_text *text);
