// Checks a launch's tensors and dims and derives those that were not given.
// All rules are here, so that a kernel never runs on shapes that it was not generated for.
#include "runtime/binding.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/error.h"

enum { UNKNOWN = -1 };

const char tmg_layout[] = "rows";

int tmg_find_tensor(const struct tmg_manifest *manifest, const char *name, size_t hint) {
    if (!name) return -1;
    if (hint < manifest->tensor_count && !strcmp(manifest->tensors[hint].name, name))
        return (int)hint;
    return tmg_manifest_tensor(manifest, name);
}

int tmg_find_dim(const struct tmg_manifest *manifest, const char *name, size_t hint) {
    if (!name) return -1;
    if (hint < manifest->dim_count && !strcmp(manifest->dims[hint].name, name)) return (int)hint;
    return tmg_manifest_dim(manifest, name);
}

static int fail(const struct tmg_manifest *manifest, const char *what, const char *name,
                const char *rule) {
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: %s '%s': %s", manifest->name, what,
                    name ? name : "(null)", rule);
}

// ---- What a tensor should look like

enum { EXTENT_TEXT = TMG_MAX_NAME + 64 };

// "m", "128", "ceil(k / 128)": a dim that follows from another is what it follows by.
static void extent_text(const struct tmg_manifest *manifest, const struct tmg_extent *extent,
                        char text[EXTENT_TEXT]) {
    char inner[EXTENT_TEXT] = "", times[16] = "", plus[16] = "";
    if (extent->dim < 0) {
        snprintf(text, EXTENT_TEXT, "%d", extent->plus);
        return;
    }
    const struct tmg_dim *dim = &manifest->dims[extent->dim];
    if (dim->derived && extent->times == 1 && extent->plus == 0 && extent->by == 1) {
        extent_text(manifest, &dim->rule, text);
        return;
    }
    if (extent->times != 1) snprintf(times, sizeof times, "%d ", extent->times);
    if (extent->plus) snprintf(plus, sizeof plus, " %+d", extent->plus);
    snprintf(inner, sizeof inner, "%s%.*s%s", times, TMG_MAX_NAME, dim->name, plus);
    if (extent->by == 1)
        snprintf(text, EXTENT_TEXT, "%s", inner);
    else
        snprintf(text, EXTENT_TEXT, "ceil(%.*s / %d)", TMG_MAX_NAME + 32, inner, extent->by);
}

// Adds to the last error, of [status], the layout that is wanted: "; a_scales[m, ceil(k / 128)]".
static int fail_layout(const struct tmg_manifest *manifest, const struct tmg_tensor *tensor,
                       int status) {
    char message[1024], text[EXTENT_TEXT];
    size_t length;
    if (status != TMAGEN_ERROR_ARGUMENT) return status;
    snprintf(message, sizeof message, "%.512s; %s", tmagen_error_last(), tensor->name);
    for (int axis = 0; axis < tensor->rank; ++axis) {
        extent_text(manifest, &tensor->dims[axis], text);
        length = strlen(message);
        snprintf(message + length, sizeof message - length, "%s%s", axis ? ", " : "[", text);
    }
    return tmg_fail(status, "%s]", message);
}

// ---- Dims

static int set_dim(struct tmg_binding *binding, int index, int64_t value, const char *where) {
    const struct tmg_dim *dim = &binding->manifest->dims[index];
    if (binding->dims[index] == value) return TMAGEN_OK;
    const char *name = binding->manifest->name;
    if (binding->dims[index] != UNKNOWN)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: dim '%s' is %" PRId64 ", but %" PRId64 " by %s%s", name, dim->name,
                        binding->dims[index], value, where,
                        dim->value > 0 ? " (the kernel is generated for the first)" : "");
    if (value < 0 || value > dim->most)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: dim '%s' is %" PRId64 "; legal: 0 to %" PRId64
                        ", the largest that the kernel computes with",
                        name, dim->name, value, dim->most);
    if (value % dim->multiple_of)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: dim '%s' is %" PRId64 "; legal: multiples of %" PRId64, name,
                        dim->name, value, dim->multiple_of);
    binding->dims[index] = value;
    return TMAGEN_OK;
}

static int take_dims(struct tmg_binding *binding, const tmagen_launch *launch) {
    const struct tmg_manifest *manifest = binding->manifest;
    uint64_t given = 0;  // a bit a dim
    for (unsigned i = 0; i < manifest->dim_count; ++i) binding->dims[i] = manifest->dims[i].value;
    for (size_t i = 0; i < launch->dim_count; ++i) {
        int index = tmg_find_dim(manifest, launch->dims[i].name, i);
        if (index < 0)
            return fail(manifest, "dim", launch->dims[i].name, "the kernel has none of that name");
        if (given >> index & 1)
            return fail(manifest, "dim", launch->dims[i].name, "is given twice");
        given |= UINT64_C(1) << index;
        int status = set_dim(binding, index, launch->dims[i].value, "the launch's dims");
        if (status) return status;
    }
    return TMAGEN_OK;
}

// Whether [extent] is a dim, not known so far, in whole parts: two elements of 4 bits to a byte,
// four of 6 bits to three.
static int is_whole(const struct tmg_binding *binding, const struct tmg_extent *extent) {
    return extent->dim >= 0 && extent->by > 1 && extent->plus == 0 &&
           binding->dims[extent->dim] == UNKNOWN &&
           binding->manifest->dims[extent->dim].multiple_of % extent->by == 0;
}

// What the tensor's dimension [axis], of the size [size], says of the dim that it is made from.
static int take_extent(struct tmg_binding *binding, const struct tmg_tensor *tensor, int axis,
                       int64_t size) {
    const struct tmg_extent *extent = &tensor->dims[axis];
    char where[TMG_MAX_NAME + 32] = "tensor '";
    strcat(strcat(where, tensor->name), "'");
    if (is_whole(binding, extent) && size <= TMG_MAX_EXTENT)
        return set_dim(binding, extent->dim, size * extent->by / extent->times, where);
    if (extent->dim < 0 || extent->by != 1 || (size - extent->plus) % extent->times)
        return TMAGEN_OK;  // checked later
    const int known = binding->dims[extent->dim] != UNKNOWN;
    const int status = set_dim(binding, extent->dim, (size - extent->plus) / extent->times, where);
    return known ? fail_layout(binding->manifest, tensor, status) : status;
}

// The first tensor that has dim [index] as a dimension, or NULL.
static const struct tmg_tensor *tensor_with(const struct tmg_manifest *manifest, int index) {
    for (unsigned i = 0; i < manifest->tensor_count; ++i)
        for (int axis = 0; axis < manifest->tensors[i].rank; ++axis)
            if (manifest->tensors[i].dims[axis].dim == index) return &manifest->tensors[i];
    return NULL;
}

// A dim that follows from others now does.
static int derive_dim(struct tmg_binding *binding, int index) {
    const struct tmg_manifest *manifest = binding->manifest;
    const struct tmg_extent *extent = &manifest->dims[index].rule;
    const int64_t value = tmg_extent_value(extent, binding->dims);
    if (set_dim(binding, index, value, "") == TMAGEN_OK) return TMAGEN_OK;
    const struct tmg_tensor *tensor = tensor_with(manifest, index);
    char rule[EXTENT_TEXT];
    extent_text(manifest, extent, rule);
    const int status = set_dim(binding, index, value, rule);
    return tensor ? fail_layout(manifest, tensor, status) : status;
}

// Dims that follow from others now do. All are known then, or an error.
static int derive_dims(struct tmg_binding *binding) {
    const struct tmg_manifest *manifest = binding->manifest;
    int status = TMAGEN_OK;
    for (unsigned i = 0; i < manifest->dim_count && !status; ++i) {
        const struct tmg_dim *dim = &manifest->dims[i];
        if (dim->derived)
            status = derive_dim(binding, (int)i);
        else if (binding->dims[i] == UNKNOWN)
            return fail(manifest, "dim", dim->name,
                        "is neither among the launch's dims nor follows from a tensor's");
    }
    return status;
}

// What the launch chooses beyond its sizes.
static int take_choices(struct tmg_binding *binding, const tmagen_launch *launch) {
    const struct tmg_grid *grid = &binding->manifest->grid;
    binding->sms = launch->sms;
    binding->splits = launch->splits ? launch->splits : grid->splits;
    if (binding->sms < 0)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: sms is %" PRId64 "; legal: 0 and up",
                        binding->manifest->name, binding->sms);
    if (binding->splits < 1 || binding->splits > grid->max_splits)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: splits is %" PRId64 "; legal: 1 to %" PRId64,
                        binding->manifest->name, binding->splits, grid->max_splits);
    return TMAGEN_OK;
}

// ---- Tensors

int tmg_same_elements(const struct tmg_tensor *tensor, const tmagen_tensor *given) {
    return (!given->dtype || !strcmp(given->dtype, tmg_dtypes[tensor->dtype].name)) &&
           (!given->layout || !strcmp(given->layout, tmg_layout));
}

static int check_elements(const struct tmg_manifest *manifest, const struct tmg_tensor *tensor,
                          const tmagen_tensor *given) {
    if (tmg_same_elements(tensor, given)) return TMAGEN_OK;
    const char *wanted = tmg_dtypes[tensor->dtype].name;
    const int dtype = given->dtype && strcmp(given->dtype, wanted);
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: tensor '%s': its %s is '%.64s'; legal: %s",
                    manifest->name, tensor->name, dtype ? "dtype" : "layout",
                    dtype ? given->dtype : given->layout, dtype ? wanted : tmg_layout);
}

// Finds each manifest tensor's argument.
static int match_tensors(const struct tmg_manifest *manifest, const tmagen_launch *launch,
                         const tmagen_tensor *given[TMG_MAX_TENSORS]) {
    memset(given, 0, sizeof(*given) * TMG_MAX_TENSORS);
    for (size_t i = 0; i < launch->tensor_count; ++i) {
        const tmagen_tensor *tensor = &launch->tensors[i];
        int index = tmg_find_tensor(manifest, tensor->name, i);
        if (index < 0)
            return fail(manifest, "tensor", tensor->name, "the kernel has none of that name");
        if (given[index]) return fail(manifest, "tensor", tensor->name, "is given twice");
        const int status = check_elements(manifest, &manifest->tensors[index], tensor);
        if (status) return fail_layout(manifest, &manifest->tensors[index], status);
        given[index] = tensor;
    }
    for (unsigned i = 0; i < manifest->tensor_count; ++i)
        if (!given[i]) return fail(manifest, "tensor", manifest->tensors[i].name, "is missing");
    return TMAGEN_OK;
}

static int check_rank(const struct tmg_manifest *manifest, const struct tmg_tensor *tensor,
                      const tmagen_tensor *given) {
    if (given->rank == 0 || given->rank == tensor->rank) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                    "%s: tensor '%s': rank %d; legal: %d, or 0 for the manifest's", manifest->name,
                    tensor->name, given->rank, tensor->rank);
}

static int fail_size(const struct tmg_manifest *manifest, const struct tmg_tensor *tensor, int axis,
                     int64_t size, int64_t least, int64_t most) {
    return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                    "%s: tensor '%s': dimension %d is %" PRId64 "; legal: %" PRId64 " to %" PRId64,
                    manifest->name, tensor->name, axis, size, least, most);
}

static int take_tensor_dims(struct tmg_binding *binding, const struct tmg_tensor *tensor,
                            const tmagen_tensor *given) {
    int status =
        fail_layout(binding->manifest, tensor, check_rank(binding->manifest, tensor, given));
    for (int axis = 0; axis < given->rank && !status; ++axis) {
        int64_t size = given->dims[axis];
        int legal = size >= 0 && size <= TMG_MAX_EXTENT;
        status = legal ? take_extent(binding, tensor, axis, size)
                       : fail_size(binding->manifest, tensor, axis, size, 0, TMG_MAX_EXTENT);
    }
    return status;
}

static int check_sizes(struct tmg_binding *binding, const struct tmg_tensor *tensor,
                       const tmagen_tensor *given, struct tmg_bound_tensor *bound) {
    for (int axis = 0; axis < tensor->rank; ++axis) {
        int64_t size = tmg_extent_value(&tensor->dims[axis], binding->dims);
        if (given->rank && given->dims[axis] != size)
            return fail_size(binding->manifest, tensor, axis, given->dims[axis], size, size);
        if (size < 0 || size > TMG_MAX_EXTENT)
            return fail_size(binding->manifest, tensor, axis, size, 0, TMG_MAX_EXTENT);
        bound->dims[axis] = size;
        if (size == 0) binding->empty = 1;
    }
    return TMAGEN_OK;
}

// The strides of a tensor without gaps.
static int contiguous_strides(const struct tmg_manifest *manifest, const struct tmg_tensor *tensor,
                              struct tmg_bound_tensor *bound) {
    int64_t stride = 1;
    for (int axis = tensor->rank - 1; axis >= 0; --axis) {
        bound->strides[axis] = stride;
        if (stride > INT64_MAX / 16 / bound->dims[axis])
            return fail(manifest, "tensor", tensor->name, "has more bytes than an address space");
        stride *= bound->dims[axis];
    }
    return TMAGEN_OK;
}

static int has_strides(const struct tmg_tensor *tensor, const tmagen_tensor *given) {
    for (int axis = 0; axis < tensor->rank; ++axis)
        if (given->strides[axis]) return 1;
    return 0;
}

static int64_t greatest_common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// The stride over [axis], which has more than one element or is the kernel's to step over.
static int check_stride(const struct tmg_manifest *manifest, const struct tmg_tensor *tensor,
                        int axis, struct tmg_bound_tensor *bound) {
    int64_t bits = tmg_dtypes[tensor->dtype].bits, *stride = &bound->strides[axis];
    const int64_t end = (INT64_C(8) << 40) / bits;         // 2^40 bytes
    int64_t multiple = 8 * tensor->stride_bytes_multiple;  // in bits, then in elements
    multiple /= greatest_common_divisor(multiple, bits);
    if (bound->dims[axis] == 1) {  // never stepped over: any legal value will do
        if (*stride <= 0 || *stride > end / 2) *stride = multiple;
        *stride = (*stride + multiple - 1) / multiple * multiple;
        return TMAGEN_OK;
    }
    int64_t least = tensor->writes ? bound->dims[tensor->rank - 1] : 1;
    if (*stride < least || *stride >= end)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: tensor '%s': stride %d is %" PRId64 " elements; legal: %" PRId64
                        " to %" PRId64,
                        manifest->name, tensor->name, axis, *stride, least, end - 1);
    if (*stride % multiple)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: tensor '%s': stride %d is %" PRId64 " elements, %g bytes; "
                        "legal: multiples of %" PRId64 " bytes",
                        manifest->name, tensor->name, axis, *stride, (double)(*stride * bits) / 8,
                        tensor->stride_bytes_multiple);
    return TMAGEN_OK;
}

static int bind_strides(const struct tmg_manifest *manifest, const struct tmg_tensor *tensor,
                        const tmagen_tensor *given, struct tmg_bound_tensor *bound) {
    int status = contiguous_strides(manifest, tensor, bound), last = tensor->rank - 1;
    if (has_strides(tensor, given))
        memcpy(bound->strides, given->strides, sizeof(int64_t) * (size_t)tensor->rank);
    if (!status && bound->strides[last] != 1 && bound->dims[last] > 1)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: tensor '%s': stride %d is %" PRId64 "; legal: 1", manifest->name,
                        tensor->name, last, bound->strides[last]);
    bound->strides[last] = 1;
    for (int axis = 0; axis < last && !status; ++axis)
        status = check_stride(manifest, tensor, axis, bound);
    return status;
}

static int check_gaps(const struct tmg_manifest *manifest, const struct tmg_tensor *tensor,
                      const struct tmg_bound_tensor *bound) {
    struct tmg_bound_tensor without = *bound;
    int status = contiguous_strides(manifest, tensor, &without);
    for (int axis = 0; axis < tensor->rank && !status; ++axis)
        if (bound->dims[axis] > 1 && bound->strides[axis] != without.strides[axis])
            return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                            "%s: tensor '%s': stride %d is %" PRId64
                            " elements, but the kernel takes no strides of it; legal: %" PRId64,
                            manifest->name, tensor->name, axis, bound->strides[axis],
                            without.strides[axis]);
    return status;
}

int64_t tmg_span_bytes(const struct tmg_tensor *tensor, const struct tmg_bound_tensor *bound) {
    int64_t last = 0, term;
    for (int axis = 0; axis < tensor->rank; ++axis)
        if (__builtin_mul_overflow(bound->dims[axis] - 1, bound->strides[axis], &term) ||
            __builtin_add_overflow(last, term, &last))
            return -1;
    if (__builtin_mul_overflow(last + 1, (int64_t)tmg_dtypes[tensor->dtype].bits, &term)) return -1;
    return (term - 1) / 8 + 1;
}

static int check_address(const struct tmg_manifest *manifest, const struct tmg_tensor *tensor,
                         const struct tmg_bound_tensor *bound) {
    if (!bound->data) return fail(manifest, "tensor", tensor->name, "its address is 0");
    if (bound->data % (uint64_t)tensor->alignment)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "%s: tensor '%s': the address 0x%" PRIx64 " is no multiple of %" PRId64
                        " bytes",
                        manifest->name, tensor->name, bound->data, tensor->alignment);
    int64_t bytes = tmg_span_bytes(tensor, bound);
    if (bytes < 0 || bound->data > UINT64_MAX - (uint64_t)bytes)
        return fail(manifest, "tensor", tensor->name, "ends beyond the address space");
    return TMAGEN_OK;
}

static int bind_tensor(struct tmg_binding *binding, unsigned index, const tmagen_tensor *given) {
    const struct tmg_manifest *manifest = binding->manifest;
    const struct tmg_tensor *tensor = &manifest->tensors[index];
    struct tmg_bound_tensor *bound = &binding->tensors[index];
    bound->data = given->data;
    int status = bind_strides(manifest, tensor, given, bound);
    if (!status && !tensor->takes_gaps) status = check_gaps(manifest, tensor, bound);
    return status ? status : check_address(manifest, tensor, bound);
}

size_t tmg_stand_ins(const struct tmg_manifest *manifest, tmagen_tensor *tensors) {
    for (unsigned i = 0; i < manifest->tensor_count; ++i)
        tensors[i] = (tmagen_tensor){.name = manifest->tensors[i].name, .data = 1 << 20};
    return manifest->tensor_count;
}

void tmg_ask_at(struct tmg_asked *asked, const struct tmg_manifest *manifest,
                const char (*names)[TMG_MAX_NAME], const int64_t *sizes, unsigned count) {
    tmagen_launch *launch = &asked->launch;
    *launch = (tmagen_launch){.tensors = asked->tensors,
                              .tensor_count = tmg_stand_ins(manifest, asked->tensors),
                              .dims = asked->dims};
    for (unsigned i = 0; i < count; ++i)
        if (names || !manifest->dims[i].derived)
            asked->dims[launch->dim_count++] =
                (tmagen_dim){names ? names[i] : manifest->dims[i].name, sizes[i]};
}

int tmg_bind(const struct tmg_manifest *manifest, const tmagen_launch *launch,
             struct tmg_binding *binding) {
    const tmagen_tensor *given[TMG_MAX_TENSORS];
    memset(binding, 0, sizeof *binding);
    binding->manifest = manifest;
    int status = match_tensors(manifest, launch, given);
    if (!status) status = take_dims(binding, launch);
    for (unsigned i = 0; i < manifest->tensor_count && !status; ++i)
        status = take_tensor_dims(binding, &manifest->tensors[i], given[i]);
    if (!status) status = derive_dims(binding);
    if (!status) status = take_choices(binding, launch);
    for (unsigned i = 0; i < manifest->tensor_count && !status; ++i)
        status = fail_layout(
            manifest, &manifest->tensors[i],
            check_sizes(binding, &manifest->tensors[i], given[i], &binding->tensors[i]));
    for (unsigned i = 0; i < manifest->dim_count && !status; ++i)
        binding->empty |= !binding->dims[i];
    for (unsigned i = 0; i < manifest->tensor_count && !status && !binding->empty; ++i)
        status = fail_layout(manifest, &manifest->tensors[i], bind_tensor(binding, i, given[i]));
    return status;
}

int64_t tmg_bind_part(const struct tmg_part *part, const int64_t *dims,
                      struct tmg_bound_tensor *bound) {
    const int64_t no_number = INT64_MAX, bits = tmg_dtypes[part->matrix.dtype].bits;
    int64_t multiple = 8 * part->matrix.stride_bytes_multiple;  // in bits, then in elements
    int64_t stride = 1;
    multiple /= greatest_common_divisor(multiple, bits);
    for (int axis = part->matrix.rank - 1; axis >= 0; --axis) {
        const int64_t size = tmg_extent_value(&part->matrix.dims[axis], dims);
        if (size < 1 || size > TMG_MAX_EXTENT) return no_number;
        bound->dims[axis] = size;
        bound->strides[axis] = stride;
        if (__builtin_mul_overflow(stride, size, &stride) || stride > INT64_MAX / 16 - multiple)
            return no_number;
        stride = (stride + multiple - 1) / multiple * multiple;
    }
    return stride * bits / 8;
}
