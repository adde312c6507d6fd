// The command `tmagen tune`, behind its arguments: the best of many kernels for each of many
// shapes. One process looks on and writes the database; others compile, and one for each GPU
// measures, which may hang or die and is replaced.
#pragma once
#include "measure/kernels.h"
#include "measure/predict.h"

struct tune_plan {
    const struct kernel_text *kernels;
    const char *const *specs;  // of each kernel: all its knobs, as a spec of one line
    size_t kernel_count;
    const struct kernel_text *subjects;  // what the kernels are of: tables rank theirs
    size_t subject_count;
    const struct shape_list *shapes;
    const struct predict_gpu *model;
    const char *database;
    const char *gpus;  // ordinals as in "0,2", or "all"
    double seconds;    // for all shapes; 0: ten for each
    int keep;          // candidates of a shape that the model leaves; 0: all
    bool quick;        // one short contest a shape, as is enough for what a table learns
    int jobs;          // processes that compile; 0: one for each core
    int timeout;       // seconds that a step of a worker may take
    uint64_t seed;
    int shard, shards;  // of the shapes: those whose number is [shard] modulo [shards]
    bool calibrate;     // then print the rates of the GPU to stdout
    double within;      // of times up to so much of the best of their shape; 0: of all
};

// Returns an exit code: 0, 1 where a shape has no kernel or the database cannot be written, 2 where
// no kernel takes any of the shapes, 3 where there is no GPU or compiler.
int tune_run(const struct tune_plan *plan);

// The name of a launch: "KERNEL", or "KERNEL/SPLITS" where there are any.
void tune_name(const char *kernel, int splits, char *text, size_t size);

// ---- What databases are asked; each returns an exit code

// Prints the best kernel of each shape, and what else is known of it.
int tune_show(const char *path, FILE *out);

// Prints for each type and GPU the rows of a dispatch table: what is tuned, and what was measured.
int tune_table(const char *path, FILE *out);

// Prints how far off the model is, of all that was measured on the GPU that it is of.
int tune_error(const char *path, const struct predict_gpu *model, FILE *out);

// Brings the rows of [count] databases into that at [into]. One that cannot be read is reported and
// left out.
int tune_merge(const char *into, char *const *from, size_t count);

// Prints a file of rates of the GPU that [start] is of, fitted to all that was measured on it,
// beginning with those of [start]; of times beyond [within] of the best of their shape to none, but
// where that is 0.
int tune_calibrate(const char *path, const struct predict_gpu *start, double within, FILE *out);

// Prints what a dispatch table can learn of the shapes that it has measured: the rows `learned` of
// its file, under [of], which says what it has measured; and to stderr what they bring where they
// were not learnt from.
int tune_learn(const struct kernel_text *table, const char *of, FILE *out);

// What tune_thin() found: the shapes, of so many dims, that the others foretell.
struct tune_thinned {
    int64_t (*shapes)[TMG_MAX_TABLE_DIMS];  // free() gives them up
    unsigned count, dim_count;
};

// Finds which of the shapes that a dispatch table has measured say nothing that the others do not.
// 0, or 1 after an error, which is printed.
int tune_thin(const struct kernel_text *table, struct tune_thinned *thinned);

// Prints the launches of [kernels], [most] at most, whose lack costs the table most at [shapes] as
// the model sees it: what brings most first, each beside those before it. 0, or 1 after an error,
// which is printed.
int tune_lack(const struct kernel_text *table, const struct kernel_text *kernels, size_t count,
              const struct shape_list *shapes, const struct predict_gpu *gpu, int most, FILE *out);
