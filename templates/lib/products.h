// products.h: sums of products of tensors' elements, and of the products' squares, of which bounds
// are made. A part of reference.h, which includes it.
#ifndef REFERENCE_PRODUCTS_H
#define REFERENCE_PRODUCTS_H

// Elements of [t] from [place] on, [step] apart: in [room] where they are not decoded yet, or do
// not lie behind each other.
REFERENCE const float *numbers_of(const struct tensor *t, int64_t place, int64_t step, int count,
                                  float *room) {
    const float *decoded = t->numbers ? t->numbers + place : 0;
    if (decoded && step == 1) return decoded;
    for (int i = 0; decoded && i < count; ++i) room[i] = decoded[i * step];
    for (int i = 0; !decoded && i < count; ++i) room[i] = (float)read(t, place + i * step);
    return room;
}

// What eights left of [count] products, then eight sums as one, in the first.
REFERENCE void close_sums(const float *x, const float *y, int count, double *sums,
                          double *of_squares) {
    for (int i = count / 8 * 8; i < count; ++i) {
        const double product = (double)x[i] * y[i];
        sums[0] += product;
        of_squares[0] += product * product;
    }
    for (int half = 4; half > 0; half /= 2) {
        for (int j = 0; j < half; ++j) {
            sums[j] += sums[j + half];
            of_squares[j] += of_squares[j + half];
        }
    }
}

// Adds up products and their squares, in eight sums that need not wait for each other.
REFERENCE_ONCE void add_products(const float *x, const float *y, int count, double *sum,
                                 double *squares) {
    double sums[8] = {*sum}, of_squares[8] = {*squares};
    for (int i = 0; i + 8 <= count; i += 8) {
        for (int j = 0; j < 8; ++j) {
            const double product = (double)x[i + j] * y[i + j];
            sums[j] += product;
            of_squares[j] += product * product;
        }
    }
    close_sums(x, y, count, sums, of_squares);
    *sum = sums[0];
    *squares = of_squares[0];
}

#if defined __x86_64__ && !defined __CUDACC__
// A fifth of verify's time on the emulator goes into these. As vectors, which sanitizers look at
// once and not lane by lane.
typedef float four_floats __attribute__((vector_size(16), aligned(4), may_alias));
typedef double four_doubles __attribute__((vector_size(32)));
#ifdef __clang__
#define to_doubles(FLOATS) __builtin_convertvector(FLOATS, four_doubles)
#else
#define to_doubles __builtin_ia32_cvtps2pd256  // of convertvector gcc 12 makes two halves
#endif

// What close_sums() gives where nothing is left of [count].
__attribute__((target("avx2"), unused)) static inline double sum_of(four_doubles low,
                                                                    four_doubles high) {
    const four_doubles sums = low + high;
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

__attribute__((target("avx2"), unused)) static void add_products_avx2(const float *x,
                                                                      const float *y, int count,
                                                                      double *sum,
                                                                      double *squares) {
    four_doubles low_sums = {*sum}, high_sums = {0}, low_squares = {*squares}, high_squares = {0};
    for (int i = 0; i + 8 <= count; i += 8) {
        const four_floats *xs = (const four_floats *)(x + i), *ys = (const four_floats *)(y + i);
        const four_doubles low = to_doubles(xs[0]) * to_doubles(ys[0]);
        const four_doubles high = to_doubles(xs[1]) * to_doubles(ys[1]);
        low_sums += low;
        high_sums += high;
        low_squares += low * low;
        high_squares += high * high;
    }
    if (count % 8 == 0) {
        *sum = sum_of(low_sums, high_sums);
        *squares = sum_of(low_squares, high_squares);
        return;
    }
    four_doubles sums[] = {low_sums, high_sums}, of_squares[] = {low_squares, high_squares};
    close_sums(x, y, count, (double *)sums, (double *)of_squares);
    *sum = sums[0][0];
    *squares = of_squares[0][0];
}
REFERENCE void sum_products(const float *x, const float *y, int count, double *sum,
                            double *squares) {
    if (__builtin_cpu_supports("avx2"))
        add_products_avx2(x, y, count, sum, squares);
    else
        add_products(x, y, count, sum, squares);
}
#else
#define sum_products add_products
#endif

#endif
