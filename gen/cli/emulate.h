// A launch file: anyone's PTX kernel, its grid, and what it is called with, read from YAML.
// Everything is checked here against the limits of sm_90a, so that errors show the line at fault.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "gen/cli/npy.h"
#include "gen/spec.h"
#include "runtime/emu/emu.h"
#include "runtime/emu/model/tensormap.h"

enum emulate_content { CONTENT_UNWRITTEN, CONTENT_NPY, CONTENT_RANDOM, CONTENT_VALUE };

struct emulate_buffer {
    const char *name;
    struct diag_place place;
    enum tmg_dtype_id dtype;
    int rank;
    int64_t shape[NPY_RANK_MAX];
    size_t bytes;
    enum emulate_content content;
    char *npy;         // the file's bytes; owned
    uint64_t random;   // the seed
    uint8_t value[8];  // each element's
    const char *out;   // where it goes afterwards; NULL: nowhere. In the arena
    uint64_t address;
};

enum emulate_kind { ARGUMENT_BUFFER, ARGUMENT_TENSOR_MAP, ARGUMENT_SCALAR, ARGUMENT_STRUCT };

struct emulate_argument {
    enum emulate_kind kind;
    struct diag_place place;
    size_t buffer;        // of a buffer or tensor map
    struct tmg_map *map;  // without its address
    size_t bytes;         // of the value
    uint8_t *value;       // of a scalar, and of a struct without its parts
    struct emulate_argument *parts;
    size_t part_count;
    size_t at;  // a part's place in its struct
};

struct emulate_file {
    struct arena arena;
    const char *path, *ptx;  // the launch file, the kernel's
    const char *entry;       // NULL: the only one
    struct diag_place top, ptx_place, entry_place, args_place;
    unsigned grid[3], block[3], cluster[3];  // cluster 0: not given
    unsigned shared_memory;
    bool cooperative, non_portable, unchecked;
    uint64_t seed, schedules;
    struct emu_budget budget;
    struct emulate_buffer *buffers;
    struct emulate_argument *arguments;
    size_t buffer_count, argument_count;
};

// Reads the launch file at [path], and all .npy files that it names. [out_dir] is where outputs go,
// NULL: beside the launch file. Errors go to the diag. Free it with emulate_file_free in any case,
// after the diag.
void emulate_file_read(struct emulate_file *, struct diag *, const char *path, char *const *sets,
                       size_t set_count, const char *out_dir);
// Writes what [buffer] holds before a run to [data], of its size. Not for CONTENT_UNWRITTEN.
void emulate_buffer_fill(const struct emulate_buffer *buffer, char *data);

// Writes what [argument] is to the kernel, once its buffers have addresses, to [to], of its size.
void emulate_argument_write(const struct emulate_file *, const struct emulate_argument *argument,
                            uint8_t *to);

void emulate_file_free(struct emulate_file *);
