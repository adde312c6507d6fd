// Structs of callers that were compiled with another version of tmagen.h: members are only ever
// added at the end.
#pragma once

#include "runtime/tmagen.h"

// Fails, naming [what], where a caller's struct of [size] bytes has less than the first version's
// [least].
int tmg_check_size(const char *what, size_t size, size_t least);

// Copies [given] of [given_size] bytes to [own] of [own_size]; what is missing becomes zero.
// TMAGEN_ERROR_ARGUMENT where it has less than [least] bytes, or more than ours that are not zero.
int tmg_take_struct(const char *what, const void *given, size_t given_size, void *own,
                    size_t own_size, size_t least);

// Copies as much of [own] to [given] as there is room, and zeros behind it.
int tmg_give_struct(const char *what, const void *own, size_t own_size, void *given,
                    size_t given_size, size_t least);

// The options of a load in our own layout, and what they point to.
struct tmg_own_load {
    tmagen_load_options options;
    tmagen_source_line *lines;  // the caller's to free()
    tmagen_code code;
};

// [given] may be NULL; it is of the sizes [sizes] (TMAGEN_LOAD_SIZES of the caller).
int tmg_take_load(const tmagen_load_options *given, uint64_t sizes, struct tmg_own_load *own);

// The options of a set in our own layout, as above; *kernels is the caller's to free(), and holds
// their code, too.
int tmg_take_set(const tmagen_set_options *given, uint64_t sizes, tmagen_set_options *own,
                 tmagen_set_kernel **kernels);

// A launch in our own layout, with the lists of a caller that has another one.
struct tmg_own_launch;

// What [launch] of the sizes [sizes] (TMAGEN_LAUNCH_SIZES of the caller) is in our layout: itself,
// or copied to *room, which is then the caller's to free().
int tmg_take_launch(const tmagen_launch **launch, uint64_t sizes, struct tmg_own_launch **room);
