// What the readers of a launch file's parts share; only they include this.
// A part's errors go to the diag, and what is read of it is then not used.
#pragma once
#include "gen/cli/emulate.h"
#include "gen/fields.h"

enum { EMULATE_PATH_TEXT = 320 };  // of the path that names a field in messages

struct emulate_reader {
    struct emulate_file *file;
    struct diag *diag;
    const char *out_dir;  // NULL: beside the launch file
};

// The path [name] as the value at [place] means it: relative to the folder of that file.
const char *emulate_beside(struct arena *, struct diag_place place, const char *name);

// The names of the types that a host computes with, NULL behind the last, as fields_word() wants
// them.
const char *const *emulate_types(void);

// Writes the number at [node] as one element. False where it is none, or none that fits.
bool emulate_number(const struct spec_node *node, enum tmg_dtype_id dtype, void *to);

// The index of the buffer that the key buffer names; buffer_count after an error.
size_t emulate_find_buffer(struct emulate_reader *, const struct fields *);

// Reads the tensor map at [node], called [path] in messages, into [argument].
void emulate_read_tensor_map(struct emulate_reader *, const struct spec_node *node,
                             const char *path, struct emulate_argument *argument);

void emulate_read_buffers(struct emulate_reader *, const struct spec_node *top);
void emulate_read_arguments(struct emulate_reader *, const struct spec_node *top);
