// The reference of the deform_attn family: bilinear samples of all levels, weighted and summed, in
// float64. The whole result is checked by its sums over channels with random signs: each costs one
// sample, not one a channel.
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "measure/numbers.h"
#include "measure/parallel.h"
#include "measure/random.h"
#include "measure/reference.h"
#include "measure/families/value_layout.h"

// The four pixels of one point: which of them count, and their weights. Rows and columns are those
// that are stored.
struct sample {
    int64_t pixel[4];  // -1: outside
    double weight[4];
    double blur;  // what the position's rounding may move a weight by
};

static int accepts(const struct tmg_manifest *manifest) {
    const struct value_layout layout = value_layout_of(manifest);
    const int64_t row = layout.heads * layout.channels, record = (1 + layout.paired) * row;
    const int64_t points = layout.heads * layout.level_count * layout.points;
    if (points < 1) {
        return tmg_fail(TMAGEN_ERROR_MANIFEST,
                        "%s: reference deform_attn needs heads, channels, points and 1..8 levels",
                        manifest->name);
    }
    if (!value_rows_have(manifest, "value", record) || !value_rows_have(manifest, "out", row) ||
        !value_rows_have(manifest, "locations", 2 * points) ||
        !value_rows_have(manifest, "weights", points)) {
        return tmg_fail(TMAGEN_ERROR_MANIFEST,
                        "%s: reference deform_attn needs tensors \"value\", \"locations\", "
                        "\"weights\" and \"out\" of rank 3 whose rows agree with its levels",
                        manifest->name);
    }
    const int s = tmg_manifest_dim(manifest, "s");
    if (s < 0 || manifest->dims[s].value != layout.pixels) {
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: dim \"s\" is not the levels' %lld pixels",
                        manifest->name, (long long)layout.pixels);
    }
    return TMAGEN_OK;
}

// One query, a few less and more than a warp's and a CTA's, queries that are the pixels, and more.
static void shapes(const struct tmg_manifest *manifest, bool small, struct ref_shapes *list) {
    const int64_t q = ref_tile(manifest, "q", 64), s = value_layout_of(manifest).pixels;
    const int64_t emulated[][3] = {{1, s, 1}, {2, s, 9}};
    const int64_t full[][3] = {{1, s, 1},    {1, s, 7},    {3, s, q - 1}, {2, s, q + 1},
                               {5, s, 33},   {1, s, s},    {3, s, 4097},  {2, s, 3 * q + 5},
                               {17, s, 300}, {4, s, 17821}};
    const size_t count = small ? sizeof emulated / sizeof *emulated : sizeof full / sizeof *full;
    for (size_t i = 0; i < count; ++i) {
        int64_t shape[3];
        memcpy(shape, small ? emulated[i] : full[i], sizeof shape);
        if (shape[2] < 1) shape[2] = 1;
        ref_shapes_add(list, manifest, "b s q", shape);
    }
}

// Zeros where a padded value has its borders.
static void clear_borders(const struct ref_problem *problem, const struct ref_tensor *value) {
    const struct value_layout layout = value_layout_of(problem->manifest);
    const size_t bytes = num_types[value->dtype].bytes;
    for (int64_t batch = 0; batch < value->dims[0] * layout.border; ++batch) {
        for (int i = 0; i < layout.level_count; ++i) {
            const struct value_level *level = &layout.levels[i];
            for (int64_t pixel = 0; pixel < level->pitch * (level->height + 2); ++pixel) {
                const int64_t y = pixel / level->pitch, x = pixel % level->pitch;
                const bool inside = y > 0 && y <= level->height && x > 0 && x <= level->width;
                char *row =
                    (char *)value->data + (size_t)(batch * value->strides[0] +
                                                   (level->first + pixel) * value->strides[1]) *
                                              bytes;
                if (!inside) memset(row, 0, (size_t)value->dims[2] * bytes);
            }
        }
    }
}

// Where the value is paired, behind each head's channels those of the same head of the pixel to the
// right, or zeros where there is none.
static void repeat_neighbours(const struct ref_problem *problem, const struct ref_tensor *value) {
    const struct value_layout layout = value_layout_of(problem->manifest);
    const size_t bytes = num_types[value->dtype].bytes, head = (size_t)layout.channels * bytes;
    if (!layout.paired) return;
    for (int64_t batch = 0; batch < value->dims[0]; ++batch) {
        for (int64_t pixel = 0; pixel < layout.pixels; ++pixel) {
            const int64_t at = batch * value->strides[0] + pixel * value->strides[1];
            char *record = (char *)value->data + (size_t)at * bytes;
            const char *next = record + (size_t)value->strides[1] * bytes;
            const bool alone = value_row_ends(&layout, pixel);
            for (size_t i = 0; i < (size_t)layout.heads * 2 * head; i += 2 * head) {
                if (alone)
                    memset(record + i + head, 0, head);
                else
                    memcpy(record + i + head, next + i, head);
            }
        }
    }
}

// Where query [q] of [queries] looks from, of 0..1: the pixel that it is, or would be if there were
// as many queries as pixels.
static void home_of(const struct value_layout *layout, int64_t q, int64_t queries, double *x,
                    double *y) {
    const int64_t pixel = (int64_t)((double)q * (double)layout->pixels / (double)queries);
    const struct value_level *level = value_level_of(layout, pixel);
    const int64_t row = (pixel - level->first) / level->pitch;
    const int64_t column = (pixel - level->first) % level->pitch;
    const double middle = layout->border ? -0.5 : 0.5;
    *x = ((double)column + middle) / (double)level->width;
    *y = ((double)row + middle) / (double)level->height;
}

// A location for test: mostly inside, some just outside, on edges, far away, infinite or NaN.
static double odd_location(uint64_t bits) {
    static const double odd[] = {0,   1,           -1,      2,   NAN,  INFINITY, -INFINITY,
                                 0.5, 1 - 0x1p-11, 0x1p-20, 6e4, -6e4, 0.25,     0.75};
    return odd[bits % (sizeof odd / sizeof *odd)];
}

// Draws locations for the problem's inputs: "uniform" over all levels; "local", within four pixels
// of the query's own; else uniform, reaching over the edges, with odd ones among them.
static void fill_locations(const struct ref_problem *problem, const struct ref_tensor *tensor,
                           uint64_t seed) {
    const struct value_layout layout = value_layout_of(problem->manifest);
    const bool local = !strcmp(problem->inputs, "local");
    const bool uniform = !strcmp(problem->inputs, "uniform");
    const size_t bytes = num_types[tensor->dtype].bytes;
    const int64_t item = layout.level_count * layout.points;
    for (int64_t i = 0; i < tensor->count / 2; ++i) {
        const int64_t row = i / (layout.heads * item);
        const struct value_level *level = &layout.levels[i % item / layout.points];
        double home[2] = {0, 0};
        if (local) {
            home_of(&layout, row % tensor->dims[1], tensor->dims[1], &home[0], &home[1]);
        }
        for (int axis = 0; axis < 2; ++axis) {
            const uint64_t bits = random_bits(seed, (uint64_t)(2 * i + axis));
            const double random = (double)(bits >> 11) * 0x1p-53;
            const double size = (double)(axis == 0 ? level->width : level->height);
            double location = uniform ? random : 1.2 * random - 0.1;
            if (local) location = home[axis] + (8 * random - 4) / size;
            if (!local && !uniform && bits % 32 == 0) location = odd_location(bits >> 5);
            num_encode(tensor->dtype, location,
                       (char *)tensor->data + (size_t)(2 * i + axis) * bytes);
        }
    }
}

static int fill(const struct ref_problem *problem, struct ref_tensor *tensor, uint64_t seed) {
    const size_t bytes = num_types[tensor->dtype].bytes, count = tensor->bytes / bytes;
    if (!strcmp(tensor->declared->name, "locations")) {
        fill_locations(problem, tensor, seed);
    } else if (!strcmp(tensor->declared->name, "weights")) {
        const struct value_layout layout = value_layout_of(problem->manifest);
        const double most = 2.0 / (double)(layout.level_count * layout.points);
        for (size_t i = 0; i < count; ++i) {
            num_encode(tensor->dtype, most * random_uniform(seed, i),
                       (char *)tensor->data + i * bytes);
        }
    } else {
        if (random_normal(tensor->dtype, tensor->data, count, 1, seed)) return -1;
        clear_borders(problem, tensor);
        repeat_neighbours(problem, tensor);
    }
    return 0;
}

// The pixels around position ([x], [y]), counted from the border, of a point of weight [weight].
static struct sample sample_of(const struct value_layout *layout, const struct value_level *level,
                               double x, double y, double weight) {
    struct sample sample = {.pixel = {-1, -1, -1, -1}};
    if (!(x > 0 && x < (double)level->width + 1 && y > 0 && y < (double)level->height + 1)) {
        return sample;
    }
    const double column = floor(x), row = floor(y);
    for (int i = 0; i < 4; ++i) {
        const int64_t at_x = (int64_t)column + i % 2, at_y = (int64_t)row + i / 2;
        const double share_x = i % 2 ? x - column : 1 - (x - column);
        const double share_y = i / 2 ? y - row : 1 - (y - row);
        const bool inside = at_x >= 1 && at_x <= level->width && at_y >= 1 && at_y <= level->height;
        sample.weight[i] = weight * share_x * share_y;
        if (inside) {
            sample.pixel[i] = level->first + (at_y - 1 + layout->border) * level->pitch + at_x - 1 +
                              layout->border;
        }
    }
    // a position is three fp32 roundings of up to its level's size from exact
    sample.blur = fabs(weight) * (double)(level->width + level->height + 2) * 0x1p-21;
    return sample;
}

// Sample [point] of all points of item (b, q, head).
static struct sample sample_at(const struct ref_problem *problem, const struct value_layout *layout,
                               int64_t b, int64_t q, int64_t head, int64_t point) {
    const struct ref_tensor *locations = ref_tensor_find(problem, "locations");
    const struct ref_tensor *weights = ref_tensor_find(problem, "weights");
    const struct value_level *level = &layout->levels[point / layout->points];
    const int64_t place = head * layout->level_count * layout->points + point;
    const double x = ref_read(locations, (int64_t[]){b, q, 2 * place});
    const double y = ref_read(locations, (int64_t[]){b, q, 2 * place + 1});
    const double weight = ref_read(weights, (int64_t[]){b, q, place});
    return sample_of(layout, level, x * (double)level->width + 0.5, y * (double)level->height + 0.5,
                     weight);
}

// What the arithmetic may cost, as a part of the sum of the products' magnitudes: fp32 sums, or
// halves for weights, products and sums of a few points.
static double arithmetic(const struct value_layout *layout, enum num_type dtype) {
    if (!layout->packed) return 0x1p-19;
    return dtype == NUM_BF16 ? 0x1p-5 : 0x1p-8;  // three roundings of a weight, 32 of a sum
}

static struct ref_value element(const struct ref_problem *problem, const struct ref_tensor *out,
                                const int64_t *index) {
    const struct value_layout layout = value_layout_of(problem->manifest);
    const struct ref_tensor *value = ref_tensor_find(problem, "value");
    const int64_t head = index[2] / layout.channels;
    const int64_t place = index[2] + (layout.paired ? head * layout.channels : 0);
    double sum = 0, magnitude = 0, blur = 0;
    for (int64_t i = 0; i < layout.level_count * layout.points; ++i) {
        const struct sample sample = sample_at(problem, &layout, index[0], index[1], head, i);
        for (int corner = 0; corner < 4; ++corner) {
            if (sample.pixel[corner] < 0) continue;
            const double pixel =
                ref_read(value, (int64_t[]){index[0], sample.pixel[corner], place});
            sum += sample.weight[corner] * pixel;
            magnitude += fabs(sample.weight[corner] * pixel);
            blur += sample.blur * fabs(pixel);
        }
    }
    // weights below the normal range of a half lose bits
    const double tiny = layout.packed && out->dtype == NUM_FP16 ? 0x1p-20 : FLT_MIN;
    const double computing = arithmetic(&layout, out->dtype) * magnitude + blur + tiny;
    return (struct ref_value){sum,
                              1.01 * num_rounding(out->dtype, fabs(sum) + computing) + computing};
}

static double element_cost(const struct ref_problem *problem) {
    const struct value_layout layout = value_layout_of(problem->manifest);
    return 60.0 * (double)(layout.level_count * layout.points);
}

// The check of the whole: for each pixel and head the sum over channels with random signs, and that
// of magnitudes; then for each item the same of its output, against the samples of those sums.
struct check {
    const struct ref_problem *problem;
    const struct ref_tensor *value, *out;
    struct value_layout layout;
    struct ref_spans *spans;
    double *signed_sums, *magnitudes;  // [batch][pixel][head]
    uint64_t seed;
    pthread_mutex_t lock;
};

enum { CHANNELS_MAX = 1024 };

// The sums over a head's channels, of which [element] is the first.
static void sums_of(const struct check *check, const struct ref_tensor *tensor, int64_t element,
                    double *signed_sum, double *magnitude) {
    float channels[CHANNELS_MAX];
    const size_t count = (size_t)check->layout.channels;
    num_decode(tensor->dtype,
               (const char *)tensor->data + (size_t)element * num_types[tensor->dtype].bytes,
               channels, count);
    *signed_sum = *magnitude = 0;
    for (size_t i = 0; i < count; ++i) {
        *signed_sum += random_bits(check->seed, i) & 1 ? channels[i] : -channels[i];
        *magnitude += fabs(channels[i]);
    }
}

static void project_pixels(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    struct check *check = context;
    const struct value_layout *layout = &check->layout;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t head = i % layout->heads, pixel = i / layout->heads % layout->pixels;
        const int64_t batch = i / layout->heads / layout->pixels;
        const int64_t index[] = {batch, pixel, head * layout->channels * (1 + layout->paired)};
        sums_of(check, check->value, ref_offset(check->value, index), &check->signed_sums[i],
                &check->magnitudes[i]);
    }
}

// Lists the item's channels where their signed sum cannot be right.
static void check_item(struct check *check, int64_t item) {
    const struct value_layout *layout = &check->layout;
    const int64_t head = item % layout->heads, row = item / layout->heads;
    const int64_t q = row % check->out->dims[1], batch = row / check->out->dims[1];
    double want = 0, magnitude = 0, blur = 0, got, got_magnitude;
    for (int64_t i = 0; i < layout->level_count * layout->points; ++i) {
        const struct sample sample = sample_at(check->problem, layout, batch, q, head, i);
        for (int corner = 0; corner < 4; ++corner) {
            if (sample.pixel[corner] < 0) continue;
            const int64_t pixel =
                (batch * layout->pixels + sample.pixel[corner]) * layout->heads + head;
            want += sample.weight[corner] * check->signed_sums[pixel];
            magnitude += fabs(sample.weight[corner]) * check->magnitudes[pixel];
            blur += sample.blur * check->magnitudes[pixel];
        }
    }
    const int64_t index[] = {batch, q, head * layout->channels};
    sums_of(check, check->out, ref_offset(check->out, index), &got, &got_magnitude);
    const double rounding = num_rounding(check->out->dtype, 1) * 2 * got_magnitude;
    const double tolerance = arithmetic(layout, check->out->dtype) * magnitude + blur + rounding +
                             0x1p-20 * (double)layout->channels;
    if (fabs(got - want) <= tolerance) return;  // false for NaN
    pthread_mutex_lock(&check->lock);
    ref_spans_add(check->spans,
                  (struct ref_span){row * check->out->dims[2] + index[2], layout->channels});
    pthread_mutex_unlock(&check->lock);
}

static void check_items(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t item = begin; item < end; ++item) check_item(context, item);
}

static int suspects(const struct ref_problem *problem, const struct ref_tensor *out, uint64_t seed,
                    struct ref_spans *spans) {
    struct check check = {.problem = problem,
                          .value = ref_tensor_find(problem, "value"),
                          .out = out,
                          .layout = value_layout_of(problem->manifest),
                          .spans = spans,
                          .seed = seed};
    if (check.layout.channels > CHANNELS_MAX) return 0;  // all the checking is by elements then
    const int64_t batches = out->dims[0], heads = check.layout.heads;
    const size_t pixels = (size_t)(batches * check.layout.pixels * heads);
    check.signed_sums = calloc(pixels, sizeof(double));
    check.magnitudes = calloc(pixels, sizeof(double));
    const int failed =
        !check.signed_sums || !check.magnitudes || pthread_mutex_init(&check.lock, NULL);
    if (!failed) {
        parallel_for((int64_t)pixels, 4096, project_pixels, &check);
        parallel_for(batches * out->dims[1] * heads, 256, check_items, &check);
        pthread_mutex_destroy(&check.lock);
    }
    free(check.signed_sums);
    free(check.magnitudes);
    return failed ? -1 : 0;
}

static double flops(const struct ref_problem *problem) {
    const struct value_layout layout = value_layout_of(problem->manifest);
    return 8.0 * (double)(layout.level_count * layout.points) *
           (double)ref_tensor_find(problem, "out")->count;
}

// The four pixels of every point, each read once by the lanes that share a query's head. Corners
// outside of their level count, though a kernel may leave them out: few are, where bench draws.
static double l1_bytes(const struct ref_problem *problem) {
    const struct value_layout layout = value_layout_of(problem->manifest);
    const struct ref_tensor *out = ref_tensor_find(problem, "out");
    return 4.0 * (double)(layout.level_count * layout.points) * (double)out->count *
           (double)num_types[out->dtype].bytes;
}

const struct reference reference_deform_attn = {
    .name = "deform_attn",
    .doc = "out[b,q,h,:] = sum of weights[b,q,h,l,p] * value_l[b,:,h,:] sampled at "
           "locations[b,q,h,l,p]",
    .dims = "b s q",
    .typical = "48x20522x20522/local",
    .inputs = "local uniform",
    .accepts = accepts,
    .shapes = shapes,
    .fill = fill,
    .element = element,
    .element_cost = element_cost,
    .suspects = suspects,
    .flops = flops,
    .l1_bytes = l1_bytes,
};
