// What the commands that run kernels share: arguments, and the way from generated outputs to
// measure/.
#pragma once
#include <argp.h>

#include "gen/generate.h"
#include "measure/kernels.h"
#include "measure/predict.h"
#include "measure/shapes.h"

// The number that [text] is; a usage error where it is none, or not in [least]..[most].
double argument_number(struct argp_state *, const char *text, double least, double most);

// [text], where it is letters, digits and _; else a usage error that names [option].
const char *argument_name(struct argp_state *, const char *option, const char *text);

// Adds the shape of --shape, or the file of --shapes; a usage error where that cannot be read.
void argument_shape(struct argp_state *, const char *text, struct shape_list *shapes);
void argument_shapes(struct argp_state *, const char *path, struct shape_list *shapes);

// The option of random shapes, and what it does: adds those of N or N/SEED.
#define RANDOM_SHAPES_OPTION(key)                                                              \
    {                                                                                          \
        "random", key, "N[/SEED]", 0,                                                          \
            "N shapes of matrix products, drawn: M from 1 to 16384, N and K from 64, a third " \
            "no multiples of 64 (SEED: 1)",                                                    \
            0                                                                                  \
    }
void argument_random(struct argp_state *, const char *text, struct shape_list *shapes);

// The rates of the GPU [name], lib/gpus/NAME.json, found as templates are. 0, or 1 with an error.
int read_rates(const char *name, const struct gen_options *options, struct predict_gpu *gpu);

// A generated kernel, borrowed.
struct kernel_text kernel_of(const struct gen_output *output);

// The kernels of [count] results, in order; their texts stay the results'. Free the array.
struct kernel_text *kernels_of(const struct gen_result *results, size_t count, size_t *kernels);

// The same where a table is one subject by itself. Free it with subjects_free.
struct kernel_text *subjects_of(const struct gen_result *results, size_t count, size_t *subjects);
void subjects_free(struct kernel_text *, size_t count);
