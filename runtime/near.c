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

// Takes [measured] in; where there is no room, for the one that weighs least.
static void take(struct tmg_near *near, const struct tmg_measured *measured, double weight) {
    unsigned at = near->count;
    if (near->count < TMG_NEAR_MOST) {
        ++near->count;
    } else {
        at = 0;
        for (unsigned i = 1; i < near->count; ++i)
            if (near->weights[i] < near->weights[at]) at = i;
        if (weight <= near->weights[at]) return;
    }
    near->shapes[at] = measured;
    near->weights[at] = weight;
}

void tmg_near_find(const struct tmg_table *table, const int64_t *shape, int alignment,
                   struct tmg_near *near) {
    double at[TMG_MAX_TABLE_DIMS];
    near->table = table;
    near->count = 0;
    if (!table->measured_count) return;
    for (unsigned i = 0; i < table->dim_count; ++i) at[i] = log2((double)shape[i]);
    for (unsigned i = 0; i < table->measured_count; ++i) {
        const struct tmg_measured *measured = &table->measured[i];
        double far = distance(table->at + (size_t)i * table->dim_count, at, table->dim_count);
        if (far > FAR) continue;
        far += apart(alignment, measured->alignment);
        const double weight = far > 0 ? exp(-far / (2 * WIDTH * WIDTH)) : SAME;
        if (far <= FAR) take(near, measured, weight);
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
