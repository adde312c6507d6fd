// Normal values by lookup: 16 random bits choose one of 65536 quantiles, already in the element
// type. One draw of 64 bits serves four elements, so that memory, not arithmetic, sets the speed.
#include "measure/random.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "measure/numbers.h"
#include "measure/parallel.h"

enum { QUANTILES = 1 << 16, GRAIN = 1 << 18 };

// The normal distribution's quantile for 0 < p < 1, by Newton's method on erfc.
static double normal_quantile(double p) {
    double x = 0;
    for (int i = 0; i < 60; ++i) {
        const double density = exp(-x * x / 2) / sqrt(2 * M_PI);
        const double step = (0.5 * erfc(-x / M_SQRT2) - p) / density;
        x -= fmax(fmin(step, 1), -1);
        if (fabs(step) < 1e-12) break;
    }
    return x;
}

struct filling {
    void *to;
    const void *quantiles;
    size_t count;
    unsigned bytes;
    uint64_t seed;
};

#define FILL(type)                                                        \
    do {                                                                  \
        type *to = filling->to;                                           \
        const type *quantiles = filling->quantiles;                       \
        for (size_t i = first; i < last; i += 4) {                        \
            uint64_t bits = random_bits(filling->seed, i / 4);            \
            for (size_t j = i; j < last && j < i + 4; ++j, bits >>= 16) { \
                to[j] = quantiles[bits & (QUANTILES - 1)];                \
            }                                                             \
        }                                                                 \
    } while (0)

static void fill_range(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const struct filling *filling = context;
    const size_t first = (size_t)begin * 4;
    const size_t last = (size_t)end * 4 < filling->count ? (size_t)end * 4 : filling->count;
    switch (filling->bytes) {
    case 1: FILL(uint8_t); return;
    case 2: FILL(uint16_t); return;
    case 4: FILL(uint32_t); return;
    default: FILL(uint64_t); return;
    }
}

// The distribution is symmetric, and so is the table: its mean is exactly 0.
static void quantiles_make(enum tmg_dtype_id dtype, char *quantiles) {
    const size_t bytes = tmg_dtype_bytes(dtype);
    const bool integers = tmg_dtypes[dtype].kind != TMG_KIND_FLOAT;
    const double deviation = integers && bytes == 1 ? 32 : 1;
    for (size_t i = 0; i < QUANTILES / 2; ++i) {
        const double value = deviation * normal_quantile(((double)i + 0.5) / QUANTILES);
        num_encode(dtype, value, quantiles + i * bytes);
        num_encode(dtype, -value, quantiles + (QUANTILES - 1 - i) * bytes);
    }
}

const void *random_quantiles(enum tmg_dtype_id dtype) {
    static void *tables[TMG_DTYPES_OF_HOST];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!tables[dtype]) {
        tables[dtype] = malloc((size_t)QUANTILES * tmg_dtype_bytes(dtype));
        if (tables[dtype]) quantiles_make(dtype, tables[dtype]);
    }
    pthread_mutex_unlock(&lock);
    return tables[dtype];
}

// Fills [to] with values drawn from [quantiles].
static void draw(enum tmg_dtype_id dtype, const void *quantiles, void *to, size_t count,
                 uint64_t seed) {
    struct filling filling = {to, quantiles, count, tmg_dtype_bytes(dtype), seed};
    parallel_for((int64_t)((count + 3) / 4), GRAIN, fill_range, &filling);
}

int random_normal(enum tmg_dtype_id dtype, void *to, size_t count, uint64_t seed) {
    const void *quantiles = random_quantiles(dtype);
    if (!quantiles) return -1;
    draw(dtype, quantiles, to, count, seed);
    return 0;
}

int random_scaled(enum tmg_dtype_id dtype, double scale, void *to, size_t count, uint64_t seed) {
    const size_t one = tmg_dtype_bytes(dtype);
    const char *quantiles = random_quantiles(dtype);
    char *scaled = quantiles ? malloc(QUANTILES * one) : NULL;
    if (!scaled) return -1;
    for (size_t at = 0; at < QUANTILES * one; at += one)
        num_encode(dtype, num_value(dtype, quantiles + at) * scale, scaled + at);
    draw(dtype, scaled, to, count, seed);
    free(scaled);
    return 0;
}

uint64_t random_fresh_seed(void) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = (uint64_t)time(NULL);
    return seed % 1000000000;  // short enough to be typed again
}
