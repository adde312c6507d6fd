// Inputs are cut out of one random block at random places: the device copies faster than a host
// draws. A family whose inputs are not simply random gets what its reference fills in, once for all
// copies.
#include "measure/rotation.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "measure/addresses.h"
#include "measure/random.h"

enum { BLOCK_MAX = 1 << 27, SETS_MAX = 1024, ALIGNMENT = 1024 };

// Of the block, half of which is the longest piece; less where a device has little memory.
static size_t block_bytes(const struct gpu *gpu) {
    return gpu_share(gpu, BLOCK_MAX) / (2 * ALIGNMENT) * (2 * ALIGNMENT);
}

static size_t round_up(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

// Draws the block of [dtype] and brings it to the device.
static int make_block(struct gpu *gpu, struct rotation_source *source, enum tmg_dtype_id dtype) {
    if (source->blocks[dtype]) return TMAGEN_OK;
    const size_t bytes = block_bytes(gpu);
    const double scale = source->scale > 0 ? source->scale : 1;
    void *host = malloc(bytes);
    if (!host || random_scaled(dtype, scale, host, bytes / tmg_dtype_bytes(dtype), source->seed)) {
        free(host);
        return tmg_fail_memory();
    }
    int status = tmagen_memory_alloc(gpu->device, bytes, &source->blocks[dtype]);
    if (status == TMAGEN_OK) {
        status = tmagen_memory_upload(gpu->device, source->blocks[dtype], host, bytes);
    }
    if (status == TMAGEN_OK) status = tmagen_device_synchronize(gpu->device);
    free(host);
    return status;
}

// Fills [bytes] at [to] from the block, piece by piece, each from another place.
static int cut(struct gpu *gpu, tmagen_address block, tmagen_address to, size_t bytes,
               uint64_t seed) {
    const size_t longest = block_bytes(gpu) / 2;
    const int64_t places = (int64_t)(longest / ALIGNMENT);
    for (size_t done = 0, piece = 0; done < bytes; done += longest, ++piece) {
        const size_t rest = bytes - done, size = rest < longest ? rest : longest;
        const size_t from = (size_t)random_below(seed, piece, places) * ALIGNMENT;
        const int status = tmg_driver_check(
            gpu->driver->cuMemcpyDtoDAsync(to + done, block + from, size, gpu->stream),
            "cuMemcpyDtoDAsync");
        if (status != TMAGEN_OK) return status;
    }
    return TMAGEN_OK;
}

// Whether the reference draws tensor [number] of [problem] itself; one without code draws none.
static bool is_drawn(const struct ref_problem *problem, unsigned number) {
    const struct reference *reference = problem->reference;
    const struct tmg_tensor *tensor = problem->tensors[number].declared;
    return (reference->code || reference->kernel) && tensor->reads &&
           reference_draws(reference, tensor->name);
}

// All that the reference does not draw.
static int fill_random(struct gpu *gpu, struct rotation_source *source, struct rotation *rotation) {
    for (unsigned i = 0; i < rotation->problem.manifest->tensor_count; ++i) {
        const struct ref_tensor *tensor = &rotation->problem.tensors[i];
        if (!tensor->declared->reads || is_drawn(&rotation->problem, i)) continue;
        int status = make_block(gpu, source, tensor->dtype);
        for (int set = 0; set < rotation->sets && status == TMAGEN_OK; ++set) {
            const uint64_t seed = random_seed(source->seed, (uint64_t)set * TMG_MAX_TENSORS + i);
            status = cut(gpu, source->blocks[tensor->dtype], rotation_address(rotation, set, i),
                         tensor->bytes, seed);
        }
        if (status != TMAGEN_OK) return status;
    }
    return gpu_wait(gpu);
}

// Brings what the reference fills in to all copies: all that is read or, unless [all], what the
// reference draws itself.
static int fill_by_reference(struct gpu *gpu, uint64_t seed, struct rotation *rotation, bool all) {
    struct ref_problem *problem = &rotation->problem;
    bool wanted[TMG_MAX_TENSORS];
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i)
        wanted[i] = problem->tensors[i].declared->reads && (all || is_drawn(problem, i));
    int status = ref_problem_fill_some(problem, seed, wanted);
    for (int set = 0; set < rotation->sets && status == TMAGEN_OK; ++set) {
        uint64_t at[TMG_MAX_TENSORS];
        for (unsigned i = 0; i < problem->manifest->tensor_count; ++i)
            at[i] = rotation_address(rotation, set, i);
        for (unsigned i = 0; i < problem->manifest->tensor_count && status == TMAGEN_OK; ++i) {
            if (!wanted[i]) continue;
            status = addresses_upload(gpu->device, problem, i, at, at[i]);
        }
    }
    ref_problem_free(problem);
    return status;
}

static bool draws_any(const struct ref_problem *problem) {
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i)
        if (is_drawn(problem, i)) return true;
    return false;
}

int rotation_make(struct gpu *gpu, struct rotation_source *source,
                  const struct ref_problem *problem, struct rotation *rotation) {
    *rotation = (struct rotation){.problem = *problem};
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i) {
        rotation->offsets[i] = rotation->set_bytes;
        rotation->set_bytes += round_up(problem->tensors[i].bytes);
    }
    size_t enough = (size_t)gpu->info.l2_bytes * 2;
    if (enough < (size_t)256 << 20) enough = (size_t)256 << 20;
    const size_t sets = gpu_share(gpu, enough) / rotation->set_bytes + 1;
    rotation->sets = sets < 2 ? 2 : sets > SETS_MAX ? SETS_MAX : (int)sets;
    int status = tmagen_memory_alloc(gpu->device, rotation->set_bytes * (size_t)rotation->sets,
                                     &rotation->memory);
    if (status == TMAGEN_OK) status = rotation_poison(gpu, rotation);
    const bool all = *problem->inputs;
    if (status == TMAGEN_OK && !all) status = fill_random(gpu, source, rotation);
    if (status == TMAGEN_OK && (all || draws_any(problem)))
        status = fill_by_reference(gpu, source->seed, rotation, all);
    // an upload may end before its data has arrived, and the measuring stream does not wait for
    // others
    if (status == TMAGEN_OK) status = tmagen_device_synchronize(gpu->device);
    if (status != TMAGEN_OK) rotation_free(gpu, rotation);
    return status;
}

void rotation_free(struct gpu *gpu, struct rotation *rotation) {
    tmagen_memory_free(gpu->device, rotation->memory);
    rotation->memory = 0;
}

void rotation_source_free(struct gpu *gpu, struct rotation_source *source) {
    for (int i = 0; i < TMG_DTYPES_OF_HOST; ++i) {
        tmagen_memory_free(gpu->device, source->blocks[i]);
        source->blocks[i] = 0;
    }
}

tmagen_address rotation_address(const struct rotation *rotation, int set, unsigned i) {
    return rotation->memory + rotation->set_bytes * (size_t)set + rotation->offsets[i];
}

int rotation_smallest(struct gpu *gpu, struct rotation_source *source,
                      const struct tmg_manifest *manifest, const struct reference *reference,
                      struct rotation *rotation, tmagen_tensor *tensors) {
    struct ref_problem problem;
    struct ref_shapes shapes = {0};
    reference_shapes(reference, manifest, "small", &shapes);
    int status = shapes.count ? ref_problem_make(manifest, reference, shapes.shapes[0], 0, &problem)
                              : tmg_fail(TMAGEN_ERROR_ARGUMENT, "no shape");
    ref_shapes_free(&shapes);
    if (status == TMAGEN_OK) status = rotation_make(gpu, source, &problem, rotation);
    for (unsigned i = 0; status == TMAGEN_OK && i < manifest->tensor_count; ++i) {
        const struct ref_tensor *from = &problem.tensors[i];
        tensors[i] = (tmagen_tensor){.name = from->declared->name, .rank = from->rank};
        tensors[i].data = rotation_address(rotation, 0, i);
        memcpy(tensors[i].dims, from->dims, sizeof tensors[i].dims);
        memcpy(tensors[i].strides, from->strides, sizeof tensors[i].strides);
    }
    return status;
}

int rotation_poison(struct gpu *gpu, const struct rotation *rotation) {
    for (int set = 0; set < rotation->sets; ++set) {
        for (unsigned i = 0; i < rotation->problem.manifest->tensor_count; ++i) {
            const struct ref_tensor *tensor = &rotation->problem.tensors[i];
            if (!tensor->declared->writes || tensor->declared->reads) continue;
            const int status =
                tmg_driver_check(gpu->driver->cuMemsetD8Async(rotation_address(rotation, set, i),
                                                              0xff, tensor->bytes, gpu->stream),
                                 "cuMemsetD8Async");
            if (status != TMAGEN_OK) return status;
        }
    }
    return gpu_wait(gpu);
}
