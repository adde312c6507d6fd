// Fits the network of runtime/learned.h to examples: stochastic gradients with moments (Adam,
// arXiv:1412.6980) and decay of weights. Everything is in the order of calls, so that the same
// examples give the same numbers.
#pragma once

#include "runtime/learned.h"

enum { NETWORK_NUMBERS = sizeof(struct tmg_network) / sizeof(float) };

struct network_fit {
    struct tmg_learned *learned;  // whose network it is; the caller's, and center and scale too
    unsigned steps;
    struct tmg_network slopes;  // of what was added since the last step
    float moments[NETWORK_NUMBERS], squares[NETWORK_NUMBERS];  // of the slopes of all steps
};

// Begins with numbers of [learned] that are about normal, the same each time, for its inputs.
void network_begin(struct network_fit *fit, struct tmg_learned *learned);

// Adds what the network should change for an example of which it is off by [error], as [units] were
// then.
void network_add(struct network_fit *fit, const float *inputs,
                 const struct tmg_learned_units *units, float error);

// A step along what was added, of examples that weigh so much; [left] of all steps are to do.
void network_step(struct network_fit *fit, double weight, double left);
