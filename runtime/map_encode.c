// Turns a bound tensor and a box into a tensor map.
// The driver only says "invalid value", so its rules (cuTensorMapEncodeTiled's documentation) are
// checked here first, where they can be named.
#include "runtime/map_encode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cuda_api.h"
#include "runtime/error.h"

// The driver wants the innermost dimension first, and strides in bytes of all but the innermost.
static void fill_args(const struct tmg_tensor *tensor, const struct tmg_param *param,
                      const struct tmg_bound_tensor *bound, struct tmg_tensor_map_args *args) {
    const struct tmg_dtype *dtype = &tmg_dtypes[tensor->dtype];
    const int spread = param->spread == 4   ? CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B
                       : param->spread == 6 ? CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B
                                            : -1;
    *args = (struct tmg_tensor_map_args){.type = param->spread ? spread : dtype->tensor_map_type,
                                         .interleave = param->interleave,
                                         .swizzle = param->swizzle,
                                         .l2_promotion = param->l2_promotion,
                                         .fill = param->fill,
                                         .rank = (uint32_t)tmg_map_rank(tensor, param),
                                         .address = bound->data};
    for (int i = 0; i < tensor->rank; ++i) {
        int axis = tensor->rank - 1 - i;
        args->dims[i] = (uint64_t)bound->dims[axis];
        if (i > 0) args->strides[i - 1] = (uint64_t)bound->strides[axis] * dtype->bits / 8;
    }
    if (param->period) {
        args->dims[2] = args->dims[1] / (uint64_t)param->period;
        args->dims[1] = (uint64_t)param->period;
        args->strides[1] = args->strides[0] * (uint64_t)param->period;
    }
    for (uint32_t i = 0; i < args->rank; ++i) {
        args->box[i] = param->box[args->rank - 1 - i];
        args->element_strides[i] = param->element_strides[args->rank - 1 - i];
    }
    if (param->spread) args->dims[0] = args->dims[0] * dtype->bits / (uint64_t)param->spread;
}

// Makes a map of all rows one of every [apart]th from [row] on.
static void take_apart(struct tmg_tensor_map_args *args, uint64_t row, uint64_t apart, int bits) {
    const uint64_t last = args->dims[1] - 1, first = row < last ? row : last;
    const uint64_t address = args->address + first * args->strides[0], lead = address % 16;
    args->address = address - lead;
    args->dims[0] += lead * 8 / (uint64_t)bits;
    args->dims[1] = (last - first) / apart + 1;
    args->strides[0] *= apart;
}

// The first rule that [args] break, or NULL. Box, swizzle and element strides were checked with the
// manifest.
static const char *broken_rule(const struct tmg_tensor_map_args *args) {
    const bool spread = args->type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B ||
                        args->type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
    if (args->address % 16) return "its address must be a multiple of 16 bytes";
    if (spread && args->dims[0] % 128) return "its rows must be whole 128 of spread elements";
    for (uint32_t i = 0; i < args->rank; ++i)
        if (args->dims[i] < 1 || args->dims[i] > UINT64_C(1) << 32)
            return "its dimensions must be 1 to 2^32";
    for (uint32_t i = 0; i + 1 < args->rank; ++i) {
        if (args->strides[i] % 16) return "its strides must be multiples of 16 bytes";
        if (args->strides[i] >= UINT64_C(1) << 40)
            return "its strides must be less than 2^40 bytes";
    }
    return NULL;
}

// Appends "; LABEL a,b,c" to [text], as far as it fits.
static void append(char *text, size_t size, const char *label, const uint64_t *list,
                   uint32_t count) {
    char item[24];
    strncat(text, "; ", size - strlen(text) - 1);
    strncat(text, label, size - strlen(text) - 1);
    for (uint32_t i = 0; i < count; ++i) {
        snprintf(item, sizeof item, "%s%" PRIu64, i ? "," : " ", list[i]);
        strncat(text, item, size - strlen(text) - 1);
    }
}

static void print_args(const struct tmg_tensor_map_args *args, char *text, size_t size) {
    uint64_t box[TMAGEN_MAX_RANK], steps[TMAGEN_MAX_RANK];
    for (uint32_t i = 0; i < args->rank; ++i) {
        box[i] = args->box[i];
        steps[i] = args->element_strides[i];
    }
    snprintf(text, size, "address 0x%" PRIx64 ", type %d, swizzle %d, l2 promotion %d, fill %d",
             args->address, args->type, args->swizzle, args->l2_promotion, args->fill);
    append(text, size, "innermost first: dims", args->dims, args->rank);
    append(text, size, "strides in bytes", args->strides, args->rank - 1);
    append(text, size, "box", box, args->rank);
    append(text, size, "element strides", steps, args->rank);
}

static int encode_one(const tmagen_device *device, const struct tmg_manifest *manifest,
                      const struct tmg_param *param, const struct tmg_bound_tensor *bound, int row,
                      struct tmg_tensor_map *map) {
    const struct tmg_tensor *tensor =
        param->of_part ? &manifest->parts[param->index].matrix : &manifest->tensors[param->index];
    struct tmg_tensor_map_args args;
    fill_args(tensor, param, bound, &args);
    if (param->rows_apart > 1)
        take_apart(&args, (uint64_t)row, (uint64_t)param->rows_apart,
                   tmg_dtypes[tensor->dtype].bits);
    const char *rule = broken_rule(&args);
    if (rule)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s: tensor '%s': %s", manifest->name, tensor->name,
                        rule);
    int status = device->backend->tensor_map(device->state, &args, map);
    if (!status) return TMAGEN_OK;
    char text[768];
    print_args(&args, text, sizeof text);
    return tmg_fail_within(status, "%s: tensor '%s': no tensor map from %s", manifest->name,
                           tensor->name, text);
}

int tmg_tensor_map_encode(const tmagen_device *device, const struct tmg_manifest *manifest,
                          const struct tmg_param *param, const struct tmg_bound_tensor *bound,
                          struct tmg_tensor_map *maps) {
    int status = TMAGEN_OK;
    for (int i = 0; i < param->rows_apart && !status; ++i)
        status = encode_one(device, manifest, param, bound, i, &maps[i]);
    return status;
}
