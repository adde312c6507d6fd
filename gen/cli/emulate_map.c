// A launch file's tensor maps, tiled and im2col, over the buffers that it names.
// A map is held to the driver's own rules here, where its line can be shown.
#include <stdio.h>
#include <string.h>

#include "gen/cli/emulate_read.h"

static const int64_t stride_max = INT64_C(1) << 40;  // in elements; more than a map can say

// What a launch file calls the types of tensor maps, in the order of enum tmg_tensor_type: as the
// elements that they are for, the last of those that a map does not tell apart.
static const char *const *map_words(void) {
    static const char *words[TMG_TENSOR_TYPES + 1] = {[TMG_TENSOR_F32_FTZ] = "fp32_ftz",
                                                      [TMG_TENSOR_TF32] = "tf32",
                                                      [TMG_TENSOR_TF32_FTZ] = "tf32_ftz"};
    for (int i = 0; i < TMG_DTYPES_OF_HOST; i++)
        words[tmg_dtypes[i].tensor_map_type] = tmg_dtypes[i].name;
    return words;
}

// The strides, in elements, of a tensor without gaps; too large ones become the largest.
static void dense_strides(const int64_t *dims, int rank, int64_t *strides) {
    strides[rank - 1] = 1;
    for (int i = rank - 2; i >= 0; i--)
        if (__builtin_mul_overflow(strides[i + 1], dims[i + 1], &strides[i]) ||
            strides[i] > stride_max)
            strides[i] = stride_max;
}

// The type of the map's elements: the buffer's, or one of their size, or any where dims are given.
static void read_type(struct emulate_reader *r, const struct fields *f,
                      const struct emulate_buffer *buffer, struct tmg_map *map) {
    map->type = fields_word(f, "type", map_words(), tmg_dtypes[buffer->dtype].tensor_map_type);
    const int bytes = tmg_number_bytes(tmg_tensor_types[map->type].number);
    if (spec_get(f->map, "dims") || bytes == (int)tmg_dtype_bytes(buffer->dtype)) return;
    diag_error(r->diag, spec_get(f->map, "type")->place, NULL,
               "%stype: has %d bytes, and the buffer's elements %u; dims must be given", f->path,
               bytes, tmg_dtype_bytes(buffer->dtype));
}

// The dims of the tensor that the map describes, by default the buffer's, and its strides in
// elements, by default those without gaps. Returns the rank, 0 after an error.
static int read_dims(struct emulate_reader *r, const struct fields *f,
                     const struct emulate_buffer *buffer, struct tmg_map *map) {
    const int size = tmg_number_bytes(tmg_tensor_types[map->type].number);
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
    for (int i = 0; i + 1 < rank; i++)
        map->strides[i] = (uint64_t)strides[rank - 2 - i] * (uint64_t)size;
    return rank;
}

// An error where [count] numbers stand at [key] and not [rank].
static void check_count(const struct fields *f, const char *key, int count, int rank,
                        const char *what) {
    if (count >= 0 && count != rank)
        diag_error(f->diag, spec_get(f->map, key)->place, NULL, "%s%s: has %d numbers for %d %s",
                   f->path, key, count, rank, what);
}

// [rank] numbers at [key], outermost first, into [to], innermost first; without the key, ones.
static void read_sizes(const struct fields *f, const char *key, long long most, int rank,
                       uint32_t *to) {
    int64_t list[TMG_TENSOR_RANK];
    const int count = fields_ints(f, key, 1, most, TMG_TENSOR_RANK, list);
    for (int i = 0; i < rank; i++) to[i] = count == rank ? (uint32_t)list[rank - 1 - i] : 1;
    if (rank) check_count(f, key, count, rank, "dims");
}

// The fields that are one word each.
static void read_modes(const struct fields *f, struct tmg_map *map) {
    static const char *const swizzles[] = {
        "0", "32", "64", "128", "128_atom_32", "128_atom_32_flip_8", "128_atom_64", NULL};
    static const char *const promotions[] = {"0", "64", "128", "256", NULL};
    static const char *const interleaves[] = {"0", "16", "32", NULL};
    static const char *const fills[] = {"zero", "nan", NULL};
    map->swizzle = fields_word(f, "swizzle", swizzles, 0);
    map->l2_promotion = fields_word(f, "l2_promotion", promotions, 0);
    map->interleave = fields_word(f, "interleave", interleaves, 0);
    map->fill = fields_word(f, "fill", fills, 0);
}

// A corner of the pixels' box: a number for each dimension but the first and the last.
static void read_corner(const struct fields *f, const char *key, int rank, int *to) {
    int64_t list[TMG_TENSOR_RANK];
    const int count = fields_ints(f, key, INT16_MIN, INT16_MAX, TMG_TENSOR_RANK, list);
    for (int i = 0; i < rank && count == rank; i++) to[i] = (int)list[rank - 1 - i];
    fields_need(f, key);
    check_count(f, key, count, rank, "dims between the first and the last");
}

static void read_im2col(struct emulate_reader *r, const struct spec_node *node, const char *path,
                        struct tmg_map *map) {
    static const char *const keys[] = {"lower", "upper", "channels", "pixels", "along", NULL};
    static const char *const kinds[] = {"all", "w", "w128", NULL};
    char inner[EMULATE_PATH_TEXT];
    snprintf(inner, sizeof inner, "%.300sim2col.", path);
    const struct fields f = {r->diag, node, inner};
    if (node->kind != SPEC_MAP) {
        diag_error(r->diag, node->place, "lower, upper, channels, pixels",
                   "%sim2col: must be a map", path);
        return;
    }
    fields_only(&f, keys);
    if (map->rank < 3) {
        diag_error(r->diag, node->place, NULL, "%sim2col: is for 3 to 5 dims, and these are %d",
                   path, map->rank);
        return;
    }
    map->im2col = TMG_IM2COL_ALL + fields_word(&f, "along", kinds, 0);
    const int corners = map->im2col == TMG_IM2COL_ALL ? map->rank - 2 : 1;
    read_corner(&f, "lower", corners, map->lower);
    read_corner(&f, "upper", corners, map->upper);
    map->channels = (uint32_t)fields_int(&f, "channels", 1, 256, 1);
    map->pixels = (uint32_t)fields_int(&f, "pixels", 1, 1024, 1);
    fields_need(&f, "channels");
    fields_need(&f, "pixels");
}

void emulate_read_tensor_map(struct emulate_reader *r, const struct spec_node *node,
                             const char *path, struct emulate_argument *argument) {
    static const char *const keys[] = {
        "buffer",          "type",    "dims",         "strides",    "box",  "im2col",
        "element_strides", "swizzle", "l2_promotion", "interleave", "fill", NULL};
    const struct fields f = {r->diag, node, path};
    const struct spec_node *im2col = spec_get(node, "im2col"), *box = spec_get(node, "box");
    const size_t errors = diag_errors(r->diag);
    struct tmg_map *map = arena_alloc(&r->file->arena, sizeof *map);
    char why[TMG_TENSOR_WHY];
    *map = (struct tmg_map){0};
    argument->map = map;
    fields_only(&f, keys);
    if (!im2col) fields_need(&f, "box");
    if (im2col && box)
        diag_error(r->diag, box->place, "one of box, im2col", "%sbox: is not for im2col", path);
    argument->buffer = emulate_find_buffer(r, &f);
    read_modes(&f, map);
    if (diag_errors(r->diag) != errors) return;
    const struct emulate_buffer *buffer = &r->file->buffers[argument->buffer];
    read_type(r, &f, buffer, map);
    map->rank = read_dims(r, &f, buffer, map);
    if (im2col && map->rank) read_im2col(r, im2col, path, map);
    if (!im2col) read_sizes(&f, "box", 256, map->rank, map->box);
    read_sizes(&f, "element_strides", 8, map->rank, map->element_strides);
    if (diag_errors(r->diag) == errors && tmg_tensor_map_check(map, why))
        diag_error(r->diag, node->place, NULL, "%.*s: %s", (int)strlen(path) - 1, path, why);
}
