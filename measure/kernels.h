// A generated kernel as measure/ takes it: texts in memory, from whoever generated them.
// So this room knows libtmagen and the references, and neither Lua nor YAML.
#pragma once
#include "measure/shapes.h"
#include "runtime/tmagen.h"

struct kernel_text {
    const char *name, *source, *manifest;
    const struct table_text *table;   // not NULL: it is a table, of that name, and no kernel
    const tmagen_source_line *lines;  // where lines of the source come from
    size_t line_count;
    struct reference_text reference;
};

// A dispatch table, which launches its kernels by shape.
struct table_text {
    const char *text;
    const struct kernel_text *kernels;
    size_t count;
};

// Loads [text] on [device], compiling on a miss. A library error code; warnings go to stderr.
int kernel_load(tmagen_device *device, const struct kernel_text *text, tmagen_kernel **kernel);

// Prints "tmagen: error: ..." with the library's last error.
void kernel_complain(const char *what);
