// The rows of a reference, and how a problem is laid out from a manifest and the values of its
// dims. Everything here is the same for all families; what differs is in their rows and
// reference.c.
#include "measure/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/binding.h"
#include "runtime/error.h"

static const char *word(const json_t *rows, const char *name) {
    const char *text = json_string_value(json_object_get(rows, name));
    return text ? text : "";
}

int reference_read(const struct tmg_manifest *manifest, struct reference *reference) {
    const json_t *rows = manifest->reference;
    *reference = (struct reference){.name = manifest->family, .rows = rows};
    // "small" of a database's older manifest is a list: its dims are read all the same.
    if (!*word(rows, "dims") || !json_object_get(rows, "small")) {
        return tmg_fail(TMAGEN_ERROR_MANIFEST,
                        "%s: its manifest has no reference: family.lua says none", manifest->name);
    }
    reference->dims = word(rows, "dims");
    reference->typical = word(rows, "typical");
    reference->inputs = word(rows, "inputs");
    reference->verified = word(rows, "verified");
    reference->peer = word(rows, "peer");
    reference->matrix = json_is_true(json_object_get(rows, "matrix"));
    return TMAGEN_OK;
}

bool reference_lists(const char *words, const char *wanted) {
    const size_t len = strlen(wanted);
    while (words && *words) {
        const size_t size = strcspn(words, " ");
        if (size == len && !strncmp(words, wanted, len)) return true;
        words += size + (words[size] == ' ');
    }
    return false;
}

void reference_shapes(const struct reference *reference, const struct tmg_manifest *manifest,
                      const char *name, struct ref_shapes *shapes) {
    for (const char *at = word(reference->rows, name); *at; at += *at == ' ') {
        const char *const end = at + strcspn(at, " ");
        int64_t values[TMG_MAX_DIMS];
        for (size_t i = 0; i < TMG_MAX_DIMS; ++i) {
            char *behind = (char *)at;
            values[i] = at < end ? strtoll(at, &behind, 10) : 1;
            if (values[i] < 1) values[i] = 1;
            at = behind + (*behind == 'x');
        }
        at = end;
        ref_shapes_add(shapes, manifest, reference->dims, values);
    }
}

bool reference_draws(const struct reference *reference, const char *tensor) {
    return reference_lists(word(reference->rows, "draws"), tensor);
}

bool reference_leaves(const struct reference *reference, const char *tensor) {
    return reference_lists(word(reference->rows, "leaves"), tensor);
}

double reference_sum(const struct ref_problem *problem, const char *name) {
    const json_t *products = json_object_get(problem->reference->rows, name);
    double sum = 0;
    for (size_t i = 0; i < json_array_size(products); ++i) {
        const json_t *factors = json_array_get(products, i);
        double product = 1;
        for (size_t j = 0; j < json_array_size(factors); ++j) {
            const json_t *factor = json_array_get(factors, j);
            const char *dim = json_string_value(factor);
            product *= dim ? (double)ref_dim(problem, dim, 1) : json_number_value(factor);
        }
        sum += product;
    }
    return products ? sum : -1;
}

// An element of the output takes its share of the flops, at several times the cost of a kernel's,
// and as much again to be found.
double reference_cost(const struct ref_problem *problem) {
    double elements = 1;
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i) {
        const struct ref_tensor *tensor = &problem->tensors[i];
        if (tensor->declared->writes) elements = (double)tensor->count;
    }
    const double given = reference_sum(problem, "cost");
    return given > 0 ? given : 60 + 2 * fmax(ref_flops(problem), 0) / elements;
}

static int check_dims(const struct tmg_manifest *manifest, const int64_t *dims) {
    for (unsigned i = 0; i < manifest->dim_count; ++i) {
        const struct tmg_dim *dim = &manifest->dims[i];
        if (dim->value >= 0 && dims[i] != dim->value) {
            return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s = %lld, but the kernel is for %lld",
                            dim->name, (long long)dims[i], (long long)dim->value);
        }
        if (dims[i] < 1) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s is not positive", dim->name);
        if (dim->multiple_of > 1 && dims[i] % dim->multiple_of) {
            return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s = %lld is not a multiple of %lld", dim->name,
                            (long long)dims[i], (long long)dim->multiple_of);
        }
    }
    return TMAGEN_OK;
}

// Whether [extent] has a size that an int64_t holds.
static bool extent_value(const struct tmg_extent *extent, const int64_t *dims, int64_t *size) {
    int64_t product;
    if (extent->dim >= 0 && (__builtin_mul_overflow(extent->times, dims[extent->dim], &product) ||
                             __builtin_add_overflow(product, extent->plus, &product))) {
        return false;
    }
    *size = tmg_extent_value(extent, dims);
    return true;
}

// Gives the dims that follow from others, which stand before them, their values.
static int derive_dims(struct ref_problem *problem) {
    for (unsigned i = 0; i < problem->manifest->dim_count; ++i) {
        const struct tmg_dim *dim = &problem->manifest->dims[i];
        if (dim->derived && !extent_value(&dim->rule, problem->dims, &problem->dims[i])) {
            return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s is too large", dim->name);
        }
    }
    return TMAGEN_OK;
}

static int lay_out(struct ref_tensor *tensor, const int64_t *dims, int64_t row_padding) {
    const struct tmg_tensor *declared = tensor->declared;
    if (declared->dtype >= TMG_DTYPES_OF_HOST) {
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: no reference knows the element type %s",
                        declared->name, tmg_dtypes[declared->dtype].name);
    }
    tensor->dtype = declared->dtype;
    tensor->rank = declared->rank;
    tensor->count = 1;
    int64_t stride = 1;
    for (int axis = tensor->rank - 1; axis >= 0; --axis) {
        const struct tmg_extent *extent = &declared->dims[axis];
        int64_t size;
        if (!extent_value(extent, dims, &size)) {
            return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s is too large", declared->name);
        }
        if (size < 1) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s is empty", declared->name);
        tensor->dims[axis] = size;
        tensor->strides[axis] = stride;
        if (axis == tensor->rank - 1 && tensor->rank > 1 && declared->takes_gaps)
            size += row_padding;
        if (__builtin_mul_overflow(stride, size, &stride) || stride > INT64_MAX / 16) {
            return tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s is too large", declared->name);
        }
        tensor->count *= tensor->dims[axis];
    }
    tensor->bytes = (size_t)stride * tmg_dtype_bytes(tensor->dtype);
    return TMAGEN_OK;
}

int ref_problem_make(const struct tmg_manifest *manifest, const struct reference *reference,
                     const int64_t *dims, int64_t row_padding, struct ref_problem *problem) {
    *problem = (struct ref_problem){.manifest = manifest, .reference = reference, .inputs = ""};
    memcpy(problem->dims, dims, manifest->dim_count * sizeof *dims);
    int status = derive_dims(problem);
    if (status == TMAGEN_OK) status = check_dims(manifest, problem->dims);
    for (unsigned i = 0; status == TMAGEN_OK && i < manifest->tensor_count; ++i) {
        problem->tensors[i].declared = &manifest->tensors[i];
        status = lay_out(&problem->tensors[i], problem->dims, row_padding);
    }
    return status;
}

void ref_problem_free(struct ref_problem *problem) {
    for (unsigned i = 0; problem->manifest && i < problem->manifest->tensor_count; ++i) {
        free(problem->tensors[i].data);
        problem->tensors[i].data = NULL;
    }
    free(problem->described);
    problem->described = NULL;
}

const struct ref_tensor *ref_tensor_find(const struct ref_problem *problem, const char *name) {
    const int i = tmg_manifest_tensor(problem->manifest, name);
    return i < 0 ? NULL : &problem->tensors[i];
}

int64_t ref_dim(const struct ref_problem *problem, const char *name, int64_t otherwise) {
    const int i = tmg_manifest_dim(problem->manifest, name);
    return i < 0 ? otherwise : problem->dims[i];
}

int64_t ref_offset(const struct ref_tensor *tensor, const int64_t *index) {
    int64_t offset = 0;
    for (int axis = 0; axis < tensor->rank; ++axis) offset += index[axis] * tensor->strides[axis];
    return offset;
}

void ref_index(const struct ref_tensor *tensor, int64_t linear, int64_t *index) {
    for (int axis = tensor->rank - 1; axis >= 0; --axis) {
        index[axis] = linear % tensor->dims[axis];
        linear /= tensor->dims[axis];
    }
}

double ref_read(const struct ref_tensor *tensor, const int64_t *index) {
    const size_t bytes = tmg_dtype_bytes(tensor->dtype);
    return num_value(tensor->dtype,
                     (const char *)tensor->data + (size_t)ref_offset(tensor, index) * bytes);
}

double ref_flops(const struct ref_problem *problem) {
    return fmax(reference_sum(problem, "flops"), 0);
}

double ref_bytes(const struct ref_problem *problem) {
    const double given = reference_sum(problem, "bytes");
    if (given >= 0) return given;
    double bytes = 0;
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i) {
        const struct ref_tensor *tensor = &problem->tensors[i];
        const int passes = (tensor->declared->reads != 0) + (tensor->declared->writes != 0);
        bytes += (double)passes * (double)tensor->count * tmg_dtype_bytes(tensor->dtype);
    }
    return bytes;
}

int64_t ref_tile(const struct tmg_manifest *manifest, const char *dim, int64_t otherwise) {
    const int wanted = tmg_manifest_dim(manifest, dim);
    for (unsigned i = 0; i < manifest->grid.tile_count; ++i) {
        const struct tmg_tile *tile = &manifest->grid.tiles[i];
        if (wanted >= 0 && tile->extent.dim == wanted && tile->extent.times == 1)
            return tile->extent.by;
    }
    return otherwise;
}

// The value of dim [i] in a shape whose values follow [names]; 1 where the name is not listed.
static int64_t named_value(const struct tmg_dim *dim, const char *names, const int64_t *values) {
    const size_t len = strlen(dim->name);
    for (size_t i = 0; *names; ++i) {
        const size_t word = strcspn(names, " ");
        if (word == len && !strncmp(names, dim->name, len)) return values[i];
        names += word + (names[word] == ' ');
    }
    return 1;
}

void ref_shapes_add(struct ref_shapes *shapes, const struct tmg_manifest *manifest,
                    const char *names, const int64_t *values) {
    int64_t shape[TMG_MAX_DIMS] = {0};
    for (unsigned i = 0; i < manifest->dim_count; ++i) {
        const struct tmg_dim *dim = &manifest->dims[i];
        const int64_t multiple = dim->multiple_of > 1 ? dim->multiple_of : 1;
        const int64_t value = named_value(dim, names, values);
        shape[i] = dim->value >= 0 ? dim->value : (value + multiple - 1) / multiple * multiple;
    }
    for (size_t i = 0; i < shapes->count; ++i) {
        if (!memcmp(shapes->shapes[i], shape, sizeof shape)) return;
    }
    if (shapes->count == shapes->capacity) {
        const size_t capacity = shapes->capacity ? 2 * shapes->capacity : 16;
        void *grown = realloc(shapes->shapes, capacity * sizeof *shapes->shapes);
        if (!grown) return;
        shapes->shapes = grown;
        shapes->capacity = capacity;
    }
    memcpy(shapes->shapes[shapes->count++], shape, sizeof shape);
}

void ref_shapes_free(struct ref_shapes *shapes) {
    free(shapes->shapes);
    *shapes = (struct ref_shapes){0};
}

void ref_spans_add(struct ref_spans *spans, struct ref_span span) {
    ++spans->total;
    if (spans->count == REF_SPANS_MAX) return;
    if (spans->count == spans->capacity) {
        const size_t capacity = spans->capacity ? 2 * spans->capacity : 64;
        void *grown = realloc(spans->spans, capacity * sizeof *spans->spans);
        if (!grown) return;
        spans->spans = grown;
        spans->capacity = capacity;
    }
    spans->spans[spans->count++] = span;
}

void ref_spans_free(struct ref_spans *spans) {
    free(spans->spans);
    *spans = (struct ref_spans){0};
}

size_t ref_scalars(const struct ref_problem *problem, tmagen_scalar *scalars) {
    const json_t *rows = json_object_get(problem->reference->rows, "scalars");
    size_t count = 0;
    for (unsigned i = 0; i < problem->manifest->param_count; ++i) {
        const struct tmg_param *param = &problem->manifest->params[i];
        if (param->kind != TMG_PARAM_SCALAR) continue;
        const json_t *row = json_object_get(rows, param->name);
        const json_t *value = json_object_get(row, problem->inputs ? problem->inputs : "");
        if (!value) value = json_object_get(row, "usual");
        if (value) scalars[count++] = (tmagen_scalar){param->name, json_number_value(value)};
    }
    return count;
}
