// A chain of layers over the copies of a rotation: each launch reads what the one before it wrote.
#pragma once
#include "measure/contest.h"
#include "measure/rotation.h"

// The tensors of a kernel that make layers: its output, and the input that the next one has it as.
struct chain {
    unsigned output, input;
};

// Finds them: the first output, and the first input of its type and dims. TMAGEN_ERROR_ARGUMENT
// where there is none.
int chain_find(const struct ref_problem *problem, struct chain *chain);

// What scales random inputs so that values neither grow nor vanish from layer to layer.
double chain_scale(const struct ref_problem *problem, const struct chain *chain);

// Where copy [set] has its input: in the first copy its own, in all others the output before.
tmagen_address chain_input(const struct rotation *rotation, const struct chain *chain, int set);

// Passes through the chain, from poisoned outputs, with launches one after the other and with those
// that overlap: the last output must be the same to the bit. [flags] are of the contestant's
// launches, and what they are is left there. TMAGEN_ERROR_ARGUMENT where it is not.
int chain_check(struct gpu *gpu, const struct rotation *rotation, const struct chain *chain,
                const struct contestant *contestant, unsigned *flags);
