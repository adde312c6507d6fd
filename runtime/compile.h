// What loading asks of compiling beyond the public interface.
#pragma once

#include "runtime/tmagen.h"

// Whether the cache has what [options] ask for of [source], whose digest is said to be [sha256]:
// then *code is that, as by tmagen_compile(). The source is not hashed, which is half of what a
// load from the cache would cost: an entry lies under its own source's digest and is compared with
// this source, so where there is one the digest is this source's.
int tmg_compile_find(const char *source, size_t bytes, const tmagen_compile_options *options,
                     const char *sha256, tmagen_code *code);

// Called, unless NULL, with a source's name before it is compiled, or waited for while another
// process compiles it, and with NULL afterwards. To be set while no other thread compiles.
extern void (*tmg_compile_told)(const char *name);
