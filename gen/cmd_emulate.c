// tmagen emulate LAUNCH.yaml: runs anyone's PTX on the emulator, with what the file says of its
// launch. The file names buffers (from .npy, random, zeros or unwritten) and the entry's
// parameters in order.
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "gen/command.h"
#include "gen/memory.h"
#include "gen/npy.h"
#include "gen/spec.h"
#include "runtime/emu/emu.h"

enum { BUFFERS_MAX = 64, PARAMS_MAX = 256, RANK_MAX = 5 };

struct buffer {
    const char *name, *save;
    struct npy array;
    uint64_t address;
    bool written;  // it has contents before the launch
};

// A parameter's value; a tensor map is the largest.
struct param {
    unsigned char bytes[EMU_TENSOR_MAP_BYTES];
};

struct job {
    struct arena arena;
    struct diag *diag;
    struct spec_node *top;
    struct emu_memory *memory;
    struct emu_module *module;
    struct buffer buffers[BUFFERS_MAX];
    size_t buffer_count;
    struct param params[PARAMS_MAX];
    const void *pointers[PARAMS_MAX];
    struct emu_launch launch;
    int schedules;
};

// ---- Element types

static const struct dtype {
    const char *name, *descr;
    int tensor_map;  // CUtensorMapDataType, -1: none
} dtypes[] = {
    {"u8", "|u1", 0},   {"e4m3", "|u1", 0}, {"e5m2", "|u1", 0}, {"i8", "|i1", 0},
    {"u16", "<u2", 1},  {"i16", "<i2", -1}, {"u32", "<u4", 2},  {"i32", "<i4", 3},
    {"u64", "<u8", 4},  {"i64", "<i8", 5},  {"fp16", "<f2", 6}, {"fp32", "<f4", 7},
    {"fp64", "<f8", 8}, {"bf16", "<u2", 9},
};

static const struct dtype *dtype_named(const char *name) {
    for (size_t i = 0; name && i < sizeof dtypes / sizeof *dtypes; ++i)
        if (!strcmp(dtypes[i].name, name)) return &dtypes[i];
    return NULL;
}

// ---- Reading the file

static const char *text_of(const struct spec_node *map, const char *key) {
    const struct spec_node *node = map && map->kind == SPEC_MAP ? spec_get(map, key) : NULL;
    return node && node->kind == SPEC_SCALAR ? node->text : NULL;
}

static long long integer_of(struct job *job, const struct spec_node *node, long long least,
                            long long most) {
    long long value = least;
    double real;
    if (node->kind != SPEC_SCALAR || spec_scalar(node, &value, &real) != SPEC_INT ||
        value < least || value > most) {
        diag_error(job->diag, node->place, NULL, "an integer in %lld..%lld is due", least, most);
        return least;
    }
    return value;
}

static long long integer_at(struct job *job, const struct spec_node *map, const char *key,
                            long long fallback, long long least, long long most) {
    const struct spec_node *node = map && map->kind == SPEC_MAP ? spec_get(map, key) : NULL;
    return node ? integer_of(job, node, least, most) : fallback;
}

// A list of integers into [out]; returns how many.
static int integers_at(struct job *job, const struct spec_node *map, const char *key, int64_t *out,
                       int most) {
    const struct spec_node *list = spec_get(map, key);
    if (!list) return 0;
    if (list->kind != SPEC_LIST || list->count > (size_t)most) {
        diag_error(job->diag, list->place, NULL, "%s: a list of at most %d integers is due", key,
                   most);
        return 0;
    }
    for (size_t i = 0; i < list->count; ++i)
        out[i] = integer_of(job, list->values[i], 0, INT64_C(1) << 40);
    return (int)list->count;
}

static void triple_at(struct job *job, const char *key, unsigned out[3]) {
    int64_t values[3] = {1, 1, 1};
    integers_at(job, job->top, key, values, 3);
    for (int i = 0; i < 3; ++i) out[i] = (unsigned)values[i];
}

// ---- Buffers

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

// Random elements: floats in (-1, 1) of every width, integers in 0..15.
static void fill_random(struct npy *array, const struct dtype *dtype, uint64_t seed) {
    size_t element = strtoul(dtype->descr + 2, NULL, 10);
    unsigned char *out = array->data;
    for (size_t i = 0; i < array->bytes; i += element) {
        uint64_t bits = next_random(&seed);
        double unit = (double)bits / 1073741824.0 - 1.0;
        float single = (float)unit;
        uint32_t word;
        memcpy(&word, &single, 4);
        if (!strcmp(dtype->name, "fp64")) {
            memcpy(out + i, &unit, 8);
        } else if (!strcmp(dtype->name, "fp32")) {
            memcpy(out + i, &word, 4);
        } else if (!strcmp(dtype->name, "bf16")) {
            memcpy(out + i, (char *)&word + 2, 2);
        } else if (!strcmp(dtype->name, "fp16")) {  // sign and ten bits, in [0.5, 1)
            uint16_t half = (uint16_t)(0x3800 | (bits & 0x83ff));
            memcpy(out + i, &half, 2);
        } else {
            bits &= element == 1 && *dtype->name == 'e' ? 0xb7 : 15;  // fp8: no NaN
            memcpy(out + i, &bits, element);
        }
    }
}

static void read_buffer(struct job *job, const struct spec_node *key, const struct spec_node *map) {
    struct buffer *buffer = &job->buffers[job->buffer_count++];
    const char *from = text_of(map, "from"), *name = text_of(map, "dtype");
    const struct dtype *dtype = dtype_named(name);
    char error[300];
    buffer->name = key->text;
    buffer->save = text_of(map, "to");
    if (map->kind != SPEC_MAP || (!from && !dtype)) {
        diag_error(job->diag, map->place, "dtype and shape, or from: FILE.npy",
                   "%s: what it holds is not said", key->text);
        return;
    }
    if (from) {
        if (npy_read(from, &buffer->array, error, sizeof error))
            diag_error(job->diag, map->place, NULL, "%s", error);
    } else {
        buffer->array.rank = integers_at(job, map, "shape", buffer->array.shape, 8);
        size_t bytes = strtoul(dtype->descr + 2, NULL, 10);
        for (int i = 0; i < buffer->array.rank; ++i) {
            if (buffer->array.shape[i] &&
                bytes > ((size_t)1 << 36) / (size_t)buffer->array.shape[i]) {
                diag_error(job->diag, map->place, NULL, "%s: more than 64 GiB", key->text);
                return;
            }
            bytes *= (size_t)buffer->array.shape[i];
        }
        snprintf(buffer->array.descr, sizeof buffer->array.descr, "%s", dtype->descr);
        buffer->array.bytes = bytes;
        buffer->array.data = mem_zero(bytes + 1);
        if (spec_get(map, "random"))
            fill_random(&buffer->array, dtype,
                        (uint64_t)integer_at(job, map, "random", 0, 0, INT64_MAX) + 1);
    }
    if (!buffer->array.data) return;
    buffer->address = emu_memory_alloc(job->memory, buffer->array.bytes, buffer->name);
    if (!buffer->address)
        diag_error(job->diag, map->place, NULL, "%s: no memory for %zu bytes", buffer->name,
                   buffer->array.bytes);
    buffer->written = from || spec_get(map, "random") || spec_get(map, "zeros");
}

// Every launch starts from the same contents; what has none may not be read before it is written.
static void set_contents(struct job *job) {
    for (size_t i = 0; i < job->buffer_count; ++i) {
        const struct buffer *buffer = &job->buffers[i];
        if (buffer->written)
            emu_memory_write(job->memory, buffer->address, buffer->array.data, buffer->array.bytes);
        else
            emu_memory_poison(job->memory, buffer->address, buffer->array.bytes);
    }
}

static void read_buffers(struct job *job) {
    const struct spec_node *map = spec_get(job->top, "buffers");
    if (!map) return;
    if (map->kind != SPEC_MAP || map->count > BUFFERS_MAX) {
        diag_error(job->diag, map->place, NULL, "buffers: a map of at most %d buffers is due",
                   BUFFERS_MAX);
        return;
    }
    for (size_t i = 0; i < map->count; ++i) read_buffer(job, map->keys[i], map->values[i]);
}

static struct buffer *buffer_named(struct job *job, const struct spec_node *at, const char *name) {
    for (size_t i = 0; name && i < job->buffer_count; ++i)
        if (!strcmp(job->buffers[i].name, name)) return &job->buffers[i];
    diag_error(job->diag, at->place, NULL, "there is no buffer '%s'", name ? name : "");
    return NULL;
}

// ---- Parameters

static int swizzle_number(long long bytes) {
    return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
}

// {tensor_map: BUFFER, dtype, box, swizzle, dims, strides}: dims outermost first, strides in bytes.
static void read_tensor_map(struct job *job, const struct spec_node *map, struct param *param) {
    struct buffer *buffer = buffer_named(job, map, text_of(map, "tensor_map"));
    const struct dtype *dtype = dtype_named(text_of(map, "dtype"));
    int64_t dims[RANK_MAX], box[RANK_MAX], strides[RANK_MAX];
    uint64_t in_dims[RANK_MAX], in_strides[RANK_MAX];
    uint32_t in_box[RANK_MAX], ones[RANK_MAX] = {1, 1, 1, 1, 1};
    struct emu_error error;
    int rank = integers_at(job, map, "dims", dims, RANK_MAX);
    int given = integers_at(job, map, "strides", strides, RANK_MAX);
    if (!buffer) return;
    if (!rank && buffer->array.rank <= RANK_MAX) {
        rank = buffer->array.rank;
        memcpy(dims, buffer->array.shape, sizeof *dims * (size_t)rank);
    }
    if (!dtype || dtype->tensor_map < 0 || !rank ||
        integers_at(job, map, "box", box, RANK_MAX) != rank || (given && given != rank - 1)) {
        diag_error(job->diag, map->place, "dtype, box: [outermost, ..., innermost], swizzle: 128",
                   "the tensor map is not complete");
        return;
    }
    uint64_t stride = strtoul(dtype->descr + 2, NULL, 10);
    for (int i = 0; i < rank; ++i) {
        in_dims[i] = (uint64_t)dims[rank - 1 - i];
        in_box[i] = (uint32_t)box[rank - 1 - i];
        stride *= in_dims[i];
        in_strides[i] = given && i < rank - 1 ? (uint64_t)strides[rank - 2 - i] : stride;
    }
    if (emu_tensor_map_encode(param->bytes, dtype->tensor_map, (uint32_t)rank, buffer->address,
                              in_dims, in_strides, in_box, ones, 0,
                              swizzle_number(integer_at(job, map, "swizzle", 0, 0, 128)), 0,
                              (int)integer_at(job, map, "fill_nan", 0, 0, 1), &error))
        diag_error(job->diag, map->place, NULL, "%s", error.text);
}

static size_t read_scalar(struct job *job, const struct spec_node *map, struct param *param) {
    const struct dtype *dtype = dtype_named(text_of(map, "scalar"));
    const struct spec_node *node = spec_get(map, "value");
    long long integer = 0;
    double real = 0;
    if (!dtype || !node) {
        diag_error(job->diag, map->place, "{scalar: i32, value: 7}", "a dtype and a value are due");
        return 0;
    }
    enum spec_type type = spec_scalar(node, &integer, &real);
    size_t bytes = strtoul(dtype->descr + 2, NULL, 10);
    if (type == SPEC_INT) real = (double)integer;
    float single = (float)real;
    if (type != SPEC_INT && type != SPEC_FLOAT)
        diag_error(job->diag, node->place, NULL, "a number is due");
    else if (!strcmp(dtype->name, "fp32"))
        memcpy(param->bytes, &single, 4);
    else if (!strcmp(dtype->name, "fp64"))
        memcpy(param->bytes, &real, 8);
    else
        memcpy(param->bytes, &integer, bytes);
    return bytes;
}

// One parameter, which must be as large as the entry's.
static void read_param(struct job *job, const struct spec_node *map, int index) {
    struct param *param = &job->params[index];
    size_t wanted = emu_entry_param_size(job->module, job->launch.entry, index), bytes = 0;
    if (text_of(map, "buffer")) {
        struct buffer *buffer = buffer_named(job, map, text_of(map, "buffer"));
        uint64_t address = buffer ? buffer->address : 0;
        memcpy(param->bytes, &address, bytes = 8);
    } else if (text_of(map, "tensor_map")) {
        read_tensor_map(job, map, param);
        bytes = EMU_TENSOR_MAP_BYTES;
    } else if (text_of(map, "scalar")) {
        bytes = read_scalar(job, map, param);
    } else {
        diag_error(job->diag, map->place, "buffer: NAME, tensor_map: NAME, or scalar: DTYPE",
                   "parameter %d is none of these", index);
        return;
    }
    job->pointers[index] = param->bytes;
    if (bytes && bytes != wanted)
        diag_error(job->diag, map->place, NULL, "parameter %d has %zu bytes here and %zu in %s",
                   index, bytes, wanted, job->launch.entry);
}

static void read_params(struct job *job) {
    const struct spec_node *list = spec_get(job->top, "params");
    size_t count = list && list->kind == SPEC_LIST ? list->count : 0;
    int wanted = emu_entry_params(job->module, job->launch.entry);
    if ((list && list->kind != SPEC_LIST) || count > PARAMS_MAX || (int)count != wanted) {
        diag_error(job->diag, list ? list->place : job->top->place, NULL,
                   "params: %s takes %d parameters, %zu are listed", job->launch.entry, wanted,
                   count);
        return;
    }
    for (size_t i = 0; i < count; ++i) read_param(job, list->values[i], (int)i);
    job->launch.params = job->pointers;
    job->launch.param_count = count;
}

// ---- The module

static char *read_whole(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t capacity = 0;
    *bytes = 0;
    if (!file) return NULL;
    do {
        capacity = capacity ? 2 * capacity : 65536;
        text = mem_resize(text, capacity);
        *bytes += fread(text + *bytes, 1, capacity - *bytes, file);
    } while (*bytes == capacity && capacity < (size_t)1 << 30);
    fclose(file);
    return text;
}

// 0, or -1 after a message.
static int read_module(struct job *job) {
    const struct spec_node *node = spec_get(job->top, "ptx");
    struct emu_error error;
    size_t bytes;
    char *text = node && node->kind == SPEC_SCALAR ? read_whole(node->text, &bytes) : NULL;
    if (!text) {
        diag_error(job->diag, node ? node->place : job->top->place, "ptx: FILE.ptx",
                   "the PTX file cannot be read");
        return -1;
    }
    int status = emu_module_parse(node->text, text, bytes, &job->module, &error);
    free(text);
    if (status) {
        diag_say("%s", error.text);
        return -1;
    }
    job->launch.module = job->module;
    job->launch.entry = text_of(job->top, "entry");
    if (!job->launch.entry) job->launch.entry = emu_module_entry(job->module, 0);
    if (job->launch.entry && emu_entry_params(job->module, job->launch.entry) >= 0) return 0;
    diag_error(job->diag, job->top->place, NULL, "there is no entry %s in %s",
               job->launch.entry ? job->launch.entry : "at all", node->text);
    return -1;
}

// ---- Running

static void save_buffers(struct job *job) {
    char error[300];
    for (size_t i = 0; i < job->buffer_count; ++i) {
        struct buffer *buffer = &job->buffers[i];
        if (!buffer->save) continue;
        emu_memory_read(job->memory, buffer->array.data, buffer->address, buffer->array.bytes);
        if (npy_write(buffer->save, &buffer->array, error, sizeof error)) diag_say("%s", error);
    }
}

static int run(struct job *job) {
    struct emu_result result;
    struct emu_error error;
    int reported = 0;
    for (int i = 0; i < job->schedules && !reported; ++i) {
        set_contents(job);
        if (emu_launch_run(job->memory, &job->launch, &result, &error)) {
            diag_say("%s", error.text);
            return EXIT_USER;
        }
        for (size_t r = 0; r < result.report_count; ++r)
            fprintf(stderr, "%s%s", r ? "\n" : "", result.reports[r].text);
        reported = result.report_count > 0;
        if (reported) fprintf(stderr, "seed %llu\n", (unsigned long long)job->launch.seed);
        emu_result_free(&result);
        job->launch.seed++;
    }
    save_buffers(job);
    return reported ? EXIT_USER : EXIT_FINE;
}

static int emulate(struct job *job, const char *path) {
    job->top = spec_read(&job->arena, job->diag, path, NULL, 0);
    if (!job->top || read_module(job)) return EXIT_USER;
    triple_at(job, "grid", job->launch.grid);
    triple_at(job, "block", job->launch.block);
    if (spec_get(job->top, "cluster")) triple_at(job, "cluster", job->launch.cluster);
    job->launch.dynamic_smem = (unsigned)integer_at(job, job->top, "dynamic_shared", 0, 0, 1 << 20);
    job->launch.max_steps = (uint64_t)integer_at(job, job->top, "max_steps", 0, 0, INT64_MAX);
    if (!job->launch.seed)
        job->launch.seed = (uint64_t)integer_at(job, job->top, "seed", 1, 0, INT64_MAX);
    read_buffers(job);
    read_params(job);
    return diag_errors(job->diag) ? EXIT_USER : run(job);
}

// ---- The command line

enum { KEY_SEED = 0x3000, KEY_SCHEDULES, KEY_UNCHECKED };

static const struct argp_option options[] = {
    {"seed", KEY_SEED, "N", 0, "order of execution (default: the file's, else 1)", 0},
    {"schedules", KEY_SCHEDULES, "N", 0, "run under N seeds, up to the first report", 0},
    {"unchecked", KEY_UNCHECKED, NULL, 0, "no race, fence and initialisation checks", 0},
    {0},
};

struct arguments {
    struct job *job;
    const char *path;
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct arguments *arguments = state->input;
    switch (key) {
    case KEY_SEED: arguments->job->launch.seed = strtoull(argument, NULL, 10); return 0;
    case KEY_SCHEDULES:
        arguments->job->schedules = atoi(argument);
        if (arguments->job->schedules < 1) argp_error(state, "%s schedules", argument);
        return 0;
    case KEY_UNCHECKED: arguments->job->launch.unchecked = true; return 0;
    case ARGP_KEY_ARG:
        if (arguments->path) argp_usage(state);
        arguments->path = argument;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int cmd_emulate(int argc, char **argv) {
    static const struct argp argp = {
        options, parse, "LAUNCH.yaml", "Runs a PTX file on the CPU and reports what goes wrong.",
        NULL,    NULL,  NULL};
    struct job *job = mem_zero(sizeof *job);
    struct arguments arguments = {job, NULL};
    job->schedules = 1;
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    job->diag = diag_new();
    job->memory = emu_memory_new();
    int status = emulate(job, arguments.path);
    diag_print(job->diag, stderr);
    for (size_t i = 0; i < job->buffer_count; ++i) free(job->buffers[i].array.data);
    emu_module_free(job->module);
    emu_memory_delete(job->memory);
    diag_free(job->diag);
    arena_free(&job->arena);
    free(job);
    return status;
}
