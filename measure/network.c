// Where the time goes is examples, some hundred a step: each touches all numbers, four at once.
#include "measure/network.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "measure/random.h"
#include "runtime/abreast.h"

enum { FIRST = TMG_LEARNED_UNITS / LANES, SECOND = TMG_LEARNED_SECOND / LANES };

static const double first_rate = 3e-3, decay = 3e-5;

// About normal, of variance 1.
static float next_normal(uint64_t *position) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random_uniform(1, (*position)++);
    return (float)sum;
}

void network_begin(struct network_fit *fit, struct tmg_learned *learned) {
    struct tmg_network *network = &learned->network;
    uint64_t position = 0;
    memset(fit, 0, sizeof *fit);
    memset(network, 0, sizeof *network);
    fit->learned = learned;
    const float spread = sqrtf(2.0F / (float)learned->inputs),
                of_second = sqrtf(2.0F / TMG_LEARNED_UNITS);
    for (unsigned i = 0; i < learned->inputs; ++i)
        for (unsigned unit = 0; unit < TMG_LEARNED_UNITS; ++unit)
            network->weights[i][unit] = spread * next_normal(&position);
    for (unsigned unit = 0; unit < TMG_LEARNED_SECOND; ++unit) {
        network->last[unit] = next_normal(&position) / sqrtf(TMG_LEARNED_SECOND);
        for (unsigned i = 0; i < TMG_LEARNED_UNITS; ++i)
            network->second[i][unit] = of_second * next_normal(&position);
    }
}

static void add(float *to, lanes what) { store(to, load(to) + what); }

// Adds what the second layer should change, and writes what the first's units should change by.
static void add_second(struct network_fit *fit, const struct tmg_learned_units *units, float error,
                       float *back) {
    const struct tmg_network *network = &fit->learned->network;
    struct tmg_network *slopes = &fit->slopes;
    lanes of_second[SECOND];
    for (int j = 0; j < SECOND; ++j) {
        const lanes unit = load(units->second + j * LANES);
        of_second[j] = where(unit > 0, load(network->last + j * LANES) * error);
        add(slopes->last + j * LANES, unit * error);
        add(slopes->second_offsets + j * LANES, of_second[j]);
    }
    for (unsigned i = 0; i < TMG_LEARNED_UNITS; ++i) {
        lanes sum = {0};
        back[i] = 0;
        if (!(units->first[i] > 0)) continue;
#pragma GCC unroll 4
        for (int j = 0; j < SECOND; ++j) {
            add(slopes->second[i] + j * LANES, of_second[j] * units->first[i]);
            sum += of_second[j] * load(network->second[i] + j * LANES);
        }
        back[i] = sum[0] + sum[1] + sum[2] + sum[3];
    }
}

void network_add(struct network_fit *fit, const float *inputs,
                 const struct tmg_learned_units *units, float error) {
    float back[TMG_LEARNED_UNITS];
    lanes of_first[FIRST];
    add_second(fit, units, error, back);
    memcpy(of_first, back, sizeof of_first);
    for (int j = 0; j < FIRST; ++j) add(fit->slopes.offsets + j * LANES, of_first[j]);
    for (unsigned i = 0; i < fit->learned->inputs; ++i) {
#pragma GCC unroll 12
        for (int j = 0; j < FIRST; ++j)
            add(fit->slopes.weights[i] + j * LANES, of_first[j] * inputs[i]);
    }
}

void network_step(struct network_fit *fit, double weight, double left) {
    float numbers[NETWORK_NUMBERS], slopes[NETWORK_NUMBERS];
    float *moments = fit->moments, *squares = fit->squares;
    // those of inputs that there are not stay as they are
    _Static_assert(offsetof(struct tmg_network, weights) + sizeof fit->slopes.weights ==
                       sizeof(struct tmg_network),
                   "weights are last");
    const unsigned rows = TMG_LEARNED_INPUTS - fit->learned->inputs,
                   count = NETWORK_NUMBERS - rows * TMG_LEARNED_UNITS;
    memcpy(numbers, &fit->learned->network, sizeof numbers);
    memcpy(slopes, &fit->slopes, sizeof slopes);
    const double fade = ++fit->steps;
    const float rate = (float)(first_rate * left), of_moments = (float)(1 - pow(.9, fade)),
                of_squares = (float)(1 - pow(.999, fade));
    for (unsigned i = 0; i < count; ++i) {
        const float slope = slopes[i] / (float)weight + (float)decay * numbers[i];
        moments[i] = .9F * moments[i] + .1F * slope;
        squares[i] = .999F * squares[i] + .001F * slope * slope;
        numbers[i] -= rate * (moments[i] / of_moments) / (sqrtf(squares[i] / of_squares) + 1e-8F);
    }
    memcpy(&fit->learned->network, numbers, sizeof numbers);
    memset(&fit->slopes, 0, sizeof fit->slopes);
}
