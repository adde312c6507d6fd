// What a kernel takes, for bindings: the manifest's rows in structs that can grow.
// A signature is a manifest: nothing is copied until it is asked for.
#include <stdlib.h>
#include <string.h>

#include "runtime/binding.h"
#include "runtime/error.h"
#include "runtime/kernel.h"
#include "runtime/set.h"
#include "runtime/sized.h"

static const struct tmg_manifest *manifest_of(const tmagen_signature *signature) {
    return (const struct tmg_manifest *)(const void *)signature;
}

const tmagen_signature *tmagen_kernel_signature(const tmagen_kernel *kernel) {
    return kernel ? (const void *)kernel->manifest : NULL;
}

// What a set is, stays as it is: that it is read only now cannot be seen.
const tmagen_signature *tmagen_set_signature(const tmagen_set *set) {
    return set ? (const void *)tmg_set_interface((tmagen_set *)set) : NULL;
}

static const json_t *roles_of(const struct tmg_manifest *manifest) {
    return json_object_get(manifest->document, "roles");
}

static unsigned count_scalars(const struct tmg_manifest *manifest) {
    unsigned count = 0;
    for (unsigned i = 0; i < manifest->param_count; ++i)
        count += manifest->params[i].kind == TMG_PARAM_SCALAR;
    return count;
}

static int fail_missing(void) {
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the signature or the result is missing");
}

int tmagen_signature_get_info_sized(const tmagen_signature *signature, tmagen_signature_info *info,
                                    size_t info_size) {
    const struct tmg_manifest *manifest = manifest_of(signature);
    if (!manifest || !info) return fail_missing();
    const tmagen_signature_info own = {.name = manifest->name,
                                       .family = manifest->family,
                                       .arch = manifest->arch,
                                       .source_sha256 = manifest->source_sha256,
                                       .dim_count = manifest->dim_count,
                                       .tensor_count = manifest->tensor_count,
                                       .scalar_count = count_scalars(manifest),
                                       .op_count = manifest->op_count,
                                       .role_count = (unsigned)json_array_size(roles_of(manifest)),
                                       .splits = (int)manifest->grid.splits,
                                       .max_splits = (int)manifest->grid.max_splits,
                                       .dependent_launch = manifest->dependent_launch,
                                       .varies_with_sms = manifest->varies_with_sms,
                                       .varies_with_splits = manifest->varies_with_splits};
    return tmg_give_struct("tmagen_signature_info", &own, sizeof own, info, info_size, sizeof own);
}

// ---- Rows

// Whether there is a row [index] of [count], and a place for it.
static int check_row(const struct tmg_manifest *manifest, const char *what, unsigned index,
                     unsigned count, const void *info) {
    if (!info) return fail_missing();
    if (index < count) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: %s %u; it has %u", manifest->name, what, index,
                    count);
}

static tmagen_extent extent_of(const struct tmg_extent *extent) {
    return (tmagen_extent){extent->dim, extent->times, extent->plus, extent->by};
}

int tmagen_signature_get_dim_sized(const tmagen_signature *signature, unsigned index,
                                   tmagen_dim_info *info, size_t info_size) {
    const struct tmg_manifest *manifest = manifest_of(signature);
    if (!manifest) return fail_missing();
    const int status = check_row(manifest, "dim", index, manifest->dim_count, info);
    if (status) return status;
    const struct tmg_dim *dim = &manifest->dims[index];
    const tmagen_dim_info own = {.name = dim->name,
                                 .value = dim->value,
                                 .multiple_of = dim->multiple_of,
                                 .most = dim->most,
                                 .derived = dim->derived,
                                 .rule = dim->derived ? extent_of(&dim->rule)
                                                      : (tmagen_extent){-1, 0, 0, 1}};
    return tmg_give_struct("tmagen_dim_info", &own, sizeof own, info, info_size, sizeof own);
}

int tmagen_signature_get_tensor_sized(const tmagen_signature *signature, unsigned index,
                                      tmagen_tensor_info *info, size_t info_size) {
    const struct tmg_manifest *manifest = manifest_of(signature);
    if (!manifest) return fail_missing();
    const int status = check_row(manifest, "tensor", index, manifest->tensor_count, info);
    if (status) return status;
    const struct tmg_tensor *tensor = &manifest->tensors[index];
    tmagen_tensor_info own = {.name = tensor->name,
                              .dtype = tmg_dtypes[tensor->dtype].name,
                              .layout = tmg_layout,
                              .bits = (int)tmg_dtypes[tensor->dtype].bits,
                              .rank = tensor->rank,
                              .reads = tensor->reads,
                              .writes = tensor->writes,
                              .alignment = tensor->alignment,
                              .stride_bytes_multiple = tensor->stride_bytes_multiple,
                              .takes_gaps = tensor->takes_gaps};
    for (int axis = 0; axis < tensor->rank; ++axis) own.dims[axis] = extent_of(&tensor->dims[axis]);
    return tmg_give_struct("tmagen_tensor_info", &own, sizeof own, info, info_size, sizeof own);
}

int tmagen_signature_get_scalar_sized(const tmagen_signature *signature, unsigned index,
                                      tmagen_scalar_info *info, size_t info_size) {
    const struct tmg_manifest *manifest = manifest_of(signature);
    if (!manifest) return fail_missing();
    const int status = check_row(manifest, "scalar", index, count_scalars(manifest), info);
    if (status) return status;
    const struct tmg_param *param = manifest->params;
    for (unsigned left = index; param->kind != TMG_PARAM_SCALAR || left--;) ++param;
    const tmagen_scalar_info own = {.name = param->name,
                                    .type = tmg_value_names[param->type],
                                    .has_default = param->has_default,
                                    .value = param->value};
    return tmg_give_struct("tmagen_scalar_info", &own, sizeof own, info, info_size, sizeof own);
}

int tmagen_signature_get_op_sized(const tmagen_signature *signature, unsigned index,
                                  tmagen_op_info *info, size_t info_size) {
    const struct tmg_manifest *manifest = manifest_of(signature);
    if (!manifest) return fail_missing();
    const int status = check_row(manifest, "op", index, manifest->op_count, info);
    if (status) return status;
    const struct tmg_op *op = &manifest->ops[index];
    tmagen_op_info own = {
        .name = op->name, .tensor_count = op->tensor_count, .scalar_count = op->scalar_count};
    for (unsigned i = 0; i < op->tensor_count; ++i)
        own.tensors[i] = manifest->tensors[op->tensors[i]].name;
    for (unsigned i = 0; i < op->scalar_count; ++i)
        own.scalars[i] = manifest->params[op->scalars[i]].name;
    return tmg_give_struct("tmagen_op_info", &own, sizeof own, info, info_size, sizeof own);
}

int tmagen_signature_get_role_sized(const tmagen_signature *signature, unsigned index,
                                    tmagen_role_info *info, size_t info_size) {
    const struct tmg_manifest *manifest = manifest_of(signature);
    if (!manifest) return fail_missing();
    const json_t *roles = roles_of(manifest);
    const int status = check_row(manifest, "role", index, (unsigned)json_array_size(roles), info);
    if (status) return status;
    const json_t *role = json_array_get(roles, index);
    const tmagen_role_info own = {.name = json_string_value(json_object_get(role, "name")),
                                  .first_warp =
                                      (int)json_integer_value(json_object_get(role, "first_warp")),
                                  .warps = (int)json_integer_value(json_object_get(role, "warps"))};
    return tmg_give_struct("tmagen_role_info", &own, sizeof own, info, info_size, sizeof own);
}

// ---- Resolving

// The launch's tensors in the manifest's order, with a stand-in's address for those that have none.
// [data] gets their own addresses.
static int complete(const struct tmg_manifest *manifest, const tmagen_launch *launch,
                    tmagen_tensor *tensors, tmagen_address *data) {
    tmg_stand_ins(manifest, tensors);
    uint64_t seen = 0;
    for (size_t i = 0; i < launch->tensor_count; ++i) {
        const tmagen_tensor *given = &launch->tensors[i];
        const int index = tmg_find_tensor(manifest, given->name, i);
        if (index < 0 || seen >> index & 1)
            return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: tensor '%s': %s", manifest->name,
                            given->name ? given->name : "(null)",
                            index < 0 ? "the kernel has none of that name" : "is given twice");
        const tmagen_address stand_in = tensors[index].data;
        seen |= UINT64_C(1) << index;
        tensors[index] = *given;
        data[index] = given->data;
        if (!given->data) tensors[index].data = stand_in;
    }
    return TMAGEN_OK;
}

// [tensor] as it is bound, but at [data]. In a launch that has nothing to do it has no strides.
static void fill(const struct tmg_tensor *declared, const struct tmg_bound_tensor *bound,
                 tmagen_address data, tmagen_tensor *tensor) {
    *tensor = (tmagen_tensor){.name = declared->name,
                              .data = data,
                              .rank = declared->rank,
                              .dtype = tmg_dtypes[declared->dtype].name,
                              .layout = tmg_layout};
    memcpy(tensor->dims, bound->dims, sizeof tensor->dims);
    memcpy(tensor->strides, bound->strides, sizeof tensor->strides);
}

static int resolve_own(const struct tmg_manifest *manifest, const tmagen_launch *launch,
                       char *tensors, size_t size, size_t room) {
    tmagen_tensor all[TMG_MAX_TENSORS];
    tmagen_address data[TMG_MAX_TENSORS] = {0};
    struct tmg_binding binding;
    if (!manifest || !launch || !tensors) return fail_missing();
    int status = tmg_check_lists(manifest->name, launch);
    if (!status) status = complete(manifest, launch, all, data);
    tmagen_launch whole = *launch;
    whole.tensors = all;
    whole.tensor_count = manifest->tensor_count;
    if (!status) status = tmg_bind(manifest, &whole, &binding);
    for (unsigned i = 0; i < manifest->tensor_count && i < room && !status; ++i) {
        tmagen_tensor tensor;
        fill(&manifest->tensors[i], &binding.tensors[i], data[i], &tensor);
        status = tmg_give_struct("tmagen_tensor", &tensor, sizeof tensor, tensors + i * size, size,
                                 offsetof(tmagen_tensor, dtype));
    }
    return status;
}

int tmagen_signature_resolve_sized(const tmagen_signature *signature, const tmagen_launch *launch,
                                   uint64_t sizes, tmagen_tensor *tensors, size_t room) {
    struct tmg_own_launch *own = NULL;
    int status = tmg_take_launch(&launch, sizes, &own);
    if (!status)
        status = resolve_own(manifest_of(signature), launch, (char *)tensors, sizes >> 16 & 0xffff,
                             room);
    free(own);
    return status;
}
