// A reference's code at work: opened in one of three ways, and asked for inputs and elements.
// The functions of the families' own header are used here too, so that they mean the same.
#include "measure/reference_code.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>

#include "measure/freivalds.h"
#include "measure/parallel.h"
#include "measure/random.h"
#include "runtime/device.h"
#include "runtime/error.h"

#define REFERENCE_FUNCTIONS_ONLY
#include "templates/lib/reference.h"

_Static_assert((int)BF16 == TMG_DTYPE_BF16 && (int)FP16 == TMG_DTYPE_FP16 &&
                   (int)FP32 == TMG_DTYPE_FP32 && (int)FP64 == TMG_DTYPE_FP64 &&
                   (int)E4M3 == TMG_DTYPE_E4M3 && (int)E5M2 == TMG_DTYPE_E5M2 &&
                   (int)I8 == TMG_DTYPE_I8 && (int)U64 == TMG_DTYPE_U64,
               "reference.h and numbers.h number the types alike");
_Static_assert(sizeof(struct value) == sizeof(struct ref_value), "they are copied");

// ---- Opening

const struct reference_code *reference_built(const char *family) {
    for (size_t i = 0; references_built[i].family; ++i) {
        if (!strcmp(references_built[i].family, family)) return references_built[i].code;
    }
    return NULL;
}

static bool is_gpu(const tmagen_device *device) {
    return device && device->backend->kind != TMAGEN_PTX;
}

// The code as a function of this process; else on the GPU, or on an emulator.
static int open_code(const struct reference_text *text, tmagen_device *gpu,
                     struct reference *reference) {
    reference->code = text->built;
    if (reference->code) return TMAGEN_OK;
    int status = reference_compile(text, reference);
    if (status != TMAGEN_ERROR_NO_COMPILER) return status;
    fprintf(stderr, "tmagen: note: %s; so %s runs %s\n", tmagen_error_last(),
            gpu ? "the GPU" : "the emulator", text->files->path);
    return ref_kernel_open(text, gpu, &reference->kernel);
}

int reference_open(const struct tmg_manifest *manifest, const struct reference_text *text,
                   tmagen_device *device, struct reference *reference) {
    int status = reference_read(manifest, reference);
    if (status != TMAGEN_OK) return status;
    if (!text->count) {
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: family %s has no reference.c to compare with",
                        manifest->name, manifest->family);
    }
    tmagen_device *gpu = is_gpu(device) ? device : NULL;
    status = open_code(text, gpu, reference);
    const bool by_product = json_is_object(json_object_get(reference->rows, "product"));
    if (status != TMAGEN_OK || !gpu || by_product || reference->kernel) return status;
    if (ref_kernel_open(text, gpu, &reference->kernel)) {
        fprintf(stderr, "tmagen: note: large results of %s are only sampled: %s\n", reference->name,
                tmagen_error_last());
    }
    return TMAGEN_OK;
}

int reference_lack(const struct tmg_manifest *manifest, struct reference *reference) {
    *reference =
        (struct reference){.name = manifest->family, .typical = "", .inputs = "", .peer = ""};
    reference->own_dims = calloc(manifest->dim_count + 1, TMG_MAX_NAME + 1);
    if (!reference->own_dims) return tmg_fail_memory();
    for (unsigned i = 0; i < manifest->dim_count; ++i) {
        if (i) strcat(reference->own_dims, " ");
        strcat(reference->own_dims, manifest->dims[i].name);
    }
    reference->dims = reference->own_dims;
    return TMAGEN_OK;
}

void reference_close(struct reference *reference) {
    ref_kernel_close(reference->kernel);
    if (reference->library) dlclose(reference->library);
    free(reference->own_dims);
    *reference = (struct reference){0};
}

// ---- Describing

// Copies a text; false where it is too long.
static bool copy_text(char *to, const char *from, size_t size) {
    const size_t len = strlen(from);
    if (len < size) memcpy(to, from, len + 1);
    return len < size;
}

static bool copy_name(char to[REFERENCE_NAME], const char *from) {
    return copy_text(to, from, REFERENCE_NAME);
}

// Setting [i] ends the chain that its key belongs to. False where another name has the same key.
static bool add_key(struct problem *to, int i) {
    const uint32_t key = to->keys[i] = key_of(to->settings[i].name);
    uint16_t *end = &to->first[key % REFERENCE_CHAINS];
    for (; *end; end = &to->next[*end - 1]) {
        if (to->keys[*end - 1] == key && strcmp(to->settings[*end - 1].name, to->settings[i].name))
            return false;
    }
    *end = (uint16_t)(i + 1);
    return true;
}

// [name], which is the [count]th, gets its key. False where another has the same.
static bool add_name(uint32_t *keys, int count, const char *name) {
    keys[count] = key_of(name);
    for (int i = 0; i < count; ++i) {
        if (keys[i] == keys[count]) return false;
    }
    return true;
}

// Adds [value] under [name]: a number, a truth or a word, and of an array or object its members.
static bool add_setting(struct problem *to, const char *name, json_t *value) {
    size_t i;
    json_t *item;
    const char *key;
    if (json_is_array(value)) {
        json_array_foreach(value, i, item) {
            if (!add_setting(to, name, item)) return false;
        }
        return true;
    }
    if (json_is_object(value)) {
        json_object_foreach(value, key, item) {
            char path[2 * REFERENCE_NAME];
            const int len = snprintf(path, sizeof path, "%s%s%s", name, *name ? "." : "", key);
            if (len >= (int)sizeof path || !add_setting(to, path, item)) return false;
        }
        return true;
    }
    if (to->setting_count == REFERENCE_VALUES) return false;
    struct setting *setting = &to->settings[to->setting_count++];
    setting->number = json_is_true(value) ? 1 : json_number_value(value);
    return copy_name(setting->name, name) && add_key(to, to->setting_count - 1) &&
           (!json_is_string(value) ||
            copy_text(setting->text, json_string_value(value), REFERENCE_TEXT));
}

static bool describe_tensor(const struct ref_tensor *from, uint64_t seed, struct tensor *to) {
    *to = (struct tensor){.type = (int)from->dtype, .rank = from->rank, .data = from->data};
    to->seed = seed;
    to->quantiles = random_quantiles(from->dtype);
    memcpy(to->dims, from->dims, sizeof to->dims);
    memcpy(to->strides, from->strides, sizeof to->strides);
    return to->quantiles && copy_name(to->name, from->declared->name);
}

int reference_describe(struct ref_problem *problem, uint64_t seed) {
    const struct tmg_manifest *manifest = problem->manifest;
    static atomic_uint_fast64_t described;
    struct problem *to = problem->described = calloc(1, sizeof *to);
    if (!to) return tmg_fail_memory();
    to->number = 1 + atomic_fetch_add(&described, 1);
    bool fits = manifest->tensor_count <= REFERENCE_TENSORS &&
                manifest->dim_count <= REFERENCE_DIMS &&
                strlen(problem->inputs) < sizeof to->inputs;
    for (unsigned i = 0; fits && i < manifest->tensor_count; ++i) {
        fits = describe_tensor(&problem->tensors[i], random_seed(seed, i), &to->tensors[i]) &&
               add_name(to->tensor_keys, to->tensor_count++, to->tensors[i].name);
        uint8_t *first = &to->tensor_first[to->tensor_keys[i] % REFERENCE_CHAINS];
        to->tensor_next[i] = *first;
        *first = (uint8_t)(i + 1);
    }
    for (unsigned i = 0; fits && i < manifest->dim_count; ++i) {
        fits = copy_name(to->dims[i].name, manifest->dims[i].name) &&
               add_name(to->dim_keys, to->dim_count++, to->dims[i].name);
        to->dims[i].value = problem->dims[i];
    }
    tmagen_scalar scalars[TMG_MAX_PARAMS];
    const size_t scalar_count = ref_scalars(problem, scalars);
    for (size_t i = 0; fits && i < scalar_count; ++i) {
        json_t *value = json_real(scalars[i].value);
        fits = value && add_setting(to, scalars[i].name, value);
        json_decref(value);
    }
    json_t *values = json_object_get(problem->reference->rows, "values");
    if (fits && values) fits = add_setting(to, "", values);
    if (!fits)
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: too much for a reference", manifest->name);
    memcpy(to->inputs, problem->inputs, strlen(problem->inputs) + 1);
    return TMAGEN_OK;
}

// ---- Drawing

struct drawing {
    const struct ref_problem *problem;
    const struct tensor *tensor;
    void (*draw)(const struct problem *, const struct tensor *, const int64_t *row);
};

static void draw_rows(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const struct drawing *drawing = context;
    const struct tensor *t = drawing->tensor;
    for (int64_t i = begin; i < end; ++i) {
        int64_t row[TMAGEN_MAX_RANK], rest = i;
        for (int axis = t->rank - 2; axis >= 0; --axis) {
            row[axis] = rest % t->dims[axis];
            rest /= t->dims[axis];
        }
        drawing->draw(drawing->problem->described, t, row);
    }
}

// What is drawn of a tensor of which reference.c says nothing, where the inputs are not usual ones.
static void draw_plain(const struct problem *p, const struct tensor *t, const int64_t *row) {
    const int64_t first = row_of(t, row);
    for (int64_t i = 0; i < t->dims[t->rank - 1]; ++i) put_drawn(p, t, first + i, first + i, 0);
}

static int fill_tensor(struct ref_problem *problem, unsigned number) {
    const struct reference *reference = problem->reference;
    struct ref_tensor *tensor = &problem->tensors[number];
    const struct tensor *t = &problem->described->tensors[number];
    const bool own = reference_draws(reference, tensor->declared->name);
    const bool odd = !strcmp(problem->inputs, "special") || !strcmp(problem->inputs, "exact");
    if (!own && !odd) {
        const size_t count = tensor->bytes / tmg_dtype_bytes(tensor->dtype);
        const int failed = random_normal(tensor->dtype, tensor->data, count, t->seed);
        return failed ? tmg_fail_memory() : TMAGEN_OK;
    }
    if (own && !reference->code) return ref_kernel_fill(reference->kernel, problem, number);
    if (own && !reference->code->draw) {
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: its reference.c draws nothing, as %s is to be",
                        problem->manifest->name, tensor->declared->name);
    }
    struct drawing drawing = {problem, t, own ? reference->code->draw : draw_plain};
    parallel_for(tensor->count / tensor->dims[tensor->rank - 1], 16, draw_rows, &drawing);
    return TMAGEN_OK;
}

static void poison_gaps(struct ref_tensor *tensor) {
    const size_t bytes = tmg_dtype_bytes(tensor->dtype);
    const size_t used = (size_t)tensor->dims[tensor->rank - 1] * bytes;
    const size_t row = tensor->rank > 1 ? (size_t)tensor->strides[tensor->rank - 2] * bytes : used;
    for (size_t at = 0; row > used && at < tensor->bytes; at += row) {
        memset((char *)tensor->data + at + used, 0xff, row - used);
    }
}

int ref_problem_fill_some(struct ref_problem *problem, uint64_t seed, const bool *wanted) {
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i) {
        if (!wanted[i]) continue;
        problem->tensors[i].data = malloc(problem->tensors[i].bytes);
        if (!problem->tensors[i].data) return tmg_fail_memory();
    }
    int status = reference_describe(problem, seed);
    for (unsigned i = 0; status == TMAGEN_OK && i < problem->manifest->tensor_count; ++i) {
        if (!wanted[i] || !problem->tensors[i].declared->reads) continue;
        status = fill_tensor(problem, i);
        poison_gaps(&problem->tensors[i]);
    }
    return status;
}

int ref_problem_fill(struct ref_problem *problem, uint64_t seed) {
    bool all[TMG_MAX_TENSORS];
    for (unsigned i = 0; i < TMG_MAX_TENSORS; ++i) all[i] = true;
    return ref_problem_fill_some(problem, seed, all);
}

// ---- Elements

struct asking {
    const struct ref_problem *problem;
    const struct ref_tensor *output;
    const int64_t *list;
    int64_t first;
    struct ref_value *values;
};

static unsigned number_of_tensor(const struct ref_problem *problem,
                                 const struct ref_tensor *tensor) {
    return (unsigned)(tensor - problem->tensors);
}

// The index behind [index].
static void advance(const struct ref_tensor *output, int64_t *index) {
    for (int axis = output->rank - 1; axis >= 0 && ++index[axis] == output->dims[axis]; --axis)
        index[axis] = 0;
}

static void ask_range(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const struct asking *asking = context;
    const struct problem *p = asking->problem->described;
    const struct tensor *out = &p->tensors[number_of_tensor(asking->problem, asking->output)];
    int64_t index[TMAGEN_MAX_RANK], before = -2;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t linear = asking->list ? asking->list[i] : asking->first + i;
        if (linear == before + 1)
            advance(asking->output, index);
        else
            ref_index(asking->output, linear, index);
        before = linear;
        const struct value value = asking->problem->reference->code->element(p, out, index);
        asking->values[i] = (struct ref_value){value.value, value.bound};
    }
}

// Decodes the inputs, as far as floats hold them: once, where elements are asked for that read each
// several times.
static void decode_inputs(const struct ref_problem *problem, double reads) {
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i) {
        const struct ref_tensor *tensor = &problem->tensors[i];
        const size_t bytes = tmg_dtype_bytes(tensor->dtype), count = tensor->bytes / bytes;
        if (tensor->declared->writes || reads < 2 * (double)count) continue;
        if (bytes > 2 && tensor->dtype != TMG_DTYPE_FP32) continue;
        float *numbers = malloc(count * sizeof *numbers);
        if (numbers) num_decode(tensor->dtype, tensor->data, numbers, count);
        problem->described->tensors[i].numbers = numbers;
    }
}

static void forget_numbers(const struct ref_problem *problem) {
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i) {
        free((void *)problem->described->tensors[i].numbers);
        problem->described->tensors[i].numbers = NULL;
    }
}

int reference_values(const struct ref_problem *problem, const struct ref_tensor *output,
                     const int64_t *list, int64_t first, int64_t count, struct ref_value *values) {
    const struct reference *reference = problem->reference;
    if (!reference->code) {
        return ref_kernel_values(reference->kernel, problem, number_of_tensor(problem, output),
                                 list, first, count, values);
    }
    struct asking asking = {problem, output, list, first, values};
    decode_inputs(problem, (double)count * reference_cost(problem));
    parallel_for(count, parallel_grain(count), ask_range, &asking);
    forget_numbers(problem);
    return TMAGEN_OK;
}

double reference_error(enum tmg_dtype_id dtype, struct ref_value want, double got) {
    struct tensor out;
    out.type = (int)dtype;  // all that is looked at
    return error_of(&out, (struct value){want.value, want.tolerance}, got);
}

// ---- The whole

static const struct ref_tensor *factor(const struct ref_problem *problem, const json_t *product,
                                       const char *name) {
    const char *tensor = json_string_value(json_object_get(product, name));
    return tensor ? ref_tensor_find(problem, tensor) : NULL;
}

// The deviation of an fp32 sum of 16-bit products: each step of 16 along k adds 2^-21. Where wgmma
// keeps so few bits that its cuts are a walk, .25 sqrt(k) of them, k up to where sums are promoted.
static double accumulation(const json_t *product, const struct ref_tensor *a, bool a_columns) {
    const double k = a && a->rank == 2 ? (double)a->dims[!a_columns] : 0;
    const int bits = (int)json_integer_value(json_object_get(product, "sum_bits"));
    const double promoted = json_number_value(json_object_get(product, "promoted"));
    const double walk = promoted > 0 ? fmin(promoted, k) : k;
    if (bits > 0) return ldexp(.25 * sqrt(walk), -bits);
    return 0x1p-21 * (k / 16 + 8);
}

static int check_product(const struct ref_problem *problem, const json_t *product,
                         const struct ref_tensor *output, uint64_t seed, struct ref_spans *spans) {
    const bool a_columns = json_is_true(json_object_get(product, "a_columns"));
    const bool b_columns = json_is_true(json_object_get(product, "b_columns"));
    const struct freivalds check = {
        .a_columns = a_columns,
        .b_columns = b_columns,
        .a = factor(problem, product, "a"),
        .b = factor(problem, product, "b"),
        .bias = factor(problem, product, "bias"),
        .d = output,
        .accumulation = accumulation(product, factor(problem, product, "a"), a_columns),
    };
    if (!check.a || !check.b || check.a->rank != 2 || check.b->rank != 2 || output->rank != 2 ||
        check.a->dims[!a_columns] != check.b->dims[!b_columns] ||
        check.a->dims[a_columns] != output->dims[0] ||
        check.b->dims[b_columns] != output->dims[1]) {
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: reference: product: not matrices that fit %s",
                        problem->manifest->name, output->declared->name);
    }
    return freivalds_check(&check, seed, spans) ? tmg_fail_memory() : TMAGEN_OK;
}

int reference_suspects(const struct ref_problem *problem, const struct ref_tensor *output,
                       uint64_t seed, struct ref_spans *spans, bool *whole) {
    const json_t *product = json_object_get(problem->reference->rows, "product");
    struct ref_kernel *kernel = problem->reference->kernel;
    *whole = product || kernel;
    if (product) return check_product(problem, product, output, seed, spans);
    if (!kernel) return TMAGEN_OK;
    return ref_kernel_suspects(kernel, problem, number_of_tensor(problem, output), spans);
}
