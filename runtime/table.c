// Reads a dispatch table into plain rows, checking all of it, and holds its kernels to each other:
// they are called with the same tensors, so they must take the same.
#include "runtime/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/learned.h"
#include "runtime/manifest_read.h"
#include "runtime/table_measured.h"
#include "runtime/rules.h"

enum { MAX_FILE = 8 << 20, MOST_LEARNED = 1000000 };

static int compare_shapes(const int64_t *a, const int64_t *b) {
    for (int i = 0; i < TMG_MAX_TABLE_DIMS; ++i)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int compare_tuned(const void *left, const void *right) {
    const struct tmg_tuned *a = left, *b = right;
    const int order = compare_shapes(a->shape, b->shape);
    return order ? order : (a->alignment > b->alignment) - (a->alignment < b->alignment);
}

int tmg_table_kernel(const struct tmg_table *table, const char *name) {
    for (unsigned i = 0; i < table->kernel_count; ++i)
        if (!strcmp(table->kernels[i].name, name)) return (int)i;
    return -1;
}

const char *tmg_table_short_name(const char *name, const char *family) {
    const size_t length = strlen(family);
    return !strncmp(name, family, length) && name[length] == '_' ? name + length + 1 : name;
}

int tmg_table_launch(const struct tmg_table *table, int kernel, int splits) {
    const struct tmg_row *row = &table->kernels[kernel];
    if (!row->split_count) return (int)row->first_launch;
    for (unsigned i = 0; i < row->split_count; ++i)
        if (row->splits[i] == splits) return (int)(row->first_launch + i);
    return -1;
}

// ---- Members

static void read_splits(const struct tmg_node *node, struct tmg_row *row) {
    struct tmg_node list =
        tmg_node_array(node, "splits", 0, TMG_MAX_TABLE_SPLITS, &row->split_count);
    for (unsigned i = 0; i < row->split_count; ++i) {
        struct tmg_node item = tmg_node_item(&list, i);
        row->splits[i] = (int)tmg_node_integer(&item, 1, INT32_MAX, TMG_REQUIRED_INTEGER);
    }
}

static void read_kernel(const struct tmg_node *node, struct tmg_table *table) {
    struct tmg_row *row = &table->kernels[table->kernel_count];
    const struct tmg_node last = tmg_node_member(node, "last"),
                          nearby = tmg_node_member(node, "nearby");
    tmg_node_keys(node, "name splits last nearby");
    row->last = tmg_node_flag(&last, 0);
    row->nearby = tmg_node_flag(&nearby, 0);
    tmg_member_name(node, "name", row->name);
    read_splits(node, row);
    if (tmg_table_kernel(table, row->name) >= 0)
        tmg_node_fail(node, "repeats the kernel '%s'", row->name);
    table->launch_count += row->split_count ? row->split_count : 1;
    table->kernels[++table->kernel_count].first_launch = table->launch_count;
}

static int read_kernel_name(const struct tmg_node *object, const struct tmg_table *table) {
    char name[TMG_MAX_NAME];
    tmg_member_name(object, "kernel", name);
    const int kernel = tmg_table_kernel(table, name);
    if (kernel < 0) tmg_node_fail(object, "names no kernel of the table: '%s'", name);
    return kernel < 0 ? 0 : kernel;
}

// Reads the shape of an entry, and returns its alignment.
static int read_shape(const struct tmg_node *node, const struct tmg_table *table, int64_t *shape) {
    unsigned count;
    struct tmg_node list =
        tmg_node_array(node, "shape", table->dim_count, table->dim_count, &count);
    for (unsigned i = 0; i < count; ++i) {
        struct tmg_node item = tmg_node_item(&list, i);
        shape[i] = tmg_node_integer(&item, 1, TMG_MAX_EXTENT, TMG_REQUIRED_INTEGER);
    }
    const int alignment =
        (int)tmg_member_integer(node, "alignment", 1, TMG_LARGEST_CLASS, TMG_REQUIRED_INTEGER);
    if (alignment & (alignment - 1))
        tmg_node_fail(node, "has an alignment that is no power of two");
    return alignment;
}

static void read_tuned(const struct tmg_node *node, struct tmg_table *table) {
    struct tmg_tuned *tuned = &table->tuned[table->tuned_count++];
    tmg_node_keys(node, "shape alignment kernel splits us");
    tuned->alignment = read_shape(node, table, tuned->shape);
    tuned->splits = (int)tmg_member_integer(node, "splits", 1, INT32_MAX, 0);
    tuned->kernel = read_kernel_name(node, table);
    struct tmg_node us = tmg_node_member(node, "us");
    tuned->us = tmg_node_number(&us);
    if (!(tuned->us > 0)) tmg_node_fail(&us, "must be positive");
}

// Reads [count] whole numbers of thousandths. Returns what of [text] is something else, or NULL.
static const char *read_thousandths(const char *text, unsigned count, float *numbers) {
    for (unsigned i = 0; i < count; ++i) {
        const int below = *text == '-';
        const char *word = text, *digits = text += below;
        int64_t number = 0;
        for (; *text >= '0' && *text <= '9' && number <= MOST_LEARNED; ++text)
            number = 10 * number + (*text - '0');
        if (text == digits || number > MOST_LEARNED || (*text && *text != ' ')) return word;
        text += *text == ' ' && text[1];
        numbers[i] = (float)(below ? -number : number) * .001F;
    }
    return *text ? text : NULL;
}

// As with what was measured, a text each row: thousands of numbers would take long to open.
static void read_learned_row(const struct tmg_node *node, unsigned row,
                             struct tmg_learned *learned) {
    const unsigned inputs = learned->inputs, first = TMG_LEARNED_ROWS, second = first + inputs;
    struct tmg_network *network = &learned->network;
    float *to[] = {learned->center, learned->scale, network->offsets, network->second_offsets,
                   network->last};
    const unsigned counts[] = {inputs, inputs, TMG_LEARNED_UNITS, TMG_LEARNED_SECOND,
                               TMG_LEARNED_SECOND};
    const unsigned count = row < first    ? counts[row]
                           : row < second ? TMG_LEARNED_UNITS
                                          : TMG_LEARNED_SECOND;
    const char *text = json_string_value(node->value);
    float *numbers = row < first    ? to[row]
                     : row < second ? network->weights[row - first]
                                    : network->second[row - second];
    const char *word = text ? read_thousandths(text, count, numbers) : "";
    if (word)
        tmg_node_fail(
            node,
            "must be a text of %u thousandths, as 'tmagen tune learn' prints it: 12 -345%s%.*s",
            count, *word && *word != ' ' ? "; not one: " : "", (int)strcspn(word, " "), word);
    for (unsigned i = 0; row == 1 && i < inputs && !node->document->status; ++i)
        if (!(numbers[i] > 0)) tmg_node_fail(node, "has a scale that is not positive");
}

static int read_learned(const struct tmg_node *root, struct tmg_table *table) {
    enum { MOST = TMG_LEARNED_ROWS + TMG_LEARNED_INPUTS + TMG_LEARNED_UNITS };
    const unsigned inputs = tmg_learned_inputs(table->dim_count),
                   rows = TMG_LEARNED_ROWS + inputs + TMG_LEARNED_UNITS;
    unsigned count;
    struct tmg_node list = tmg_node_array(root, "learned", 0, MOST, &count);
    if (root->document->status || !count) return root->document->status;
    if (count != rows)
        tmg_node_fail(&list,
                      "has %u rows, and this library looks at %u: remove them, and learn anew",
                      count, rows);
    table->learned = calloc(1, sizeof *table->learned);
    if (!table->learned) return tmg_fail_memory();
    table->learned->inputs = inputs;
    for (unsigned i = 0; i < count && !root->document->status; ++i) {
        struct tmg_node item = tmg_node_item(&list, i);
        read_learned_row(&item, i, table->learned);
    }
    return root->document->status;
}

static void read_head(const struct tmg_node *root, struct tmg_table *table) {
    const struct tmg_node version = tmg_node_member(root, "tmagen_table");
    const struct tmg_node gpu = tmg_node_member(root, "gpu");
    const struct tmg_node rates = tmg_node_member(root, "rates");
    const int64_t number = tmg_node_integer(&version, 1, INT32_MAX, TMG_REQUIRED_INTEGER);
    if (number != TMG_TABLE_VERSION)
        tmg_node_fail(&version, "is %lld; this library knows version %d: %s", (long long)number,
                      TMG_TABLE_VERSION, "'tmagen gen' makes the table anew");
    tmg_node_keys(root,
                  "tmagen_table name family version gpu sms rates dims kernels tuned measured "
                  "learned");
    tmg_member_name(root, "name", table->name);
    tmg_member_name(root, "family", table->family);
    tmg_member_name(root, "version", table->version);
    const char *name = json_string_value(gpu.value);
    if (!name || !*name || strlen(name) >= sizeof table->gpu)
        tmg_node_fail(&gpu, "must be the GPU's name, of at most %d characters", TMG_MAX_NAME - 1);
    else
        memcpy(table->gpu, name, strlen(name) + 1);
    table->sms = (int)tmg_member_integer(root, "sms", 1, 4096, TMG_REQUIRED_INTEGER);
    tmg_rates_read(&rates, &table->rates);
}

static void read_dims(const struct tmg_node *root, struct tmg_table *table) {
    unsigned count;
    struct tmg_node list = tmg_node_array(root, "dims", 1, TMG_MAX_TABLE_DIMS, &count);
    for (unsigned i = 0; i < count; ++i) {
        struct tmg_node item = tmg_node_item(&list, i);
        tmg_node_name(&item, table->dims[i], TMG_MAX_NAME);
        for (unsigned j = 0; j < i; ++j)
            if (!strcmp(table->dims[i], table->dims[j])) tmg_node_fail(&item, "stands there twice");
    }
    table->dim_count = count;
}

static void check_repeats(const struct tmg_node *list, struct tmg_table *table) {
    qsort(table->tuned, table->tuned_count, sizeof *table->tuned, compare_tuned);
    for (unsigned i = 1; i < table->tuned_count; ++i)
        if (!compare_tuned(&table->tuned[i - 1], &table->tuned[i]))
            tmg_node_fail(list, "has two entries of one shape and alignment: %s and %s",
                          table->kernels[table->tuned[i - 1].kernel].name,
                          table->kernels[table->tuned[i].kernel].name);
}

static int read_lists(const struct tmg_node *root, struct tmg_table *table) {
    unsigned kernels, tuned, measured;
    struct tmg_node list = tmg_node_array(root, "kernels", 1, TMG_MAX_TABLE_KERNELS, &kernels);
    struct tmg_node entries = tmg_node_array(root, "tuned", 0, TMG_MAX_TUNED, &tuned);
    struct tmg_node shapes = tmg_node_array(root, "measured", 0, TMG_MAX_MEASURED, &measured);
    table->kernels = calloc(kernels + 1, sizeof *table->kernels);
    table->tuned = calloc(tuned + 1, sizeof *table->tuned);
    table->measured = calloc(measured + 1, sizeof *table->measured);
    if (!table->kernels || !table->tuned || !table->measured) return tmg_fail_memory();
    for (unsigned i = 0; i < kernels; ++i) {
        struct tmg_node item = tmg_node_item(&list, i);
        read_kernel(&item, table);
    }
    if (table->launch_count > TMG_MAX_LAUNCHES)
        tmg_node_fail(&list, "have %u splits in all; legal: up to %d", table->launch_count,
                      TMG_MAX_LAUNCHES);
    for (unsigned i = 0; i < tuned && !root->document->status; ++i) {
        struct tmg_node item = tmg_node_item(&entries, i);
        read_tuned(&item, table);
    }
    if (!root->document->status) check_repeats(&entries, table);
    return root->document->status ? root->document->status
                                  : tmg_measured_read(table, &shapes, measured);
}

int tmg_table_parse(const char *text, size_t bytes, const char *origin, struct tmg_table **out) {
    struct tmg_document document = {.origin = origin, .code = TMAGEN_ERROR_MANIFEST};
    const struct tmg_node root = tmg_node_parse(&document, text, bytes, MAX_FILE);
    if (!root.value) return document.status;
    struct tmg_table *table = calloc(1, sizeof *table);
    if (table && !document.status) read_head(&root, table);
    if (table && !document.status) read_dims(&root, table);
    int status = table ? document.status : tmg_fail_memory();
    if (!status) status = read_lists(&root, table);
    if (!status) status = read_learned(&root, table);
    json_decref(root.value);
    if (status) return tmg_table_free(table), status;
    *out = table;
    return TMAGEN_OK;
}

void tmg_table_free(struct tmg_table *table) {
    if (!table) return;
    for (unsigned i = 0; table->kernels && i < table->kernel_count; ++i)
        tmg_manifest_free(table->kernels[i].manifest);
    free(table->interface);
    free(table->kernels);
    free(table->tuned);
    free(table->measured);
    free(table->at);
    free(table->boxes);
    free(table->by_place);
    free(table->terms.of);
    free(table->terms.sizes);
    free(table->leasts.of);
    free(table->listed);
    free(table->misses);
    free(table->learned);
    free(table);
}

// ---- Manifests

// What of the dims of [b] an application would notice; "" for nothing.
static const char *other_dims(const struct tmg_manifest *a, const struct tmg_manifest *b) {
    if (a->dim_count != b->dim_count) return "another number of dims";
    for (unsigned i = 0; i < a->dim_count; ++i) {
        const struct tmg_dim *x = &a->dims[i], *y = &b->dims[i];
        if (strcmp(x->name, y->name)) return "other dims";
        if (x->derived != y->derived || (x->derived && !tmg_same_extent(&x->rule, &y->rule)))
            return "another rule for a dim that follows from others";
    }
    return "";
}

static const char *other_tensors(const struct tmg_manifest *a, const struct tmg_manifest *b) {
    if (a->tensor_count != b->tensor_count) return "another number of tensors";
    for (unsigned i = 0; i < a->tensor_count; ++i) {
        const struct tmg_tensor *x = &a->tensors[i], *y = &b->tensors[i];
        if (strcmp(x->name, y->name)) return "other tensors";
        if (x->dtype != y->dtype) return "a tensor of another type";
        if (x->rank != y->rank || x->reads != y->reads || x->writes != y->writes)
            return "a tensor of another rank or access";
        for (int axis = 0; axis < x->rank; ++axis)
            if (!tmg_same_extent(&x->dims[axis], &y->dims[axis])) return "a tensor of other sizes";
    }
    return "";
}

// Whether every scalar that a launch could give [a] is one of [b].
static int has_scalars(const struct tmg_manifest *a, const struct tmg_manifest *b) {
    for (unsigned i = 0; i < a->param_count; ++i) {
        int found = a->params[i].kind != TMG_PARAM_SCALAR;
        for (unsigned j = 0; j < b->param_count && !found; ++j)
            found = b->params[j].kind == TMG_PARAM_SCALAR &&
                    !strcmp(a->params[i].name, b->params[j].name);
        if (!found) return 0;
    }
    return 1;
}

// A set's kernels share a workspace, in which nothing but semaphores outlives a launch.
static int check_parts(const struct tmg_manifest *manifest) {
    for (unsigned i = 0; i < manifest->part_count; ++i)
        if (manifest->parts[i].zero == TMG_ZERO_LAUNCH)
            return tmg_fail(TMAGEN_ERROR_MANIFEST,
                            "%s: a part of its workspace is cleared before every launch, where "
                            "kernels of a set share semaphores",
                            manifest->name);
    return TMAGEN_OK;
}

int tmg_table_alike(const struct tmg_manifest *first, const struct tmg_manifest *other) {
    const char *what = other_dims(first, other);
    if (!*what) what = other_tensors(first, other);
    if (!*what && (!has_scalars(first, other) || !has_scalars(other, first)))
        what = "other scalars";
    if (!*what) return check_parts(other);
    return tmg_fail(TMAGEN_ERROR_MANIFEST,
                    "%s: has %s than %s; the kernels of a set are launched alike", other->name,
                    what, first->name);
}

static int check_row(const struct tmg_table *table, const struct tmg_row *row) {
    const struct tmg_manifest *manifest = row->manifest;
    if (strcmp(manifest->name, row->name))
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: its manifest is of '%s'", row->name,
                        manifest->name);
    if (strcmp(manifest->family, table->family))
        return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: is of the family %s, and not %s", row->name,
                        manifest->family, table->family);
    for (unsigned i = 0; i < row->split_count; ++i)
        if (row->splits[i] > manifest->grid.max_splits)
            return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: splits is %d; legal: 1 to %lld", row->name,
                            row->splits[i], (long long)manifest->grid.max_splits);
    return check_parts(manifest);
}

int tmg_table_take(struct tmg_table *table, unsigned index, const char *text, size_t bytes) {
    struct tmg_row *row = &table->kernels[index];
    int status = tmg_manifest_parse(text, bytes, row->name, &row->manifest);
    if (!status) row->rules = row->manifest->rules;
    if (!status) status = check_row(table, row);
    if (!status && table->kernels[0].manifest)
        status = tmg_table_alike(table->kernels[0].manifest, row->manifest);
    return status;
}

// ---- The interface

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void loosen_dim(struct tmg_dim *dim, const struct tmg_dim *other) {
    dim->multiple_of = common_divisor(dim->multiple_of, other->multiple_of);
    if (other->most > dim->most) dim->most = other->most;
    if (other->value != dim->value) dim->value = -1;
}

static void loosen(struct tmg_manifest *all, const struct tmg_manifest *other) {
    for (unsigned i = 0; i < all->dim_count; ++i) loosen_dim(&all->dims[i], &other->dims[i]);
    for (unsigned i = 0; i < all->tensor_count; ++i) {
        struct tmg_tensor *tensor = &all->tensors[i];
        const struct tmg_tensor *loose = &other->tensors[i];
        tensor->alignment = common_divisor(tensor->alignment, loose->alignment);
        tensor->stride_bytes_multiple =
            common_divisor(tensor->stride_bytes_multiple, loose->stride_bytes_multiple);
        tensor->takes_gaps |= loose->takes_gaps;
    }
    if (other->grid.max_splits > all->grid.max_splits)
        all->grid.max_splits = other->grid.max_splits;
    all->dependent_launch |= other->dependent_launch;
    all->varies_with_sms |= other->varies_with_sms;
    all->varies_with_splits |= other->varies_with_splits;
}

// Where the dims of shapes stand in the interface.
static int find_dims(struct tmg_table *table) {
    for (unsigned i = 0; i < table->dim_count; ++i) {
        table->shape_dims[i] = tmg_manifest_dim(table->interface, table->dims[i]);
        if (table->shape_dims[i] < 0)
            return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: its kernels have no dim '%s'", table->name,
                            table->dims[i]);
    }
    return TMAGEN_OK;
}

// The first kernel that asks the same of sizes and tensors: what it runs, they all do.
static unsigned first_alike(const struct tmg_table *table, unsigned kernel) {
    unsigned at = 0;
    while (!tmg_rules_alike(table->kernels[at].rules, table->kernels[kernel].rules)) ++at;
    return at;
}

// How far all kernels reach.
static void find_reach(struct tmg_table *table) {
    for (unsigned dim = 0; dim < table->kernels[0].rules->dim_count; ++dim) {
        table->reach[dim] = INT64_MAX;
        for (unsigned i = 0; i < table->kernel_count; ++i)
            if (table->kernels[i].rules->dims[dim].most < table->reach[dim])
                table->reach[dim] = table->kernels[i].rules->dims[dim].most;
    }
}

// What the kernels are made of, each size once.
static int join_terms(struct tmg_table *table) {
    table->terms.of = calloc(TMG_MAX_TERMS, sizeof *table->terms.of);
    table->terms.sizes = calloc(TMG_MAX_TERMS, sizeof *table->terms.sizes);
    if (!table->terms.of || !table->terms.sizes) return tmg_fail_memory();
    for (unsigned i = 0; i < table->kernel_count; ++i) {
        struct tmg_row *row = &table->kernels[i];
        if (!tmg_rules_join(row->manifest->rules, &table->terms))
            return tmg_fail(TMAGEN_ERROR_MANIFEST, "%s: its kernels have more than %d sizes",
                            table->name, TMG_MAX_TERMS);
    }
    return TMAGEN_OK;
}

static int list_launches(struct tmg_table *table) {
    table->listed = calloc(table->launch_count, sizeof *table->listed);
    if (!table->listed || !tmg_leasts_init(&table->leasts, table->launch_count))
        return tmg_fail_memory();
    for (unsigned i = 0; i < table->kernel_count; ++i) {
        const struct tmg_row *row = &table->kernels[i];
        struct tmg_listed listed = {.kernel = (unsigned short)i,
                                    .fits_as = (unsigned short)first_alike(table, i),
                                    .last = row->last != 0,
                                    .nearby = row->nearby != 0,
                                    .splits = (int)row->manifest->grid.splits};
        for (unsigned j = row->first_launch; j < row[1].first_launch; ++j) {
            if (row->split_count) listed.splits = row->splits[j - row->first_launch];
            table->listed[j] = listed;
            tmg_leasts_set(&table->leasts, j, row->manifest, listed.splits, &table->rates);
        }
    }
    return TMAGEN_OK;
}

int tmg_table_finish(struct tmg_table *table) {
    int status = join_terms(table);
    if (!status) status = list_launches(table);
    if (status) return status;
    find_reach(table);
    table->interface = tmg_manifest_loosen(table->kernels[0].manifest);
    if (!table->interface) return tmg_fail_memory();
    table->interface->rules = NULL;  // its own are looser
    table->interface->document = NULL;
    table->interface->source_sha256[0] = 0;
    for (unsigned i = 1; i < table->kernel_count; ++i)
        loosen(table->interface, table->kernels[i].manifest);
    snprintf(table->interface->name, TMG_MAX_NAME, "%s", table->name);
    for (unsigned i = 0; i < table->tuned_count; ++i) {
        const struct tmg_tuned *tuned = &table->tuned[i];
        const struct tmg_manifest *manifest = table->kernels[tuned->kernel].manifest;
        if (tuned->splits > manifest->grid.max_splits)
            return tmg_fail(TMAGEN_ERROR_MANIFEST,
                            "%s: a tuned entry splits %s by %d; legal: 1 to %lld", table->name,
                            manifest->name, tuned->splits, (long long)manifest->grid.max_splits);
    }
    return find_dims(table);
}

// ---- Looking up

int tmg_alignment_class(const struct tmg_binding *binding) {
    uint64_t bytes = TMG_LARGEST_CLASS;
    for (unsigned i = 0; i < binding->manifest->tensor_count; ++i) {
        const struct tmg_tensor *tensor = &binding->manifest->tensors[i];
        const int64_t bits = tmg_dtypes[tensor->dtype].bits;
        for (int axis = 0; axis + 1 < tensor->rank; ++axis)
            if (binding->tensors[i].dims[axis] > 1)
                bytes |= (uint64_t)(binding->tensors[i].strides[axis] * bits / 8);
    }
    return (int)(bytes & -bytes);
}

const struct tmg_tuned *tmg_table_find(const struct tmg_table *table, const int64_t *shape,
                                       int alignment) {
    struct tmg_tuned wanted = {.alignment = alignment};
    memcpy(wanted.shape, shape, table->dim_count * sizeof *shape);
    if (!table->tuned_count) return NULL;
    return bsearch(&wanted, table->tuned, table->tuned_count, sizeof *table->tuned, compare_tuned);
}
