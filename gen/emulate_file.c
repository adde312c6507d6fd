// Reads a launch file. What a buffer, a tensor map and a scalar are stands in a reader of its own;
// what the kernel itself wants of its parameters is known later, in cmd_emulate.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/emulate.h"
#include "gen/fields.h"
#include "gen/file.h"
#include "runtime/reference/random.h"

enum { SHARED_MAX = 227 << 10, BUFFERS_MAX = 256, PARAMETERS_MAX = 32764, PATH_TEXT = 320 };
static const int64_t bytes_max = INT64_C(1) << 32;  // of one buffer

struct reader {
    struct emulate_file *file;
    struct diag *diag;
    const char *out_dir;
};

static const char *type_words[NUM_TYPES + 1];  // the names of num_types[]

static void list_types(void) {
    for (int i = 0; i < NUM_TYPES; i++) type_words[i] = num_types[i].name;
}

// The path [name] as the value at [place] means it: relative to the folder of that file.
static const char *beside(struct arena *arena, struct diag_place place, const char *name) {
    const char *slash = strrchr(place.file, '/');
    const size_t folder = *name == '/' || !slash ? 0 : (size_t)(slash - place.file) + 1;
    char *path = arena_alloc(arena, folder + strlen(name) + 1);
    memcpy(path, place.file, folder);
    return strcpy(path + folder, name), path;
}

static const char *in_folder(struct arena *arena, const char *folder, const char *name) {
    char *path = arena_alloc(arena, strlen(folder) + strlen(name) + 2);
    sprintf(path, "%s/%s", folder, name);
    return path;
}

// ---- Buffers

// The buffer's size follows from its shape and type.
static void set_bytes(struct reader *r, struct emulate_buffer *buffer) {
    size_t bytes = num_types[buffer->dtype].bytes;
    for (int i = 0; i < buffer->rank; i++)
        if (__builtin_mul_overflow(bytes, (size_t)buffer->shape[i], &bytes)) bytes = SIZE_MAX;
    buffer->bytes = bytes;
    if (bytes <= (size_t)bytes_max && bytes > 0) return;
    diag_error(r->diag, buffer->place, "1 byte to 4 GiB", "buffers.%s: %s", buffer->name,
               bytes ? "is too large" : "is empty");
    buffer->bytes = 0;
}

// Says what in an .npy file is not as the launch file has it.
static void compare_npy(struct reader *r, const struct fields *f, struct emulate_buffer *buffer,
                        const struct npy *array) {
    const struct diag_place place = spec_get(f->map, "npy")->place;
    bool same = buffer->rank == array->rank;
    for (int i = 0; same && i < buffer->rank; i++) same = buffer->shape[i] == array->shape[i];
    if (!same)
        diag_error(r->diag, place, "an array of the buffer's shape", "%snpy: has another shape",
                   f->path);
    if (!npy_holds(array, buffer->dtype))
        diag_error(r->diag, place, "an array of the buffer's dtype",
                   "%snpy: has elements of type %s, which are no %s", f->path, array->descr,
                   num_types[buffer->dtype].name);
}

// Takes shape and dtype from an .npy file where the launch file has none, and the contents.
static void read_npy(struct reader *r, const struct fields *f, struct emulate_buffer *buffer) {
    const struct diag_place place = spec_get(f->map, "npy")->place;
    const char *name = fields_text(f, "npy"), *why;
    if (!name) return;
    const char *path = beside(&r->file->arena, place, name);
    struct file_bytes file = file_read(path, (size_t)bytes_max + (1 << 16), &why);
    struct npy array;
    if (file.data) why = npy_parse(file.data, file.len, &array);
    if (why) {
        diag_error(r->diag, place, NULL, "%snpy: %s: %s", f->path, path, why);
    } else {
        if (!spec_get(f->map, "dtype")) buffer->dtype = (enum num_type)npy_type(&array);
        if (!spec_get(f->map, "shape")) {
            buffer->rank = array.rank;
            memcpy(buffer->shape, array.shape, sizeof array.shape);
        }
        compare_npy(r, f, buffer, &array);
        buffer->first = array.bytes ? mem_copy_n(array.data, array.bytes) : NULL;
    }
    free(file.data);
}

// Uniform in [-1, 1) for floating-point types; any bits for integers.
static void fill_random(struct emulate_buffer *buffer, uint64_t seed) {
    const size_t size = num_types[buffer->dtype].bytes, count = buffer->bytes / size;
    const bool integer = buffer->dtype >= NUM_I8;
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = random_bits(seed, i);
        if (integer)
            memcpy(buffer->first + i * size, &bits, size);
        else
            num_encode(buffer->dtype, 2 * random_uniform(seed, i) - 1, buffer->first + i * size);
    }
}

// Writes the number at [node] as one element. False where it is none.
static bool encode_number(const struct spec_node *node, enum num_type dtype, void *to) {
    long long integer = 0;
    double real = 0;
    if (node->kind != SPEC_SCALAR) return false;
    const enum spec_type type = spec_scalar(node, &integer, &real);
    if (type != SPEC_INT && type != SPEC_FLOAT) return false;
    if (dtype >= NUM_I8 && type == SPEC_INT)
        memcpy(to, &integer, num_types[dtype].bytes);  // little-endian
    else
        num_encode(dtype, real, to);
    return dtype < NUM_I8 || (type == SPEC_INT && num_value(dtype, to) == (double)integer);
}

static void fill_value(struct reader *r, const struct fields *f, struct emulate_buffer *buffer) {
    const struct spec_node *node = spec_get(f->map, "value");
    const size_t size = num_types[buffer->dtype].bytes;
    uint8_t element[8];
    if (!encode_number(node, buffer->dtype, element))
        diag_error(r->diag, node->place, NULL, "%svalue: must be a number that a %s can hold",
                   f->path, num_types[buffer->dtype].name);
    else
        for (size_t at = 0; at < buffer->bytes; at += size)
            memcpy(buffer->first + at, element, size);
}

// What fills the buffer; an error where two things do.
static void read_content(struct reader *r, const struct fields *f, struct emulate_buffer *buffer) {
    static const char *const keys[] = {"npy", "random", "value"};
    buffer->content = CONTENT_UNWRITTEN;
    for (int i = 0; i < 3; i++) {
        const struct spec_node *node = spec_get(f->map, keys[i]);
        if (!node) continue;
        if (buffer->content)
            diag_error(r->diag, node->place, "one of npy, random, value",
                       "%s%s: something else fills this buffer too", f->path, keys[i]);
        buffer->content = (enum emulate_content)(CONTENT_NPY + i);
    }
    if (buffer->content == CONTENT_NPY) return read_npy(r, f, buffer);
    fields_need(f, "dtype");
    fields_need(f, "shape");
}

static void read_buffer(struct reader *r, const struct spec_node *key, const struct spec_node *node,
                        struct emulate_buffer *buffer) {
    static const char *const keys[] = {"dtype", "shape", "npy", "random", "value", "out", NULL};
    char path[PATH_TEXT];
    snprintf(path, sizeof path, "buffers.%.280s.", key->text);
    *buffer = (struct emulate_buffer){.name = key->text, .place = key->place, .dtype = NUM_U8};
    if (node->kind != SPEC_MAP) {
        diag_error(r->diag, node->place, "dtype, shape, npy, random, value, out",
                   "buffers.%s: must be a map", key->text);
        return;
    }
    const struct fields f = {r->diag, node, path};
    const size_t errors = diag_errors(r->diag);
    fields_only(&f, keys);
    buffer->dtype = (enum num_type)fields_word(&f, "dtype", type_words, NUM_U8);
    const int rank = fields_ints(&f, "shape", 1, bytes_max, NPY_RANK_MAX, buffer->shape);
    buffer->rank = rank < 0 ? 0 : rank;
    read_content(r, &f, buffer);
    const long long seed = fields_int(&f, "random", 0, INT64_MAX, 0);
    const char *out = fields_text(&f, "out");
    if (out && r->out_dir)
        buffer->out = in_folder(&r->file->arena, r->out_dir, out);
    else if (out)
        buffer->out = beside(&r->file->arena, spec_get(node, "out")->place, out);
    if (diag_errors(r->diag) != errors) return;
    set_bytes(r, buffer);
    if (!buffer->bytes || buffer->content == CONTENT_UNWRITTEN || buffer->first) return;
    buffer->first = mem_alloc(buffer->bytes);
    if (buffer->content == CONTENT_RANDOM) fill_random(buffer, (uint64_t)seed);
    if (buffer->content == CONTENT_VALUE) fill_value(r, &f, buffer);
}

static void read_buffers(struct reader *r, const struct spec_node *top) {
    const struct spec_node *node = spec_get(top, "buffers");
    if (!node) return;
    if (node->kind != SPEC_MAP || node->count > BUFFERS_MAX) {
        diag_error(r->diag, node->place, "NAME: {dtype: ..., shape: ...}",
                   "buffers: must be a map of at most %d buffers", BUFFERS_MAX);
        return;
    }
    r->file->buffers = arena_alloc(&r->file->arena, (node->count + 1) * sizeof *r->file->buffers);
    r->file->buffer_count = node->count;
    for (size_t i = 0; i < node->count; i++)
        read_buffer(r, node->keys[i], node->values[i], &r->file->buffers[i]);
}

// ---- Arguments

// The index of the buffer that [key] names; buffer_count after an error.
static size_t find_buffer(struct reader *r, const struct fields *f) {
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

// [list] of [rank] sizes, outermost first, into [to], innermost first.
static void reverse32(const int64_t *list, int rank, uint32_t *to) {
    for (int i = 0; i < rank; i++) to[i] = (uint32_t)list[rank - 1 - i];
}

// The dims of the tensor that the map describes, by default the buffer's, and its strides in
// elements, by default those without gaps. Returns the rank, 0 after an error.
static int read_dims(struct reader *r, const struct fields *f, const struct emulate_buffer *buffer,
                     struct tmg_tensor_map *map) {
    const int64_t most = INT64_C(1) << 40;
    const unsigned size = num_types[buffer->dtype].bytes;
    int64_t dims[NPY_RANK_MAX], strides[NPY_RANK_MAX];
    int rank = fields_ints(f, "dims", 1, most, TMG_TENSOR_RANK, dims);
    if (rank < 0 && spec_get(f->map, "dims")) return 0;
    if (rank < 0) memcpy(dims, buffer->shape, sizeof dims);
    if (rank < 0) rank = buffer->rank;
    int given = fields_ints(f, "strides", 0, most, TMG_TENSOR_RANK, strides);
    if (rank < 1 || rank > TMG_TENSOR_RANK || (given >= 0 && given != rank)) {
        diag_error(r->diag, f->map->place, NULL, "%.*s: %s", (int)strlen(f->path) - 1, f->path,
                   given >= 0 ? "dims and strides must be of one length" : "must have 1 to 5 dims");
        return 0;
    }
    for (int i = rank - 1; given < 0 && i >= 0; i--)
        strides[i] = i == rank - 1 ? 1
                     : __builtin_mul_overflow(strides[i + 1], dims[i + 1], &strides[i])
                         ? most
                         : strides[i];
    for (int i = 0; i < rank; i++) map->dims[i] = (uint64_t)dims[rank - 1 - i];
    for (int i = 0; i + 1 < rank; i++) map->strides[i] = (uint64_t)strides[rank - 2 - i] * size;
    return rank;
}

static void read_tensor_map(struct reader *r, const struct spec_node *node, const char *path,
                            struct emulate_argument *argument) {
    static const char *const keys[] = {
        "buffer",          "dims",         "strides",    "box",  "swizzle",
        "element_strides", "l2_promotion", "interleave", "fill", NULL};
    static const char *const swizzles[] = {"0", "32", "64", "128", NULL};
    static const char *const promotions[] = {"0", "64", "128", "256", NULL};
    static const char *const interleaves[] = {"0", "16", "32", NULL};
    static const char *const fills[] = {"zero", "nan", NULL};
    const struct fields f = {r->diag, node, path};
    const size_t errors = diag_errors(r->diag);
    struct tmg_tensor_map *map = &argument->map;
    int64_t list[TMG_TENSOR_RANK] = {1, 1, 1, 1, 1};
    fields_only(&f, keys);
    fields_need(&f, "box");
    argument->buffer = find_buffer(r, &f);
    map->swizzle = fields_word(&f, "swizzle", swizzles, 0);
    map->l2_promotion = fields_word(&f, "l2_promotion", promotions, 0);
    map->interleave = fields_word(&f, "interleave", interleaves, 0);
    map->fill = fields_word(&f, "fill", fills, 0);
    if (diag_errors(r->diag) != errors) return;
    const struct emulate_buffer *buffer = &r->file->buffers[argument->buffer];
    map->type = map_type(buffer->dtype);
    map->rank = read_dims(r, &f, buffer, map);
    const int box = fields_ints(&f, "box", 1, 256, TMG_TENSOR_RANK, list);
    if (map->rank && box >= 0 && box != map->rank)
        diag_error(r->diag, spec_get(node, "box")->place, NULL, "%sbox: has %d sizes for %d dims",
                   path, box, map->rank);
    reverse32(list, map->rank, map->box);
    for (int i = 0; i < TMG_TENSOR_RANK; i++) list[i] = 1;
    const int steps = fields_ints(&f, "element_strides", 1, 8, TMG_TENSOR_RANK, list);
    if (map->rank && steps >= 0 && steps != map->rank)
        diag_error(r->diag, spec_get(node, "element_strides")->place, NULL,
                   "%selement_strides: has %d for %d dims", path, steps, map->rank);
    reverse32(list, map->rank, map->element_strides);
    char why[TMG_TENSOR_WHY];
    if (diag_errors(r->diag) == errors && tmg_tensor_map_check(map, why))
        diag_error(r->diag, node->place, NULL, "%.*s: %s", (int)strlen(path) - 1, path, why);
}

static void read_scalar(struct reader *r, const struct fields *f,
                        struct emulate_argument *argument) {
    const struct spec_node *node = spec_get(f->map, "scalar");
    fields_need(f, "type");
    const int type = fields_word(f, "type", type_words, -1);
    if (type < 0) return;
    argument->bytes = num_types[type].bytes;
    if (!encode_number(node, (enum num_type)type, argument->value))
        diag_error(r->diag, node->place, NULL, "%sscalar: must be a number that a %s can hold",
                   f->path, num_types[type].name);
}

static void read_argument(struct reader *r, const struct spec_node *node, size_t index,
                          struct emulate_argument *argument) {
    static const struct {
        const char *name;
        const char *const keys[3];
        size_t bytes;
    } kinds[] = {[ARGUMENT_BUFFER] = {"buffer", {"buffer"}, 8},
                 [ARGUMENT_TENSOR_MAP] = {"tensor_map", {"tensor_map"}, TMG_TENSOR_MAP_BYTES},
                 [ARGUMENT_SCALAR] = {"scalar", {"scalar", "type"}, 0}};
    static const char legal[] = "buffer: NAME, tensor_map: {...}, or scalar: NUMBER and type: TYPE";
    char path[PATH_TEXT];
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

static void read_arguments(struct reader *r, const struct spec_node *top) {
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

// ---- The launch

// Up to three sizes at [key] into [size]; those that are not given become [otherwise].
static void read_size(const struct fields *f, const char *key, const long long most[3],
                      long long product, unsigned otherwise, unsigned size[3]) {
    int64_t list[3];
    const int count = fields_ints(f, key, 1, most[0], 3, list);
    long long all = 1;
    for (int i = 0; i < 3; i++) {
        size[i] = i < count ? (unsigned)list[i] : count > 0 ? 1 : otherwise;
        if (i < count && list[i] <= most[i]) all *= list[i];
        if (i < count && list[i] > most[i])
            diag_error(f->diag, spec_get(f->map, key)->place, NULL,
                       "%s: axis %c is %lld; the limit is %lld", key, "xyz"[i], (long long)list[i],
                       most[i]);
    }
    if (count > 0 && all > product)
        diag_error(f->diag, spec_get(f->map, key)->place, NULL,
                   "%s: the product is %lld; the limit is %lld", key, all, product);
}

static void check_cluster(struct reader *r, const struct fields *f) {
    const struct emulate_file *file = r->file;
    for (int i = 0; i < 3; i++)
        if (file->cluster[i] && file->grid[i] % file->cluster[i])
            diag_error(r->diag, spec_get(f->map, "cluster")->place, NULL,
                       "cluster: axis %c of the grid, %u, is no multiple of %u", "xyz"[i],
                       file -> grid[i], file -> cluster[i]);
}

static void read_top(struct reader *r, const struct spec_node *top) {
    static const char *const keys[] = {"base",          "ptx",  "entry",     "grid",      "block",
                                       "cluster",       "seed", "schedules", "max_steps", "buffers",
                                       "shared_memory", "args", NULL};
    static const long long grid[] = {2147483647, 65535, 65535}, block[] = {1024, 1024, 64};
    static const long long cluster[] = {16, 16, 16};
    struct emulate_file *file = r->file;
    const struct fields f = {r->diag, top, ""};
    const size_t errors = diag_errors(r->diag);
    fields_only(&f, keys);
    fields_need(&f, "ptx");
    fields_need(&f, "grid");
    fields_need(&f, "block");
    file->top = file->args_place = top->place;
    const char *ptx = fields_text(&f, "ptx");
    if (ptx) file->ptx_place = spec_get(top, "ptx")->place;
    if (ptx) file->ptx = beside(&file->arena, file->ptx_place, ptx);
    file->entry = fields_text(&f, "entry");
    if (file->entry) file->entry_place = spec_get(top, "entry")->place;
    read_size(&f, "grid", grid, INT64_MAX, 1, file->grid);
    read_size(&f, "block", block, 1024, 1, file->block);
    read_size(&f, "cluster", cluster, 16, 0, file->cluster);
    if (diag_errors(r->diag) == errors) check_cluster(r, &f);
    file->shared_memory = (unsigned)fields_int(&f, "shared_memory", 0, SHARED_MAX, 0);
    file->seed = (uint64_t)fields_int(&f, "seed", 0, INT64_MAX, 0);
    file->schedules = (uint64_t)fields_int(&f, "schedules", 1, 1000000, 1);
    file->max_steps = (uint64_t)fields_int(&f, "max_steps", 1, INT64_MAX, 0);
    read_buffers(r, top);
    read_arguments(r, top);
}

void emulate_file_read(struct emulate_file *file, struct diag *diag, const char *path,
                       char *const *sets, size_t set_count, const char *out_dir) {
    struct reader r = {file, diag, out_dir};
    list_types();
    *file = (struct emulate_file){.path = path};
    const struct spec_node *top = spec_read(&file->arena, diag, path, sets, set_count);
    if (top) read_top(&r, top);
}

void emulate_file_free(struct emulate_file *file) {
    for (size_t i = 0; i < file->buffer_count; i++) free(file->buffers[i].first);
    arena_free(&file->arena);
}
