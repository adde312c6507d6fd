// The reference of the deform_pair family: a head of each pixel, then of its right neighbour.
// Nothing is computed, so every element is compared, and must be equal.
#include <float.h>
#include <pthread.h>
#include <string.h>

#include "runtime/error.h"
#include "measure/numbers.h"
#include "measure/parallel.h"
#include "measure/reference.h"
#include "measure/families/value_layout.h"

static int accepts(const struct tmg_manifest *manifest) {
    const struct value_layout layout = value_layout_of(manifest);
    const int64_t row = layout.heads * layout.channels;
    const int s = tmg_manifest_dim(manifest, "s");
    if (layout.level_count < 1 || !value_rows_have(manifest, "value", row) ||
        !value_rows_have(manifest, "pairs", 2 * row)) {
        return tmg_fail(TMAGEN_ERROR_MANIFEST,
                        "%s: reference deform_pair needs heads, channels, 1..8 levels, and tensors "
                        "\"value\" and \"pairs\" of rank 3 whose rows agree with them",
                        manifest->name);
    }
    if (s < 0 || manifest->dims[s].value != layout.pixels) {
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: dim \"s\" is not the levels' %lld pixels",
                        manifest->name, (long long)layout.pixels);
    }
    return TMAGEN_OK;
}

// One batch, and a few, which begin inside a CTA's tile of vectors or not.
static void shapes(const struct tmg_manifest *manifest, bool small, struct ref_shapes *list) {
    static const int64_t batches[] = {1, 2, 5, 17, 48};
    const size_t count = small ? 2 : sizeof batches / sizeof *batches;
    for (size_t i = 0; i < count; ++i) {
        const int64_t shape[] = {batches[i], value_layout_of(manifest).pixels};
        ref_shapes_add(list, manifest, "b s", shape);
    }
}

// Channels of a head, at [pixel] of [batch]; of tensor "pairs" 2 * [head] + 1 are the neighbour's.
static const char *channels_at(const struct ref_tensor *tensor, const struct value_layout *layout,
                               int64_t batch, int64_t pixel, int64_t head) {
    const int64_t index[] = {batch, pixel, head * layout->channels};
    return (const char *)tensor->data +
           (size_t)ref_offset(tensor, index) * num_types[tensor->dtype].bytes;
}

static struct ref_value element(const struct ref_problem *problem, const struct ref_tensor *out,
                                const int64_t *index) {
    (void)out;
    static const double exact = DBL_MIN;  // less than what any two elements differ by
    const struct value_layout layout = value_layout_of(problem->manifest);
    const int64_t piece = index[2] / layout.channels, right = piece % 2;
    if (right && value_row_ends(&layout, index[1])) return (struct ref_value){0, exact};
    const int64_t from[] = {index[0], index[1] + right,
                            piece / 2 * layout.channels + index[2] % layout.channels};
    return (struct ref_value){ref_read(ref_tensor_find(problem, "value"), from), exact};
}

static double element_cost(const struct ref_problem *problem) {
    (void)problem;
    return 60;
}

struct check {
    const struct ref_tensor *value, *pairs;
    struct value_layout layout;
    struct ref_spans *spans;
    pthread_mutex_t lock;
};

static bool all_zeros(const char *bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (bytes[i]) return false;
    }
    return true;
}

// Whether piece [piece] of a pixel holds what it should, bit by bit.
static bool piece_equal(const struct check *check, int64_t batch, int64_t pixel, int64_t piece) {
    const struct value_layout *layout = &check->layout;
    const size_t bytes = (size_t)layout->channels * num_types[check->pairs->dtype].bytes;
    const char *got = channels_at(check->pairs, layout, batch, pixel, piece);
    const int64_t right = piece % 2;
    if (right && value_row_ends(layout, pixel)) return all_zeros(got, bytes);
    return !memcmp(got, channels_at(check->value, layout, batch, pixel + right, piece / 2), bytes);
}

static void check_pixels(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    struct check *check = context;
    const int64_t pixels = check->layout.pixels, channels = check->layout.channels;
    const int64_t pieces = 2 * check->layout.heads;
    for (int64_t i = begin * pieces; i < end * pieces; ++i) {
        if (piece_equal(check, i / pieces / pixels, i / pieces % pixels, i % pieces)) continue;
        pthread_mutex_lock(&check->lock);
        ref_spans_add(check->spans, (struct ref_span){i * channels, channels});
        pthread_mutex_unlock(&check->lock);
    }
}

static int suspects(const struct ref_problem *problem, const struct ref_tensor *out, uint64_t seed,
                    struct ref_spans *spans) {
    (void)seed;
    struct check check = {.value = ref_tensor_find(problem, "value"),
                          .pairs = out,
                          .layout = value_layout_of(problem->manifest),
                          .spans = spans};
    if (pthread_mutex_init(&check.lock, NULL)) return -1;
    parallel_for(out->dims[0] * out->dims[1], 256, check_pixels, &check);
    pthread_mutex_destroy(&check.lock);
    return 0;
}

static double flops(const struct ref_problem *problem) {
    (void)problem;
    return 0;
}

const struct reference reference_deform_pair = {
    .name = "deform_pair",
    .doc = "pairs[b,s,h] = value[b,s,h], then value[b,s+1,h], or zeros behind the end of a row",
    .dims = "b s",
    .typical = "48x20522",
    .accepts = accepts,
    .shapes = shapes,
    .element = element,
    .element_cost = element_cost,
    .suspects = suspects,
    .flops = flops,
};
