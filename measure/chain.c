// Chains of layers. Whoever reads an output too early reads the poison, since each pass begins with
// it.
#include "measure/chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"

enum { PASSES = 20 };

static bool alike(const struct ref_tensor *a, const struct ref_tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank);
}

int chain_find(const struct ref_problem *problem, struct chain *chain) {
    const unsigned count = problem->manifest->tensor_count;
    const struct ref_tensor *tensors = problem->tensors;
    for (unsigned output = 0; output < count; ++output) {
        if (!tensors[output].declared->writes) continue;
        for (unsigned input = 0; input < count; ++input) {
            if (tensors[input].declared->writes || !alike(&tensors[output], &tensors[input]))
                continue;
            *chain = (struct chain){output, input};
            return TMAGEN_OK;
        }
    }
    return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                    "no chain: no input is as the output; legal: shapes where one is (N = K)");
}

double chain_scale(const struct ref_problem *problem, const struct chain *chain) {
    const struct ref_tensor *input = &problem->tensors[chain->input];
    return 1 / sqrt((double)input->dims[input->rank - 1]);
}

tmagen_address chain_input(const struct rotation *rotation, const struct chain *chain, int set) {
    return set ? rotation_address(rotation, set - 1, chain->output)
               : rotation_address(rotation, set, chain->input);
}

// One pass from poisoned outputs; the last one to [result].
static int pass(struct gpu *gpu, const struct rotation *rotation, const struct chain *chain,
                const struct contestant *contestant, void *result) {
    int status = rotation_poison(gpu, rotation);
    for (int set = 0; set < rotation->sets && status == TMAGEN_OK; ++set)
        status = contestant->launch(contestant->context, gpu->stream, set);
    if (status == TMAGEN_OK) status = gpu_wait(gpu);
    if (status != TMAGEN_OK) return status;
    return tmagen_memory_download(gpu->device, result,
                                  rotation_address(rotation, rotation->sets - 1, chain->output),
                                  rotation->problem.tensors[chain->output].bytes);
}

int chain_check(struct gpu *gpu, const struct rotation *rotation, const struct chain *chain,
                const struct contestant *contestant, unsigned *flags) {
    const size_t bytes = rotation->problem.tensors[chain->output].bytes;
    const unsigned overlapping = *flags;
    char *expected = malloc(bytes), *got = malloc(bytes);
    int status = expected && got ? TMAGEN_OK : tmg_fail_memory();
    *flags = 0;
    if (status == TMAGEN_OK) status = pass(gpu, rotation, chain, contestant, expected);
    *flags = overlapping;
    for (int i = 0; i < PASSES && status == TMAGEN_OK; ++i) {
        status = pass(gpu, rotation, chain, contestant, got);
        if (status == TMAGEN_OK && memcmp(expected, got, bytes))
            status =
                tmg_fail(TMAGEN_ERROR_ARGUMENT,
                         "WRONG: launches that overlap give other bits than those that do not");
    }
    free(expected);
    free(got);
    return status;
}
