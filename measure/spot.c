// A quarter of the samples of each dimension lie at its end, where tiles are ragged.
#include "measure/spot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/random.h"
#include "measure/reference_code.h"
#include "runtime/error.h"

enum { PLACES_MOST = 256, PLACES_LEAST = 16 };
static const double operations_most = 2e7;

struct spot_place {
    unsigned tensor;
    int64_t linear;
    size_t offset;  // bytes from the tensor's first element
    struct ref_value want;
};

// The inputs as they lie on the device.
static int download(struct gpu *gpu, const struct rotation *rotation, struct ref_problem *problem) {
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i) {
        struct ref_tensor *tensor = &problem->tensors[i];
        tensor->data = malloc(tensor->bytes);
        if (!tensor->data) return tmg_fail_memory();
        if (!tensor->declared->reads) continue;
        const int status = tmagen_memory_download(gpu->device, tensor->data,
                                                  rotation_address(rotation, 0, i), tensor->bytes);
        if (status != TMAGEN_OK) return status;
    }
    return TMAGEN_OK;
}

static int64_t choose(const struct ref_tensor *tensor, uint64_t seed, int number) {
    int64_t linear = 0;
    for (int axis = 0; axis < tensor->rank; ++axis) {
        const uint64_t position = (uint64_t)number * 2 * TMAGEN_MAX_RANK + 2 * (uint64_t)axis;
        const int64_t size = tensor->dims[axis], at = random_below(seed, position, size);
        const bool last = random_below(seed, position + 1, 4) == 0;
        linear = linear * size + (last ? size - 1 : at);
    }
    return linear;
}

static int by_place(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

// Adds [count] elements of output [i], in the order in which they lie.
static int add_output(const struct ref_problem *problem, unsigned i, int count, uint64_t seed,
                      struct spot *spot) {
    const struct ref_tensor *tensor = &problem->tensors[i];
    int64_t list[PLACES_MOST], index[TMAGEN_MAX_RANK];
    struct ref_value values[PLACES_MOST];
    for (int j = 0; j < count; ++j) list[j] = choose(tensor, random_seed(seed, i), j);
    qsort(list, (size_t)count, sizeof *list, by_place);
    const int status = reference_values(problem, tensor, list, 0, count, values);
    for (int j = 0; j < count && status == TMAGEN_OK; ++j) {
        ref_index(tensor, list[j], index);
        const size_t offset =
            (size_t)ref_offset(tensor, index) * (size_t)tmg_dtype_bytes(tensor->dtype);
        spot->places[spot->count++] = (struct spot_place){i, list[j], offset, values[j]};
    }
    return status;
}

int spot_make(struct gpu *gpu, const struct rotation *rotation, uint64_t seed, const char *output,
              struct spot *spot) {
    struct ref_problem problem = rotation->problem;
    const double fit = operations_most / fmax(reference_cost(&problem), 1);
    const int count = (int)fmin(PLACES_MOST, fmax(PLACES_LEAST, fit));
    spot->count = 0;
    spot->places = calloc((size_t)count * problem.manifest->tensor_count, sizeof *spot->places);
    int status = spot->places ? download(gpu, rotation, &problem) : tmg_fail_memory();
    if (status == TMAGEN_OK) status = reference_describe(&problem, seed);
    for (unsigned i = 0; status == TMAGEN_OK && i < problem.manifest->tensor_count; ++i) {
        const struct tmg_tensor *tensor = problem.tensors[i].declared;
        if (output && strcmp(output, tensor->name)) continue;
        // of what a launch has overwritten nobody knows what it was computed from
        if (tensor->writes && !tensor->reads) status = add_output(&problem, i, count, seed, spot);
    }
    ref_problem_free(&problem);
    return status;
}

void spot_free(struct spot *spot) {
    free(spot->places);
    *spot = (struct spot){NULL, 0};
}

static void say(const struct ref_tensor *tensor, const struct spot_place *place, double got,
                char *why, size_t size) {
    int64_t index[TMAGEN_MAX_RANK];
    char at[120] = "";
    ref_index(tensor, place->linear, index);
    for (int axis = 0, used = 0; axis < tensor->rank; ++axis)
        used += snprintf(at + used, sizeof at - (size_t)used, "%s%lld", axis ? "," : "",
                         (long long)index[axis]);
    snprintf(why, size, "%s[%s] is %.7g, should be %.7g +- %.2g", tensor->declared->name, at, got,
             place->want.value, place->want.tolerance);
}

int spot_check(struct gpu *gpu, const struct rotation *rotation, const struct spot *spot,
               double *worst, char *why, size_t size) {
    *worst = 0, *why = 0;
    for (int i = 0; i < spot->count && !*why; ++i) {
        const struct spot_place *place = &spot->places[i];
        const struct ref_tensor *tensor = &rotation->problem.tensors[place->tensor];
        uint64_t element = 0;
        const int status = tmagen_memory_download(
            gpu->device, &element, rotation_address(rotation, 0, place->tensor) + place->offset,
            (size_t)tmg_dtype_bytes(tensor->dtype));
        if (status != TMAGEN_OK) return status;
        const double got = num_value(tensor->dtype, &element);
        const double error = reference_error(tensor->dtype, place->want, got);
        *worst = fmax(*worst, error);
        if (!(error <= 1)) say(tensor, place, got, why, size);
    }
    return TMAGEN_OK;
}
