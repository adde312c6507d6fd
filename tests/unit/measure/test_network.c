// What a network should change for an example is its slope, and steps along slopes fit it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "measure/network.h"
#include "measure/random.h"

static float drawn(uint64_t *position) { return (float)(2 * random_uniform(7, (*position)++) - 1); }

static float told(const struct tmg_learned *learned, const float *inputs) {
    struct tmg_learned_units units;
    return tmg_learned_miss(learned, inputs, &units);
}

// The slope by one number, from two networks a little apart. Where a unit's corner lies between
// them, it has none: then the slopes on both sides differ.
static int slope_by(const struct tmg_learned *learned, unsigned number, const float *inputs,
                    double *slope) {
    static struct tmg_learned moved;
    const float apart = 0x1p-9F;
    double at[3];
    for (int i = 0; i < 3; ++i) {
        float numbers[NETWORK_NUMBERS];
        moved = *learned;
        memcpy(numbers, &moved.network, sizeof numbers);
        numbers[number] += (float)(i - 1) * apart;
        memcpy(&moved.network, numbers, sizeof numbers);
        at[i] = (double)told(&moved, inputs);
    }
    *slope = (at[2] - at[0]) / (2 * (double)apart);
    return fabs(at[2] - 2 * at[1] + at[0]) < 1e-5;
}

// As it is kept, for many examples and all numbers; those of inputs that there are not stay 0.
static void test_slopes(void **state) {
    (void)state;
    static struct tmg_learned learned;
    static struct network_fit fit;
    uint64_t position = 0;
    unsigned smooth = 0, all = 0;
    learned.inputs = 11;
    network_begin(&fit, &learned);
    for (int unit = 0; unit < TMG_LEARNED_UNITS; ++unit)
        learned.network.offsets[unit] = .3F * drawn(&position);
    for (int unit = 0; unit < TMG_LEARNED_SECOND; ++unit)
        learned.network.second_offsets[unit] = .3F * drawn(&position);
    for (int example = 0; example < 5; ++example) {
        struct tmg_learned_units units;
        float inputs[TMG_LEARNED_INPUTS] = {0}, slopes[NETWORK_NUMBERS];
        const float error = drawn(&position);
        for (unsigned i = 0; i < learned.inputs; ++i) inputs[i] = drawn(&position);
        memset(&fit.slopes, 0, sizeof fit.slopes);
        tmg_learned_miss(&learned, inputs, &units);
        network_add(&fit, inputs, &units, error);
        memcpy(slopes, &fit.slopes, sizeof slopes);
        for (unsigned i = 0; i < NETWORK_NUMBERS; ++i) {
            double slope;
            ++all;
            if (!slope_by(&learned, i, inputs, &slope)) continue;
            ++smooth;
            assert_float_equal(slopes[i], (double)error * slope, 1e-3);
        }
    }
    assert_true(smooth > all / 20 * 19);
}

// The larger of two inputs, from a thousand steps of 16 examples each. Decay and the last steps'
// smallness leave what is told within hundredths; the mean alone would be .33 off.
static void test_steps_fit(void **state) {
    (void)state;
    enum { STEPS = 1000, EXAMPLES = 16, TESTS = 1000 };
    static struct tmg_learned learned;
    static struct network_fit fit;
    uint64_t position = 0;
    double squares = 0;
    learned.inputs = 2;
    network_begin(&fit, &learned);
    const struct tmg_network first = learned.network;
    for (int step = 0; step < STEPS; ++step) {
        for (int example = 0; example < EXAMPLES; ++example) {
            struct tmg_learned_units units;
            const float inputs[2] = {drawn(&position), drawn(&position)};
            const float error =
                tmg_learned_miss(&learned, inputs, &units) - fmaxf(inputs[0], inputs[1]);
            network_add(&fit, inputs, &units, error);
        }
        network_step(&fit, EXAMPLES, 1 - (double)step / STEPS);
    }
    for (int test = 0; test < TESTS; ++test) {
        const float inputs[2] = {drawn(&position), drawn(&position)};
        const double off = (double)(told(&learned, inputs) - fmaxf(inputs[0], inputs[1]));
        squares += off * off;
    }
    print_message("off by %.4f\n", sqrt(squares / TESTS));
    assert_true(sqrt(squares / TESTS) < .02);
    for (unsigned i = 0; i < TMG_LEARNED_INPUTS; ++i)
        for (unsigned unit = 0; unit < TMG_LEARNED_UNITS; ++unit) {
            const float weight = learned.network.weights[i][unit];
            if (i >= learned.inputs)
                assert_float_equal(weight, 0, 0);
            else  // decay moves those that say nothing
                assert_true(weight < first.weights[i][unit] || weight > first.weights[i][unit]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slopes),
                                       cmocka_unit_test(test_steps_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
