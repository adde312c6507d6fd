// Weighs measured shapes by their distance, in powers of two of the dims.
#include "runtime/near.h"

#include <math.h>
#include <stdlib.h>

// All fitted to what was measured: each shape's best predicted from all others. A shape weighs by a
// bell curve of its distance, WIDTH wide, and nothing beyond FAR (squared); a class of alignment
// apart is as far as ALIGNED (squared), two at most; DOUBT is the weight of the model itself.
#define WIDTH   0.8
#define FAR     5.0
#define ALIGNED 0.5
#define DOUBT   0.02
#define SAME    100.0  // what the shape itself weighs: it alone decides

static double distance(const double *from, const double *at, unsigned dims) {
    double sum = 0;
    for (unsigned i = 0; i < dims && sum <= FAR; ++i) sum += (at[i] - from[i]) * (at[i] - from[i]);
    return sum;
}

// What classes of alignment that are apart add.
static double apart(int alignment, int other) {
    const int classes = abs(__builtin_ctz((unsigned)alignment) - __builtin_ctz((unsigned)other));
    return ALIGNED * (classes < 2 ? classes : 2);
}

// Takes [measured] in; where there is no room, for the farthest.
static void take(struct tmg_near *near, const struct tmg_measured *measured, double far) {
    unsigned at = near->count;
    if (near->count < TMG_NEAR_MOST) {
        ++near->count;
    } else {
        at = 0;
        for (unsigned i = 1; i < near->count; ++i)
            if (near->weights[i] > near->weights[at]) at = i;
        if (far >= near->weights[at]) return;
    }
    near->shapes[at] = measured;
    near->weights[at] = far;
}

// The first row whose first dim is not below [least]; they are sorted by it.
static unsigned first_row(const struct tmg_table *table, double least) {
    unsigned at = 0, end = table->measured_count;
    while (at < end) {
        const unsigned middle = (at + end) / 2;
        if (table->measured[middle].at[0] < least)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

// Takes in what lies near [at]; weights are distances so far.
static void look_around(struct tmg_near *near, const double *at, int alignment) {
    const struct tmg_table *table = near->table;
    const double reach = sqrt(FAR);
    for (unsigned i = first_row(table, at[0] - reach); i < table->measured_count; ++i) {
        const struct tmg_measured *measured = &table->measured[i];
        if (measured->at[0] > at[0] + reach) break;
        double far = distance(measured->at, at, table->dim_count);
        if (far > FAR) continue;
        far += apart(alignment, measured->alignment);
        if (far <= FAR) take(near, measured, far);
    }
}

void tmg_near_find(const struct tmg_table *table, const int64_t *shape, int alignment,
                   struct tmg_near *near) {
    double at[TMG_MAX_TABLE_DIMS];
    near->table = table;
    near->count = 0;
    if (!table->measured_count) return;
    for (unsigned i = 0; i < table->dim_count; ++i) at[i] = log2((double)shape[i]);
    look_around(near, at, alignment);
    for (unsigned i = 0; i < near->count; ++i) {
        const double far = near->weights[i];
        near->weights[i] = far > 0 ? exp(-far / (2 * WIDTH * WIDTH)) : SAME;
    }
}

double tmg_near_times(const struct tmg_near *near, int kernel, int splits) {
    const int launch = near->count ? tmg_table_launch(near->table, kernel, splits) : -1;
    double sum = 0, weights = DOUBT;
    if (launch < 0) return 1;
    for (unsigned i = 0; i < near->count; ++i) {
        const double miss = near->shapes[i]->misses[launch];
        if (isnan(miss)) continue;
        sum += near->weights[i] * miss;
        weights += near->weights[i];
    }
    return exp(sum / weights);
}
