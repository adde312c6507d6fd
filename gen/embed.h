// The files that travel inside the program: gen/lua/*.lua and everything under templates/.
// Embedded so that the one file build/tmagen can be copied to another machine and still generate.
#pragma once
#include <stddef.h>

// [path] is relative to the repository: "templates/gemm/family.lua", "gen/lua/schema.lua".
// The bytes are [begin, end), and a zero behind them. What Lua compiled them to is [code,
// code_end), nothing for a file that is no Lua and no template. Sorted by path (strcmp order); the
// numbers of the rows are those of the files in the store.
struct embed_file {
    const char *path;
    const char *begin, *end;
    const char *code, *code_end;
};

extern const struct embed_file embed_files[];
extern const size_t embed_files_count;
