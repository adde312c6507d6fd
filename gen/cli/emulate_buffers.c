// A launch file's buffers: their type and shape, what fills them, and where they go afterwards.
// All contents are made here, once, so that every run of a schedule begins with the same bytes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/cli/emulate_read.h"
#include "gen/file.h"
#include "measure/random.h"

enum { BUFFERS_MAX = 256 };
static const int64_t bytes_max = INT64_C(1) << 32;  // of one buffer

const char *emulate_beside(struct arena *arena, struct diag_place place, const char *name) {
    const char *slash = strrchr(place.file, '/');
    const size_t folder = *name == '/' || !slash ? 0 : (size_t)(slash - place.file) + 1;
    char *path = arena_alloc(arena, folder + strlen(name) + 1);
    memcpy(path, place.file, folder);
    strcpy(path + folder, name);
    return path;
}

const char *const *emulate_types(void) {
    static const char *words[TMG_DTYPES_OF_HOST + 1];
    for (int i = 0; i < TMG_DTYPES_OF_HOST; i++) words[i] = tmg_dtypes[i].name;
    return words;
}

static const char *in_folder(struct arena *arena, const char *folder, const char *name) {
    char *path = arena_alloc(arena, strlen(folder) + strlen(name) + 2);
    sprintf(path, "%s/%s", folder, name);
    return path;
}

// The buffer's size follows from its shape and type.
static void set_bytes(struct emulate_reader *r, struct emulate_buffer *buffer) {
    size_t bytes = tmg_dtype_bytes(buffer->dtype);
    for (int i = 0; i < buffer->rank; i++)
        if (__builtin_mul_overflow(bytes, (size_t)buffer->shape[i], &bytes)) bytes = SIZE_MAX;
    buffer->bytes = bytes;
    if (bytes <= (size_t)bytes_max && bytes > 0) return;
    diag_error(r->diag, buffer->place, "1 byte to 4 GiB", "buffers.%s: %s", buffer->name,
               bytes ? "is too large" : "is empty");
    buffer->bytes = 0;
}

// Says what in an .npy file is not as the launch file has it.
static void compare_npy(struct emulate_reader *r, const struct fields *f,
                        struct emulate_buffer *buffer, const struct npy *array) {
    const struct diag_place place = spec_get(f->map, "npy")->place;
    bool same = buffer->rank == array->rank;
    for (int i = 0; same && i < buffer->rank; i++) same = buffer->shape[i] == array->shape[i];
    if (!same)
        diag_error(r->diag, place, "an array of the buffer's shape", "%snpy: has another shape",
                   f->path);
    if (!npy_holds(array, buffer->dtype))
        diag_error(r->diag, place, "an array of the buffer's dtype",
                   "%snpy: has elements of type %s, which are no %s", f->path, array->descr,
                   tmg_dtypes[buffer->dtype].name);
}

// Takes shape and dtype from an .npy file where the launch file has none, and the contents.
static void read_npy(struct emulate_reader *r, const struct fields *f,
                     struct emulate_buffer *buffer) {
    const struct diag_place place = spec_get(f->map, "npy")->place;
    const char *name = fields_text(f, "npy"), *why;
    if (!name) return;
    const char *path = emulate_beside(&r->file->arena, place, name);
    struct file_bytes file = file_read(path, (size_t)bytes_max + (1 << 16), &why);
    struct npy array;
    if (file.data) why = npy_parse(file.data, file.len, &array);
    if (why) {
        diag_error(r->diag, place, NULL, "%snpy: %s: %s", f->path, path, why);
    } else {
        if (!spec_get(f->map, "dtype")) buffer->dtype = (enum tmg_dtype_id)npy_type(&array);
        if (!spec_get(f->map, "shape")) {
            buffer->rank = array.rank;
            memcpy(buffer->shape, array.shape, sizeof array.shape);
        }
        compare_npy(r, f, buffer, &array);
        buffer->npy = array.bytes ? mem_copy_n(array.data, array.bytes) : NULL;
    }
    free(file.data);
}

bool emulate_number(const struct spec_node *node, enum tmg_dtype_id dtype, void *to) {
    long long integer = 0;
    double real = 0;
    if (node->kind != SPEC_SCALAR) return false;
    const enum spec_type type = spec_scalar(node, &integer, &real);
    if (type != SPEC_INT && type != SPEC_FLOAT) return false;
    const bool whole = tmg_dtypes[dtype].kind != TMG_KIND_FLOAT;
    if (whole && type == SPEC_INT)
        memcpy(to, &integer, tmg_dtype_bytes(dtype));  // little-endian
    else
        num_encode(dtype, real, to);
    return !whole || (type == SPEC_INT && num_value(dtype, to) == (double)integer);
}

// What fills the buffer; an error where two things do.
static void read_content(struct emulate_reader *r, const struct fields *f,
                         struct emulate_buffer *buffer) {
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

static void read_buffer(struct emulate_reader *r, const struct spec_node *key,
                        const struct spec_node *node, struct emulate_buffer *buffer) {
    static const char *const keys[] = {"dtype", "shape", "npy", "random", "value", "out", NULL};
    char path[EMULATE_PATH_TEXT];
    snprintf(path, sizeof path, "buffers.%.280s.", key->text);
    *buffer =
        (struct emulate_buffer){.name = key->text, .place = key->place, .dtype = TMG_DTYPE_U8};
    if (node->kind != SPEC_MAP) {
        diag_error(r->diag, node->place, "dtype, shape, npy, random, value, out",
                   "buffers.%s: must be a map", key->text);
        return;
    }
    const struct fields f = {r->diag, node, path};
    const size_t errors = diag_errors(r->diag);
    fields_only(&f, keys);
    buffer->dtype = (enum tmg_dtype_id)fields_word(&f, "dtype", emulate_types(), TMG_DTYPE_U8);
    const int rank = fields_ints(&f, "shape", 1, bytes_max, NPY_RANK_MAX, buffer->shape);
    buffer->rank = rank < 0 ? 0 : rank;
    read_content(r, &f, buffer);
    buffer->random = (uint64_t)fields_int(&f, "random", 0, INT64_MAX, 0);
    const struct spec_node *value = spec_get(node, "value");
    if (value && !emulate_number(value, buffer->dtype, buffer->value))
        diag_error(r->diag, value->place, NULL, "%svalue: must be a number that a %s can hold",
                   path, tmg_dtypes[buffer->dtype].name);
    const char *out = fields_text(&f, "out");
    if (out && r->out_dir)
        buffer->out = in_folder(&r->file->arena, r->out_dir, out);
    else if (out)
        buffer->out = emulate_beside(&r->file->arena, spec_get(node, "out")->place, out);
    if (diag_errors(r->diag) == errors) set_bytes(r, buffer);
}

void emulate_read_buffers(struct emulate_reader *r, const struct spec_node *top) {
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

// Uniform in [-1, 1) for floating-point types; any bits for integers.
static void random_element(const struct emulate_buffer *buffer, size_t index, char *to) {
    const uint64_t bits = random_bits(buffer->random, index);
    if (tmg_dtypes[buffer->dtype].kind != TMG_KIND_FLOAT)
        memcpy(to, &bits, tmg_dtype_bytes(buffer->dtype));
    else
        num_encode(buffer->dtype, 2 * random_uniform(buffer->random, index) - 1, to);
}

void emulate_buffer_fill(const struct emulate_buffer *buffer, char *data) {
    const size_t size = tmg_dtype_bytes(buffer->dtype), count = buffer->bytes / size;
    if (buffer->content == CONTENT_NPY) memcpy(data, buffer->npy, buffer->bytes);
    for (size_t i = 0; i < count && buffer->content == CONTENT_RANDOM; i++)
        random_element(buffer, i, data + i * size);
    for (size_t i = 0; i < count && buffer->content == CONTENT_VALUE; i++)
        memcpy(data + i * size, buffer->value, size);
}

size_t emulate_find_buffer(struct emulate_reader *r, const struct fields *f) {
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
