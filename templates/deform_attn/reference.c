// The reference of deform_attn: bilinear samples of all levels, weighted and summed, in float64.
// What lies outside of a level weighs nothing, but a kernel may read it and multiply it by zero:
// NaN and infinities are drawn away from the edges; where one hardly weighs, any result is right.
#define DRAWS
#include "reference.h"

// A level of value: its size without the border, the stored pixels of a row, and its first stored
// pixel.
struct level {
    int64_t height, width, pitch, first;
};

// Level [i], behind the one before; without a height where there is none.
static struct level level_behind(const struct problem *p, int i, struct level before) {
    const int64_t border = (int64_t)number_of(p, "padded", 0);
    struct level level = {0, 0, 0, 0};
    level.first = before.first + before.pitch * (before.height ? before.height + 2 * border : 0);
    level.height = (int64_t)number_of(p, "levels", 2 * i);
    level.width = (int64_t)number_of(p, "levels", 2 * i + 1);
    level.pitch = level.width + 2 * border;
    return level;
}

static struct level level_of(const struct problem *p, int i) {
    struct level level = {0, 0, 0, 0};
    for (int at = 0; at <= i; ++at) level = level_behind(p, at, level);
    return level;
}

static int level_count(const struct problem *p) {
    int count = 0;
    while (number_of(p, "levels", 2 * count) > 0) ++count;
    return count;
}

// The level that stored pixel [pixel] of a batch belongs to.
static struct level level_at(const struct problem *p, int64_t pixel) {
    struct level level = level_of(p, 0), next = level_behind(p, 1, level);
    for (int i = 2; next.height && pixel >= next.first; ++i) {
        level = next;
        next = level_behind(p, i, level);
    }
    return level;
}

// What an output's element is summed from: the products, their magnitudes, what positions may be
// off by, and whether a NaN or an infinity may weigh something, or nothing.
struct sums {
    double sum, magnitude, blur;
    int doubtful;
};

static int is_finite(double x) { return x - x == 0; }

// The value of [channel] and batch at [column], [row] of [level], from the border; 0 outside.
static double value_at(const struct problem *p, const struct level *level, int64_t column,
                       int64_t row, int64_t batch, int64_t channel) {
    const int64_t border = (level->pitch - level->width) / 2;
    if (column < 1 || column > level->width || row < 1 || row > level->height) return 0;
    return at3(tensor_of(p, "value"), batch,
               level->first + (row - 1 + border) * level->pitch + column - 1 + border, channel);
}

// Whether one of the values around ([x], [y]), of weight [weight], is not finite and so near to
// weighing nothing that rounding decides: positions are [off] from exact, weights may be halves.
static int is_doubtful(const struct problem *p, const struct level *level, double x, double y,
                       double weight, double off, int64_t batch, int64_t channel) {
    for (int i = 0; i < 16; ++i) {
        const int64_t column = (int64_t)floor(x) - 1 + i % 4, row = (int64_t)floor(y) - 1 + i / 4;
        const double share_x = 1 - fabs(x - (double)column), share_y = 1 - fabs(y - (double)row);
        if (share_x < -off || share_y < -off) continue;
        if (share_x > off && share_y > off && fabs(weight) * share_x * share_y > 0x1p-20) continue;
        if (!is_finite(value_at(p, level, column, row, batch, channel))) return 1;
    }
    return 0;
}

// What kernels lose by halves: where math is packed a row's weight, a column's and their product
// are up to half of a last place off, where they are subnormal, with mma the product alone; and
// where points travel in two words, the fraction of a column, which is much beside a share of
// nearly nothing.
struct lost {
    double weight, fraction;
};

static struct lost lost_of(const struct problem *p) {
    const int fp16 = tensor_of(p, "weights")->type == FP16;
    struct lost lost = {0, 0};
    if (number_of(p, "mma", 0) > 0) lost.weight = 0x1p-25;
    if (number_of(p, "packed", 0) > 0 && fp16) lost.weight = 3 * 0x1p-25;
    if (number_of(p, "compact", 0) > 0) lost.fraction = fp16 ? 0x1p-12 : 0x1p-9;
    return lost;
}

// Adds the sample of [level] at ([x], [y]), counted from the border, of weight [weight]: pixels of
// [channel] and batch.
static void add_sample(const struct problem *p, const struct level *level, double x, double y,
                       double weight, struct lost lost, int64_t batch, int64_t channel,
                       struct sums *sums) {
    // a position is three fp32 roundings of up to its level's size from exact
    const double off = (double)(level->width + level->height + 2) * 0x1p-21;
    if (!(x > 0 && x < (double)level->width + 1 && y > 0 && y < (double)level->height + 1)) return;
    for (int i = 0; i < 4; ++i) {
        const int64_t column = (int64_t)floor(x) + i % 2, row = (int64_t)floor(y) + i / 2;
        const double share_x = i % 2 ? x - floor(x) : 1 - (x - floor(x));
        const double share_y = i / 2 ? y - floor(y) : 1 - (y - floor(y));
        const double value = value_at(p, level, column, row, batch, channel);
        sums->sum += weight * share_x * share_y * value;
        sums->magnitude += fabs(weight * share_x * share_y * value);
        sums->blur += fabs(weight * value) * (off + share_y * lost.fraction);
        sums->blur += fabs(value) * lost.weight;
    }
    if (inputs_are(p, "special"))
        sums->doubtful |= is_doubtful(p, level, x, y, weight, off + lost.fraction, batch, channel);
}

// What the arithmetic may cost, as a part of the sum of the products' magnitudes: fp32 sums; with
// weights rounded to halves, which tensor cores add up in fp32; or halves for weights, products and
// sums of a few points (three roundings of a weight, 32 of a sum), whose weights may be subnormal.
static double computing(const struct problem *p, const struct tensor *out,
                        const struct sums *sums) {
    const int packed = number_of(p, "packed", 0) > 0;
    const double part = number_of(p, "mma", 0) > 0 ? 0x1p-11 + 0x1p-15
                        : !packed                  ? 0x1p-19
                        : out->type == BF16        ? 0x1p-5
                                                   : 0x1p-8;
    return part * sums->magnitude + sums->blur + (packed && out->type == FP16 ? 0x1p-20 : 0x1p-126);
}

static struct value element(const struct problem *p, const struct tensor *out,
                            const int64_t *index) {
    const struct tensor *locations = tensor_of(p, "locations"), *weights = tensor_of(p, "weights");
    const int64_t channels = (int64_t)number_of(p, "channels", 0),
                  points = (int64_t)number_of(p, "points", 0);
    const int64_t head = index[2] / channels, paired = number_of(p, "paired", 0) > 0;
    const int levels = level_count(p);
    const struct lost lost = lost_of(p);
    const struct value any = {0, -1};
    struct sums sums = {0, 0, 0, 0};
    struct level level = {0, 0, 0, 0};
    for (int l = 0; l < levels; ++l) {
        level = level_behind(p, l, level);
        for (int64_t i = 0; i < points; ++i) {
            const int64_t point = (head * levels + l) * points + i;
            const double x = at3(locations, index[0], index[1], 2 * point);
            const double y = at3(locations, index[0], index[1], 2 * point + 1);
            add_sample(p, &level, x * (double)level.width + 0.5, y * (double)level.height + 0.5,
                       at3(weights, index[0], index[1], point), lost, index[0],
                       index[2] + paired * head * channels, &sums);
        }
    }
    return sums.doubtful ? any : within(out, sums.sum, computing(p, out, &sums));
}

// ---- Inputs

// Whether stored pixel [pixel] is of its level's border.
static int is_border(const struct problem *p, int64_t pixel) {
    const struct level level = level_at(p, pixel);
    const int64_t row = (pixel - level.first) / level.pitch,
                  column = (pixel - level.first) % level.pitch;
    if (number_of(p, "padded", 0) == 0) return 0;
    return row < 1 || row > level.height || column < 1 || column > level.width;
}

// Whether it is so far inside its level that no location outside makes a kernel read it: beside the
// border, or behind the two pixels that stand in for one.
static int is_inner(const struct problem *p, int64_t pixel) {
    const struct level level = level_at(p, pixel);
    const int64_t row = (pixel - level.first) / level.pitch,
                  column = (pixel - level.first) % level.pitch;
    return row >= 2 && row < level.height + level.pitch - level.width - 2 && column >= 2 &&
           column < level.pitch - 2;
}

// Whether it ends a row, without a neighbour to the right.
static int ends_row(const struct problem *p, int64_t pixel) {
    const struct level level = level_at(p, pixel);
    return (pixel - level.first) % level.pitch == level.pitch - 1;
}

// A pixel: zeros in the border; where value is paired, behind each head's channels those of the
// pixel to the right.
static void draw_value(const struct problem *p, const struct tensor *t, const int64_t *row) {
    const int64_t channels = (int64_t)number_of(p, "channels", 0),
                  paired = number_of(p, "paired", 0) > 0;
    const int own = !is_border(p, row[1]),
              other = paired && !ends_row(p, row[1]) && !is_border(p, row[1] + 1);
    const int tame[] = {!is_inner(p, row[1]), other && !is_inner(p, row[1] + 1)};
    const int64_t first = row_of(t, row);
    for (int64_t i = 0; i < t->dims[2]; ++i) {
        const int64_t right = paired && i / channels % 2;
        if (right ? other : own) {
            put_drawn(p, t, first + i, first + i + right * (t->strides[1] - channels), tame[right]);
        } else {
            put(t, first + i, 0);
        }
    }
}

// Where query [q] looks from, of 0..1: the pixel that it is, or would be if there were as many
// queries as pixels.
static double home_of(const struct problem *p, const struct tensor *t, int64_t q, int axis) {
    const int64_t pixels = tensor_of(p, "value")->dims[1];
    const int64_t pixel = (int64_t)((double)q * (double)pixels / (double)t->dims[1]);
    const struct level level = level_at(p, pixel);
    const double middle = number_of(p, "padded", 0) > 0 ? -0.5 : 0.5;
    const int64_t row = (pixel - level.first) / level.pitch,
                  column = (pixel - level.first) % level.pitch;
    return axis == 0 ? ((double)column + middle) / (double)level.width
                     : ((double)row + middle) / (double)level.height;
}

// "uniform" over all levels; "local", within four pixels of the query's own; else uniform, reaching
// over the edges, with odd ones among them: just outside, on edges, far away, infinite or NaN.
static void draw_locations(const struct problem *p, const struct tensor *t, const int64_t *row) {
    const double odd[] = {0,   1,           -1,      2,   NAN,  INFINITY, -INFINITY,
                          0.5, 1 - 0x1p-11, 0x1p-20, 6e4, -6e4, 0.25,     0.75};
    const int local = inputs_are(p, "local"), uniform = inputs_are(p, "uniform"),
              levels = level_count(p);
    const int64_t first = row_of(t, row), points = (int64_t)number_of(p, "points", 0);
    for (int64_t i = 0; i < t->dims[2]; ++i) {
        const uint64_t bits = bits_at(t, (uint64_t)(first + i));
        double location = uniform ? share_of(bits) : 1.2 * share_of(bits) - 0.1;
        if (local) {
            const struct level level = level_of(p, (int)(i / 2 / points % levels));
            const double size = (double)(i % 2 ? level.height : level.width);
            location = home_of(p, t, row[1], (int)(i % 2)) + (8 * share_of(bits) - 4) / size;
        }
        if (!local && !uniform && bits % 32 == 0)
            location = odd[(bits >> 5) % (sizeof odd / sizeof *odd)];
        put(t, first + i, location);
    }
}

static void draw_weights(const struct problem *p, const struct tensor *t, const int64_t *row) {
    const double most = 2.0 / ((double)level_count(p) * number_of(p, "points", 0));
    const int64_t first = row_of(t, row);
    for (int64_t i = 0; i < t->dims[2]; ++i)
        put(t, first + i, most * share_of(bits_at(t, (uint64_t)(first + i))));
}

static void draw(const struct problem *p, const struct tensor *t, const int64_t *row) {
    if (same(t->name, "locations"))
        draw_locations(p, t, row);
    else if (same(t->name, "weights"))
        draw_weights(p, t, row);
    else
        draw_value(p, t, row);
}
