// Launches by shape: arguments to a key, the key to what was picked for it, and only for a new one
// the ranking. Addresses are no part of the key but for their alignment.
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/set.h"
#include "runtime/sized.h"

// A pick as a word: 0 is none. 1 is a launch that does nothing, since a size is 0.
enum { PICK_NOTHING = 1, PICK_KERNEL = 2 };

// ---- The key

static uint64_t address_class(tmagen_address address) {
    const uint64_t bits = address | 4096;  // no tensor asks for more
    return bits & -bits;
}

// Writes what distinguishes the tensors to [key], and returns where that ends; NULL for arguments
// that only the slow way can judge.
static uint64_t *key_tensors(const struct tmg_manifest *interface, const tmagen_launch *launch,
                             uint64_t *key) {
    uint64_t seen = 0;
    if (launch->tensor_count != interface->tensor_count) return NULL;
    uint64_t *begin[TMG_MAX_TENSORS];
    for (unsigned i = 0; i < interface->tensor_count; ++i) {
        begin[i] = key;
        key += 2 + 2 * interface->tensors[i].rank;
    }
    for (size_t i = 0; i < launch->tensor_count; ++i) {
        const tmagen_tensor *tensor = &launch->tensors[i];
        const int index = tmg_find_tensor(interface, tensor->name, i);
        if (index < 0 || seen >> index & 1) return NULL;
        const int rank = interface->tensors[index].rank;
        uint64_t *words = begin[index];
        if (tensor->rank && tensor->rank != rank) return NULL;
        if (!tmg_same_elements(&interface->tensors[index], tensor)) return NULL;
        seen |= UINT64_C(1) << index;
        words[0] = address_class(tensor->data) | (uint64_t)!tensor->data << 32;
        words[1] = (uint64_t)tensor->rank;
        for (int axis = 0; axis < rank; ++axis) {
            words[2 + axis] = tensor->rank ? (uint64_t)tensor->dims[axis] : 0;
            words[2 + rank + axis] = (uint64_t)tensor->strides[axis];
        }
    }
    return key;
}

// A word for each dim: its value and one more, 0 where it is not given.
static uint64_t *key_dims(const struct tmg_manifest *interface, const tmagen_launch *launch,
                          uint64_t *key) {
    for (unsigned i = 0; i < interface->dim_count; ++i) key[i] = 0;
    for (size_t i = 0; i < launch->dim_count; ++i) {
        const int index = tmg_find_dim(interface, launch->dims[i].name, i);
        if (index < 0 || key[index] || launch->dims[i].value < 0) return NULL;
        key[index] = (uint64_t)launch->dims[i].value + 1;
    }
    return key + interface->dim_count;
}

static int make_key(tmagen_set *set, const tmagen_launch *launch, int64_t workspace,
                    uint64_t *key) {
    const struct tmg_manifest *interface = set->table->interface;
    uint64_t *at = key_tensors(interface, launch, key);
    if (at) at = key_dims(interface, launch, at);
    if (!at) return 0;
    at[0] = (uint64_t)workspace;
    at[1] = (uint32_t)launch->sms | (uint64_t)(uint32_t)launch->splits << 32;
    at[2] = atomic_load_explicit(&set->generation, memory_order_acquire);
    return 1;
}

// ---- Picking

// Whether what failed would fail for every other kernel as well.
static int is_fatal(int status) {
    return status == TMAGEN_ERROR_DEVICE || status == TMAGEN_ERROR_MEMORY;
}

// Takes the first of [choices] whose kernel can be had; else *kernel stays NULL, and the status is
// the last one's.
static int obtain_first(tmagen_set *set, const struct tmg_choice *choices, unsigned count,
                        struct tmg_choice *choice, tmagen_kernel **kernel) {
    const int compile = (set->flags & TMAGEN_SET_COMPILE) != 0;
    int status = TMAGEN_OK;
    for (unsigned i = 0; i < count; ++i) {
        if (atomic_load(&set->missing[choices[i].kernel])) continue;
        status = tmg_set_obtain(set, choices[i].kernel, compile, kernel);
        if (status == TMAGEN_OK) return *choice = choices[i], TMAGEN_OK;
        if (is_fatal(status)) return status;
    }
    return status;
}

static int refuse_all(const tmagen_set *set, const struct tmg_choice *choices, unsigned count,
                      int status) {
    if (is_fatal(status)) return status;
    return tmg_fail(TMAGEN_ERROR_MISS,
                    "%s: none of the %u kernels that could serve this could be loaded, %s first; "
                    "tmagen_set_load() or `tmagen %s` compiles them%s%s",
                    set->table->name, count, set->table->kernels[choices[0].kernel].name,
                    set->table->name, status ? "; the last: " : "",
                    status ? tmagen_error_last() : "");
}

// [choice] is what was taken; *kernel is NULL where a size is 0.
static int pick_new(tmagen_set *set, const tmagen_launch *launch, int64_t workspace,
                    struct tmg_choice *choice, tmagen_kernel **kernel) {
    struct tmg_choice choices[TMG_CHOICES];
    unsigned count;
    int status = tmg_set_choose(set, launch, workspace, TMG_PICKED, choices, &count);
    *kernel = NULL;
    if (status || !count) return status;
    status = obtain_first(set, choices, count, choice, kernel);
    if (!*kernel && !is_fatal(status) && count == TMG_PICKED) {
        status = tmg_set_choose(set, launch, workspace, TMG_CHOICES, choices, &count);
        if (!status) status = obtain_first(set, choices, count, choice, kernel);
    }
    return *kernel ? TMAGEN_OK : refuse_all(set, choices, count, status);
}

int tmg_set_pick(tmagen_set *set, const tmagen_launch *launch, int64_t workspace,
                 struct tmg_choice *choice, tmagen_kernel **kernel) {
    uint64_t key[TMG_MAX_SET_KEY], word, hash = 0;
    const int keyed = make_key(set, launch, workspace, key);
    if (keyed) {
        hash = tmg_hash_words(key, set->picks.key_words);
        if (tmg_prepared_find(&set->picks, hash, key, &word)) {
            *kernel = NULL;
            if (word == PICK_NOTHING) return TMAGEN_OK;
            choice->kernel = (int)(word >> 32) - PICK_KERNEL;
            choice->splits = (int)(uint32_t)word;
            *kernel = atomic_load_explicit(&set->kernels[choice->kernel], memory_order_acquire);
            return TMAGEN_OK;
        }
    }
    const int status = pick_new(set, launch, workspace, choice, kernel);
    word = !*kernel ? PICK_NOTHING
                    : (uint64_t)(choice->kernel + PICK_KERNEL) << 32 | (uint32_t)choice->splits;
    // what could not be loaded on the way has changed no key: the pick stands until it can be
    if (!status && keyed) tmg_prepared_put(&set->picks, hash, key, &word);
    return status;
}

// The bytes of workspace that the launch brings and that can be used.
static int64_t workspace_of(const tmagen_launch *launch) {
    if (!launch->workspace || launch->workspace % 256 || launch->workspace_bytes > INT64_MAX)
        return 0;
    return (int64_t)launch->workspace_bytes;
}

// The launch that kernel [choice] is given: it may overlap the one before it where it waits for
// that.
static tmagen_launch launch_of(const tmagen_kernel *kernel, const tmagen_launch *launch,
                               const struct tmg_choice *choice) {
    tmagen_launch own = *launch;
    own.splits = choice->splits;
    if (!kernel->manifest->dependent_launch) own.flags &= ~(unsigned)TMAGEN_LAUNCH_OVERLAP;
    if (!kernel->manifest->part_count) own.workspace = own.workspace_bytes = 0;
    return own;
}

static int check(tmagen_set *set, const tmagen_launch *launch) {
    if (!set || !launch) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the set or the launch is missing");
    int status = tmg_device_check(set->device);
    if (!status) status = tmg_set_ready(set);
    return status ? status : tmg_check_lists(set->table->name, launch);
}

// What [launch] runs, and as what; *kernel is NULL where that is nothing.
static int pick_own(tmagen_set *set, const tmagen_launch *launch, tmagen_kernel **kernel,
                    tmagen_launch *own) {
    struct tmg_choice choice;
    int status = check(set, launch);
    if (!status) status = tmg_set_pick(set, launch, workspace_of(launch), &choice, kernel);
    if (!status && *kernel) *own = launch_of(*kernel, launch, &choice);
    return status;
}

static int launch_own(tmagen_set *set, void *stream, const tmagen_launch *launch) {
    tmagen_kernel *kernel;
    tmagen_launch own;
    const int status = pick_own(set, launch, &kernel, &own);
    return status || !kernel ? status : tmagen_kernel_launch(kernel, stream, &own);
}

int tmagen_set_launch_sized(tmagen_set *set, void *stream, const tmagen_launch *launch,
                            uint64_t sizes) {
    struct tmg_own_launch *room = NULL;
    if (sizes == TMAGEN_LAUNCH_SIZES) return launch_own(set, stream, launch);
    int status = tmg_take_launch(&launch, sizes, &room);
    if (!status) status = launch_own(set, stream, launch);
    free(room);
    return status;
}

int tmg_set_prepare(tmagen_set *set, const tmagen_launch *launch) {
    tmagen_kernel *kernel;
    tmagen_launch own;
    const int status = pick_own(set, launch, &kernel, &own);
    return status || !kernel ? status : tmg_kernel_prepare(kernel, &own);
}

// ---- What launches would be given

int tmg_set_picked(tmagen_set *set, const tmagen_launch *launch, struct tmg_picked *picked) {
    struct tmg_choice choice;
    tmagen_kernel *kernel;
    *picked = (struct tmg_picked){.manifest = NULL};
    int status = check(set, launch);
    if (!status) status = tmg_set_pick(set, launch, -1, &choice, &kernel);
    if (status || !kernel) return status;
    picked->manifest = kernel->manifest;
    picked->splits = choice.splits;
    const tmagen_launch own = launch_of(kernel, launch, &choice);
    return tmg_kernel_layout(kernel, &own, &picked->layout);
}

int tmagen_set_workspace_sized(tmagen_set *set, const tmagen_launch *launch, uint64_t sizes,
                               size_t *bytes) {
    struct tmg_own_launch *room = NULL;
    struct tmg_picked picked;
    if (!bytes) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the result is missing");
    int status = tmg_take_launch(&launch, sizes, &room);
    if (!status) status = tmg_set_picked(set, launch, &picked);
    if (!status) *bytes = (size_t)picked.layout.bytes;
    free(room);
    return status;
}

static tmagen_choice shown(const tmagen_set *set, const struct tmg_choice *choice) {
    const int index = choice->kernel;
    const int loaded = atomic_load(&set->kernels[index]) ? 1 : 0;
    return (tmagen_choice){.kernel = set->table->kernels[index].name,
                           .splits = choice->splits,
                           .why = choice->why,
                           .loaded = loaded ? 1 : -atomic_load(&set->missing[index]),
                           .us = choice->us,
                           .tuned_us = choice->tuned_us,
                           .bound = choice->binds < TMG_BOUNDS ? tmg_bound_name(choice->binds) : "",
                           .workspace_bytes = (size_t)choice->workspace};
}

static int rank_own(tmagen_set *set, const tmagen_launch *launch, char *choices, size_t size,
                    size_t room, size_t *count) {
    struct tmg_choice ranked[TMG_CHOICES];
    unsigned found;
    int status = check(set, launch);
    if (!status) status = tmg_set_choose(set, launch, -1, TMG_CHOICES, ranked, &found);
    if (status) return status;
    const size_t given = found < room ? found : room;
    for (size_t i = 0; i < given && !status; ++i) {
        const tmagen_choice choice = shown(set, &ranked[i]);
        status = tmg_give_struct("tmagen_choice", &choice, sizeof choice, choices + i * size, size,
                                 sizeof choice);
    }
    if (!status) *count = given;
    return status;
}

int tmagen_set_rank_sized(tmagen_set *set, const tmagen_launch *launch, uint64_t sizes,
                          tmagen_choice *choices, size_t choice_size, size_t room, size_t *count) {
    struct tmg_own_launch *own = NULL;
    if (!choices || !count) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the result is missing");
    int status = tmg_take_launch(&launch, sizes, &own);
    if (!status) status = rank_own(set, launch, (char *)choices, choice_size, room, count);
    free(own);
    return status;
}
