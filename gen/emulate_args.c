// A launch file's arguments: buffers by name, tensor maps over them, and scalars.
// A tensor map is held to the driver's own rules here, where its line can be shown.
#include <stdio.h>
#include <string.h>

#include "gen/emulate_read.h"

enum { PARAMETERS_MAX = 32764 };
static const int64_t stride_max = INT64_C(1) << 40;  // in elements; more than a map can say

// The index of the buffer that [key] names; buffer_count after an error.
static size_t find_buffer(struct emulate_reader *r, const struct fields *f) {
    const struct emulate_file *file = r->file;
    const char *name = fields_text(f, "buffer");
    size_t i = 0;
    while (name && i < file->buffer_count && strcmp(file->buffers[i].name, name) != 0) i++;
    if (name && i < file->buffer_count) return i;
    if (name)
        diag_error(r->diag, spec_get(f->map, "buffer")->place, "a key of buffers",
                   "%sbuffer: there is no buffer %s", f->path, name);
    else
        fields_need(f, "buffer");
    return file->buffer_count;
}

// The tensor map's type of a buffer's elements; those of 8 bits are all the same to it.
static int map_type(enum num_type dtype) {
    static const int types[NUM_TYPES] = {
        [NUM_BF16] = TMG_TENSOR_BF16, [NUM_FP16] = TMG_TENSOR_F16, [NUM_FP32] = TMG_TENSOR_F32,
        [NUM_FP64] = TMG_TENSOR_F64,  [NUM_U16] = TMG_TENSOR_U16,  [NUM_I32] = TMG_TENSOR_S32,
        [NUM_U32] = TMG_TENSOR_U32,   [NUM_I64] = TMG_TENSOR_S64,  [NUM_U64] = TMG_TENSOR_U64};
    return types[dtype];  // others: TMG_TENSOR_U8
}

// The strides, in elements, of a tensor without gaps; too large ones become the largest.
static void dense_strides(const int64_t *dims, int rank, int64_t *strides) {
    strides[rank - 1] = 1;
    for (int i = rank - 2; i >= 0; i--)
        if (__builtin_mul_overflow(strides[i + 1], dims[i + 1], &strides[i]) ||
            strides[i] > stride_max)
            strides[i] = stride_max;
}

// The dims of the tensor that the map describes, by default the buffer's, and its strides in
// elements, by default those without gaps. Returns the rank, 0 after an error.
static int read_dims(struct emulate_reader *r, const struct fields *f,
                     const struct emulate_buffer *buffer, struct tmg_tensor_map *map) {
    const unsigned size = num_types[buffer->dtype].bytes;
    int64_t dims[NPY_RANK_MAX], strides[NPY_RANK_MAX];
    int rank = fields_ints(f, "dims", 1, stride_max, TMG_TENSOR_RANK, dims);
    if (rank < 0 && spec_get(f->map, "dims")) return 0;
    if (rank < 0) memcpy(dims, buffer->shape, sizeof dims);
    if (rank < 0) rank = buffer->rank;
    int given = fields_ints(f, "strides", 0, stride_max, TMG_TENSOR_RANK, strides);
    if (rank < 1 || rank > TMG_TENSOR_RANK || (given >= 0 && given != rank)) {
        diag_error(r->diag, f->map->place, NULL, "%.*s: %s", (int)strlen(f->path) - 1, f->path,
                   given >= 0 ? "dims and strides must be of one length" : "must have 1 to 5 dims");
        return 0;
    }
    if (given < 0) dense_strides(dims, rank, strides);
    for (int i = 0; i < rank; i++) map->dims[i] = (uint64_t)dims[rank - 1 - i];
    for (int i = 0; i + 1 < rank; i++) map->strides[i] = (uint64_t)strides[rank - 2 - i] * size;
    return rank;
}

// [rank] numbers at [key], outermost first, into [to], innermost first; without the key, ones.
static void read_sizes(const struct fields *f, const char *key, long long most, int rank,
                       uint32_t *to) {
    int64_t list[TMG_TENSOR_RANK];
    const int count = fields_ints(f, key, 1, most, TMG_TENSOR_RANK, list);
    for (int i = 0; i < rank; i++) to[i] = count == rank ? (uint32_t)list[rank - 1 - i] : 1;
    if (rank && count >= 0 && count != rank)
        diag_error(f->diag, spec_get(f->map, key)->place, NULL, "%s%s: has %d numbers for %d dims",
                   f->path, key, count, rank);
}

// The fields that are one word each.
static void read_modes(const struct fields *f, struct tmg_tensor_map *map) {
    static const char *const swizzles[] = {"0", "32", "64", "128", NULL};
    static const char *const promotions[] = {"0", "64", "128", "256", NULL};
    static const char *const interleaves[] = {"0", "16", "32", NULL};
    static const char *const fills[] = {"zero", "nan", NULL};
    map->swizzle = fields_word(f, "swizzle", swizzles, 0);
    map->l2_promotion = fields_word(f, "l2_promotion", promotions, 0);
    map->interleave = fields_word(f, "interleave", interleaves, 0);
    map->fill = fields_word(f, "fill", fills, 0);
}

static void read_tensor_map(struct emulate_reader *r, const struct spec_node *node,
                            const char *path, struct emulate_argument *argument) {
    static const char *const keys[] = {
        "buffer",  "dims",         "strides",    "box",  "element_strides",
        "swizzle", "l2_promotion", "interleave", "fill", NULL};
    const struct fields f = {r->diag, node, path};
    const size_t errors = diag_errors(r->diag);
    struct tmg_tensor_map *map = &argument->map;
    char why[TMG_TENSOR_WHY];
    fields_only(&f, keys);
    fields_need(&f, "box");
    argument->buffer = find_buffer(r, &f);
    read_modes(&f, map);
    if (diag_errors(r->diag) != errors) return;
    const struct emulate_buffer *buffer = &r->file->buffers[argument->buffer];
    map->type = map_type(buffer->dtype);
    map->rank = read_dims(r, &f, buffer, map);
    read_sizes(&f, "box", 256, map->rank, map->box);
    read_sizes(&f, "element_strides", 8, map->rank, map->element_strides);
    if (diag_errors(r->diag) == errors && tmg_tensor_map_check(map, why))
        diag_error(r->diag, node->place, NULL, "%.*s: %s", (int)strlen(path) - 1, path, why);
}

static void read_scalar(struct emulate_reader *r, const struct fields *f,
                        struct emulate_argument *argument) {
    const struct spec_node *node = spec_get(f->map, "scalar");
    fields_need(f, "type");
    const int type = fields_word(f, "type", emulate_types(), -1);
    if (type < 0) return;
    argument->bytes = num_types[type].bytes;
    if (!emulate_number(node, (enum num_type)type, argument->value))
        diag_error(r->diag, node->place, NULL, "%sscalar: must be a number that a %s can hold",
                   f->path, num_types[type].name);
}

static void read_argument(struct emulate_reader *r, const struct spec_node *node, size_t index,
                          struct emulate_argument *argument) {
    static const struct {
        const char *name;
        const char *const keys[3];
        size_t bytes;
    } kinds[] = {[ARGUMENT_BUFFER] = {"buffer", {"buffer"}, 8},
                 [ARGUMENT_TENSOR_MAP] = {"tensor_map", {"tensor_map"}, TMG_TENSOR_MAP_BYTES},
                 [ARGUMENT_SCALAR] = {"scalar", {"scalar", "type"}, 0}};
    static const char legal[] = "buffer: NAME, tensor_map: {...}, or scalar: NUMBER and type: TYPE";
    char path[EMULATE_PATH_TEXT];
    int kind = 0;
    *argument = (struct emulate_argument){.place = node->place};
    while (node->kind == SPEC_MAP && kind < 3 && !spec_get(node, kinds[kind].name)) kind++;
    if (node->kind != SPEC_MAP || kind == 3) {
        diag_error(r->diag, node->place, legal, "args[%zu]: is no argument", index);
        return;
    }
    snprintf(path, sizeof path, "args[%zu].", index);
    const struct fields f = {r->diag, node, path};
    fields_only(&f, kinds[kind].keys);
    argument->kind = (enum emulate_kind)kind;
    argument->bytes = kinds[kind].bytes;
    const struct spec_node *value = spec_get(node, kinds[kind].name);
    if (argument->kind == ARGUMENT_BUFFER) argument->buffer = find_buffer(r, &f);
    if (argument->kind == ARGUMENT_SCALAR) read_scalar(r, &f, argument);
    if (argument->kind != ARGUMENT_TENSOR_MAP) return;
    snprintf(path, sizeof path, "args[%zu].tensor_map.", index);
    if (value->kind == SPEC_MAP)
        read_tensor_map(r, value, path, argument);
    else
        diag_error(r->diag, value->place, "buffer: NAME, box: [...], swizzle: 128, ...",
                   "args[%zu].tensor_map: must be a map", index);
}

void emulate_read_arguments(struct emulate_reader *r, const struct spec_node *top) {
    const struct spec_node *node = spec_get(top, "args");
    if (!node) return;
    r->file->args_place = node->place;
    if (node->kind != SPEC_LIST || node->count > PARAMETERS_MAX) {
        diag_error(r->diag, node->place, NULL, "args: must be a list");
        return;
    }
    r->file->arguments =
        arena_alloc(&r->file->arena, (node->count + 1) * sizeof *r->file->arguments);
    r->file->argument_count = node->count;
    for (size_t i = 0; i < node->count; i++)
        read_argument(r, node->values[i], i, &r->file->arguments[i]);
}
