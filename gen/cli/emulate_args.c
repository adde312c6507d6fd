// A launch file's arguments: buffers by name, tensor maps over them, scalars, and structs of these.
// What a parameter looks like to the kernel is bytes; a struct says what stands where in them.
#include <stdio.h>
#include <string.h>

#include "gen/cli/emulate_read.h"

enum { PARAMETERS_MAX = 32764, MAP_ALIGN = 64 };

static void read_buffer(struct emulate_reader *r, const struct fields *f,
                        struct emulate_argument *argument) {
    argument->bytes = sizeof(uint64_t);
    argument->buffer = emulate_find_buffer(r, f);
}

static void read_map(struct emulate_reader *r, const struct fields *f,
                     struct emulate_argument *argument) {
    const struct spec_node *value = spec_get(f->map, "tensor_map");
    char path[EMULATE_PATH_TEXT];
    snprintf(path, sizeof path, "%.300stensor_map.", f->path);
    argument->bytes = TMG_TENSOR_MAP_BYTES;
    if (value->kind == SPEC_MAP)
        emulate_read_tensor_map(r, value, path, argument);
    else
        diag_error(r->diag, value->place, "buffer: NAME, box: [...], swizzle: 128, ...",
                   "%stensor_map: must be a map", f->path);
}

// A number, or a list of them: an array.
static void read_scalar(struct emulate_reader *r, const struct fields *f,
                        struct emulate_argument *argument) {
    const struct spec_node *node = spec_get(f->map, "scalar");
    const size_t count = node->kind == SPEC_LIST ? node->count : 1;
    fields_need(f, "type");
    const int type = fields_word(f, "type", emulate_types(), -1);
    if (type < 0) return;
    const size_t bytes = tmg_dtype_bytes(type);
    argument->bytes = count * bytes;
    argument->value = arena_alloc(&r->file->arena, argument->bytes + 8);
    for (size_t i = 0; i < count; i++) {
        const struct spec_node *item = node->kind == SPEC_LIST ? node->values[i] : node;
        if (!emulate_number(item, (enum tmg_dtype_id)type, argument->value + i * bytes))
            diag_error(r->diag, item->place, NULL, "%sscalar: must be a number that a %s can hold",
                       f->path, tmg_dtypes[type].name);
    }
}

static void read_struct(struct emulate_reader *, const struct fields *, struct emulate_argument *);

static const struct argument_form {
    const char *name, *keys[3];
    void (*read)(struct emulate_reader *, const struct fields *, struct emulate_argument *);
} kinds[] = {[ARGUMENT_BUFFER] = {"buffer", {"buffer"}, read_buffer},
             [ARGUMENT_TENSOR_MAP] = {"tensor_map", {"tensor_map"}, read_map},
             [ARGUMENT_SCALAR] = {"scalar", {"scalar", "type"}, read_scalar},
             [ARGUMENT_STRUCT] = {"struct", {"struct"}, read_struct}};
enum { KINDS = sizeof kinds / sizeof *kinds };

// Reads the argument at [node], called [path] in messages ("args[2]"). [inside]: of a struct, which
// holds no structs.
static void read_argument(struct emulate_reader *r, const struct spec_node *node, const char *path,
                          bool inside, struct emulate_argument *argument) {
    static const char outer[] =
        "buffer: NAME, tensor_map: {...}, scalar: NUMBER and type: TYPE, or struct: {...}";
    static const char inner[] = "buffer: NAME, tensor_map: {...}, or scalar: NUMBER and type: TYPE";
    const int count = inside ? ARGUMENT_STRUCT : KINDS;
    char dotted[EMULATE_PATH_TEXT];
    int kind = 0;
    *argument = (struct emulate_argument){.place = node->place};
    while (node->kind == SPEC_MAP && kind < count && !spec_get(node, kinds[kind].name)) kind++;
    if (node->kind != SPEC_MAP || kind == count) {
        diag_error(r->diag, node->place, inside ? inner : outer, "%s: is no argument", path);
        return;
    }
    snprintf(dotted, sizeof dotted, "%.300s.", path);
    const struct fields f = {r->diag, node, dotted};
    fields_only(&f, kinds[kind].keys);
    argument->kind = (enum emulate_kind)kind;
    kinds[kind].read(r, &f, argument);
}

// ---- Structs

// The bytes of a struct that parts have so far.
struct room {
    const char *path;  // of the struct
    size_t bytes;
    uint8_t *taken;
};

// Where the part at [key] begins; false after an error.
static bool part_place(struct emulate_reader *r, const struct room *room,
                       const struct spec_node *key, size_t *at) {
    long long offset = -1;
    double real;
    char legal[40];
    if (spec_scalar(key, &offset, &real) == SPEC_INT && offset >= 0 &&
        (size_t)offset < room->bytes) {
        *at = (size_t)offset;
        return true;
    }
    snprintf(legal, sizeof legal, "0..%zu", room->bytes - 1);
    diag_error(r->diag, key->place, legal, "%sat: %s is no byte of the struct", room->path,
               key->text);
    return false;
}

// Puts a part that has been read where it belongs, or says why that cannot be.
static void place_part(struct emulate_reader *r, struct room *room, const struct spec_node *key,
                       const struct emulate_argument *part) {
    bool shared = false;
    if (part->bytes > room->bytes - part->at) {
        diag_error(r->diag, key->place, NULL,
                   "%sat[%zu]: its %zu bytes reach over the end of the struct, which has %zu",
                   room->path, part->at, part->bytes, room->bytes);
        return;
    }
    for (size_t i = 0; i < part->bytes; i++) shared |= room->taken[part->at + i]++ != 0;
    if (shared)
        diag_error(r->diag, key->place, NULL, "%sat[%zu]: shares bytes with another", room->path,
                   part->at);
    if (part->kind == ARGUMENT_TENSOR_MAP && part->at % MAP_ALIGN)
        diag_error(r->diag, key->place, NULL,
                   "%sat[%zu]: a tensor map stands at a multiple of %d bytes", room->path, part->at,
                   MAP_ALIGN);
}

static void read_parts(struct emulate_reader *r, const struct spec_node *at, struct room *room,
                       struct emulate_argument *argument) {
    argument->parts = arena_alloc(&r->file->arena, (at->count + 1) * sizeof *argument->parts);
    for (size_t i = 0; i < at->count; i++) {
        struct emulate_argument *part = &argument->parts[argument->part_count];
        const size_t errors = diag_errors(r->diag);
        char path[EMULATE_PATH_TEXT];
        size_t offset;
        if (!part_place(r, room, at->keys[i], &offset)) continue;
        snprintf(path, sizeof path, "%.200sat[%zu]", room->path, offset);
        read_argument(r, at->values[i], path, true, part);
        part->at = offset;
        if (diag_errors(r->diag) == errors) place_part(r, room, at->keys[i], part);
        argument->part_count++;
    }
}

// struct: {bytes: 24, at: {0: {buffer: a}, 16: {scalar: 4, type: i32}}}; the other bytes are zero.
static void read_struct(struct emulate_reader *r, const struct fields *outer,
                        struct emulate_argument *argument) {
    static const char *const keys[] = {"bytes", "at", NULL};
    const struct spec_node *node = spec_get(outer->map, "struct");
    char path[EMULATE_PATH_TEXT];
    snprintf(path, sizeof path, "%.200sstruct.", outer->path);
    const struct fields f = {r->diag, node, path};
    if (node->kind != SPEC_MAP) {
        diag_error(r->diag, node->place, "bytes: NUMBER, at: {OFFSET: ...}",
                   "%sstruct: must be a map", outer->path);
        return;
    }
    fields_only(&f, keys);
    fields_need(&f, "bytes");
    const struct spec_node *at = spec_get(node, "at");
    const size_t errors = diag_errors(r->diag);
    argument->bytes = (size_t)fields_int(&f, "bytes", 1, PARAMETERS_MAX, 1);
    const bool known = spec_get(node, "bytes") && diag_errors(r->diag) == errors;
    argument->value = arena_alloc(&r->file->arena, argument->bytes);
    memset(argument->value, 0, argument->bytes);
    struct room room = {path, argument->bytes, arena_alloc(&r->file->arena, argument->bytes)};
    memset(room.taken, 0, room.bytes);
    if (at && at->kind != SPEC_MAP)
        diag_error(r->diag, at->place, "OFFSET: an argument, ...", "%sat: must be a map", path);
    else if (at && known)
        read_parts(r, at, &room, argument);
}

// ---- All

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
    for (size_t i = 0; i < node->count; i++) {
        char path[40];
        snprintf(path, sizeof path, "args[%zu]", i);
        read_argument(r, node->values[i], path, false, &r->file->arguments[i]);
    }
}

void emulate_argument_write(const struct emulate_file *file,
                            const struct emulate_argument *argument, uint8_t *to) {
    if (argument->kind == ARGUMENT_BUFFER) {
        memcpy(to, &file->buffers[argument->buffer].address, argument->bytes);
    } else if (argument->kind == ARGUMENT_TENSOR_MAP) {
        argument->map->address = file->buffers[argument->buffer].address;
        tmg_tensor_map_write(to, argument->map);
    } else {
        memcpy(to, argument->value, argument->bytes);
    }
    for (size_t i = 0; i < argument->part_count; i++)
        emulate_argument_write(file, &argument->parts[i], to + argument->parts[i].at);
}
