// Where other tensors lie is known only once a device holds them, and different at every run: what
// is drawn, recorded and compared are offsets.
#include "measure/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"

// The names of the reference's `addresses`, and the first: the tensor that holds them.
static const char *holder(const struct ref_problem *problem) {
    const char *names = json_string_value(json_object_get(problem->reference->rows, "addresses"));
    return names ? names : "";
}

static bool is_name(const char *names, size_t length, const char *name) {
    return strlen(name) == length && !strncmp(names, name, length);
}

static unsigned tensor_named(const struct ref_problem *problem, const char *name, size_t length) {
    unsigned i = 0;
    while (i < problem->manifest->tensor_count &&
           !is_name(name, length, problem->tensors[i].declared->name))
        ++i;
    return i;
}

// Adds [address] to field [field] of every row; what is negative, modulo 2^64, takes it away.
static void add(const struct ref_tensor *tensor, unsigned field, uint64_t address, void *bytes) {
    const int64_t rows = tensor->dims[0], fields = tensor->dims[1];
    uint64_t *values = bytes;
    for (int64_t row = 0; row < rows; ++row) values[row * fields + field] += address;
}

// Moves the addresses in [bytes] of tensor [i], if it has any: by where tensors lie, or back.
static bool move(const struct ref_problem *problem, unsigned i, const uint64_t *at, bool back,
                 void *bytes) {
    const char *names = holder(problem);
    size_t length = strcspn(names, " ");
    if (tensor_named(problem, names, length) != i) return false;
    for (unsigned field = 0; names[length]; ++field) {
        names += length + 1;
        length = strcspn(names, " ");
        const unsigned of = tensor_named(problem, names, length);
        if (of == problem->manifest->tensor_count) continue;
        if (bytes) add(&problem->tensors[i], field, back ? -at[of] : at[of], bytes);
    }
    return true;
}

int addresses_upload(tmagen_device *device, const struct ref_problem *problem, unsigned i,
                     const uint64_t *at, uint64_t to) {
    const struct ref_tensor *tensor = &problem->tensors[i];
    if (!move(problem, i, at, false, NULL))
        return tmagen_memory_upload(device, to, tensor->data, tensor->bytes);
    void *copy = malloc(tensor->bytes);
    if (!copy) return tmg_fail_memory();
    memcpy(copy, tensor->data, tensor->bytes);
    move(problem, i, at, false, copy);
    const int status = tmagen_memory_upload(device, to, copy, tensor->bytes);
    free(copy);
    return status;
}

void addresses_drop(const struct ref_problem *problem, unsigned i, const uint64_t *at,
                    void *bytes) {
    move(problem, i, at, true, bytes);
}
