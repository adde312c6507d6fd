// The command `tmagen explain SPEC --shape`, behind its arguments: how long each kernel should take
// at a shape, and which unit binds it. No GPU is asked.
#pragma once
#include <stdio.h>

#include "measure/kernels.h"
#include "runtime/choose.h"

// A GPU as the model knows it.
struct predict_gpu {
    char name[TMG_MAX_NAME];
    struct tmg_capacity capacity;
    struct tmg_rates rates;
};

// Parses the text of a file of rates, {"tmagen_rates": 1, "gpu":, "sms":, "rates": {...}}; [origin]
// names it in messages. A library error code.
int predict_read(const char *text, const char *origin, struct predict_gpu *gpu);

// Prints for each shape what the table [text] takes, why, and what the next two would be. Returns
// an exit code: 1 where a table is damaged, or a shape is refused, 2 where all are. Where others
// may take what this one refuses, [answered] is not NULL: it becomes true at each shape that is
// taken, and a refusal is a note.
int predict_pick(const struct kernel_text *text, const struct shape_list *shapes, bool *answered,
                 FILE *out);

// The table [text] with its kernels, as the library has it. A library error code.
int predict_open(const struct kernel_text *text, struct tmg_table **table);

// The ranking of the table's launches at [shape], the fastest first. 0, or -1 with the library's
// error set: the table serves no such shape.
int predict_ranking(const struct tmg_table *table, const struct shape *shape,
                    struct tmg_choice choices[TMG_CHOICES], unsigned *count);

// What a kernel should take at [dims], in its manifest's order, with so many [splits]; 0: as its
// manifest says. A library error code, also where the kernel does not take them, or its manifest
// does not say what its steps cost.
int predict_launch(const struct tmg_manifest *manifest, const int64_t *dims, int splits,
                   const struct predict_gpu *gpu, struct tmg_estimate *estimate);

// The number of parts at [place] among those into which a kernel may be told to divide a tile's K:
// its own first, 0 where it takes none. -1 behind the last.
int predict_splits(const struct tmg_manifest *manifest, int place);

// Prints a table for each shape to [out], the fastest kernel first. Returns an exit code: 1 where
// a kernel has no model, 2 where no kernel takes a shape.
int predict_all(const struct kernel_text *kernels, size_t count, const struct shape_list *shapes,
                const struct predict_gpu *gpu, FILE *out);
