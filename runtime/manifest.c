// Reads a launch manifest into plain tables, checking all of it.
// Strict: an unknown member could mean something to the kernel, so it is an error and not ignored.
#include "runtime/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/whole_file.h"
#include "runtime/manifest_read.h"
#include "runtime/rules.h"

enum { MAX_FILE = 1 << 20, MAX_BARRIER_THREADS = (1 << 20) - 1 };

// ---- Dims and tensors

// A dim that follows from another, as blocks = ceil(k / 128).
static void read_derived(const struct tmg_node *node, const struct tmg_manifest *manifest,
                         struct tmg_dim *dim) {
    struct tmg_node rule = tmg_node_member(node, "ceil");
    tmg_node_keys(node, "name ceil");
    tmg_node_keys(&rule, "dim times plus by");
    dim->derived = 1;
    dim->rule = tmg_read_product(&rule, manifest);
}

static void read_dim(const struct tmg_node *node, struct tmg_manifest *manifest) {
    struct tmg_dim dim = {0};
    if (json_object_get(node->value, "ceil"))
        read_derived(node, manifest, &dim);
    else
        tmg_node_keys(node, "name multiple_of value most");
    tmg_member_name(node, "name", dim.name);
    dim.multiple_of = tmg_member_integer(node, "multiple_of", 1, TMG_MAX_EXTENT, 1);
    dim.value = tmg_member_integer(node, "value", 1, TMG_MAX_EXTENT, -1);
    dim.most = tmg_member_integer(node, "most", dim.multiple_of, TMG_MAX_EXTENT, TMG_MAX_EXTENT);
    if (tmg_manifest_dim(manifest, dim.name) >= 0)
        tmg_node_fail(node, "repeats the name '%s'", dim.name);
    if (dim.value > 0 && dim.value % dim.multiple_of)
        tmg_node_fail(node, "has a value that is no multiple of its multiple_of");
    if (dim.value > dim.most) tmg_node_fail(node, "has a value that is more than its most");
    manifest->dims[manifest->dim_count++] = dim;
}

// What the kernel found out about a tensor's elements, if [node] is that: one i32 that it writes.
static void read_tells_of(const struct tmg_node *node, const struct tmg_manifest *manifest,
                          struct tmg_tensor *tensor) {
    struct tmg_node of = tmg_node_member(node, "tells_of");
    char name[TMG_MAX_NAME];
    if (!of.value) return;
    tmg_node_name(&of, name, sizeof name);
    tensor->tells_of = 1 + tmg_manifest_tensor(manifest, name);
    if (!tensor->tells_of) tmg_node_fail(&of, "'%s' is no tensor before this one", name);
    const struct tmg_extent *size = &tensor->dims[0];
    if (tensor->rank != 1 || size->dim >= 0 || size->plus != 1 || !tensor->writes ||
        tensor->dtype != TMG_DTYPE_I32)
        tmg_node_fail(&of, "stands in a tensor that is not one i32 that is written");
}

static void read_tensor(const struct tmg_node *node, struct tmg_manifest *manifest) {
    static const char *const accesses[] = {"read", "write", "read_write", NULL};
    struct tmg_tensor tensor = {0};
    tmg_node_keys(node, "name dtype dims access alignment stride_bytes_multiple tells_of");
    tmg_member_name(node, "name", tensor.name);
    tmg_read_matrix(node, manifest, &tensor);
    int access = tmg_member_choice(node, "access", accesses, -1);
    tensor.reads = access != 1;
    tensor.writes = access != 0;
    tensor.alignment =
        tmg_member_integer(node, "alignment", 1, 4096, tmg_dtype_bytes(tensor.dtype));
    read_tells_of(node, manifest, &tensor);
    if (tmg_manifest_tensor(manifest, tensor.name) >= 0)
        tmg_node_fail(node, "repeats the name '%s'", tensor.name);
    manifest->tensors[manifest->tensor_count++] = tensor;
}

// ---- The head

static void read_digest(const struct tmg_node *root, char digest[TMAGEN_KEY_CHARS]) {
    struct tmg_node node = tmg_node_member(root, "source_sha256");
    if (!node.value) return;
    tmg_node_name(&node, digest, TMAGEN_KEY_CHARS);
    if (strspn(digest, "0123456789abcdef") != TMAGEN_KEY_CHARS - 1)
        tmg_node_fail(&node, "is no SHA-256; legal: 64 digits of 0..9 and a..f");
}

static void read_head(const struct tmg_node *root, struct tmg_manifest *manifest) {
    struct tmg_node version = tmg_node_member(root, "tmagen_manifest");
    int64_t number = tmg_node_integer(&version, 1, INT32_MAX, TMG_REQUIRED_INTEGER);
    if (number != TMG_MANIFEST_VERSION)
        tmg_node_fail(&version, "is %lld; this library knows version %d: %s", (long long)number,
                      TMG_MANIFEST_VERSION,
                      number < TMG_MANIFEST_VERSION ? "'tmagen gen' makes the kernel anew"
                                                    : "a newer library knows it");
    tmg_node_keys(root, "tmagen_manifest name family entry arch source source_sha256 block cluster "
                        "shared_memory budget dims tensors grid params workspace before ops cost "
                        "varies_with dependent_launch barriers roles reference");
    struct tmg_node arch = tmg_node_member(root, "arch");
    tmg_member_name(root, "name", manifest->name);
    tmg_member_name(root, "family", manifest->family);
    tmg_member_name(root, "entry", manifest->entry);
    tmg_member_name(root, "source", manifest->source);
    read_digest(root, manifest->source_sha256);
    tmg_node_name(&arch, manifest->arch, sizeof manifest->arch);
    tmg_read_block(root, manifest);
    struct tmg_node budget = tmg_node_member(root, "budget");
    if (budget.value) tmg_node_keys(&budget, "registers spill_bytes shared_memory");
    manifest->budget_registers = tmg_member_integer(&budget, "registers", 1, 255, -1);
    manifest->budget_spill_bytes = tmg_member_integer(&budget, "spill_bytes", 0, INT32_MAX, -1);
}

static void read_tables(const struct tmg_node *root, struct tmg_manifest *manifest) {
    unsigned count;
    struct tmg_node list = tmg_node_array(root, "dims", 0, TMG_MAX_DIMS, &count);
    for (unsigned i = 0; i < count; ++i) {
        struct tmg_node item = tmg_node_item(&list, i);
        read_dim(&item, manifest);
    }
    struct tmg_node tensors = tmg_node_array(root, "tensors", 0, TMG_MAX_TENSORS, &count);
    for (unsigned i = 0; i < count; ++i) {
        struct tmg_node item = tmg_node_item(&tensors, i);
        read_tensor(&item, manifest);
    }
}

// ---- What names things for reports

static void read_barrier(const struct tmg_node *node) {
    char name[TMG_MAX_NAME];
    tmg_node_keys(node, "name offset count arrivals bytes");
    tmg_member_name(node, "name", name);
    tmg_member_integer(node, "offset", 0, TMG_MAX_SHARED, TMG_REQUIRED_INTEGER);
    tmg_member_integer(node, "count", 1, TMG_MAX_SHARED / 8, TMG_REQUIRED_INTEGER);
    tmg_member_integer(node, "arrivals", 1, MAX_BARRIER_THREADS, TMG_REQUIRED_INTEGER);
    tmg_member_integer(node, "bytes", 0, TMG_MAX_SHARED, 0);
}

static void read_role(const struct tmg_node *node) {
    char name[TMG_MAX_NAME];
    tmg_node_keys(node, "name first_warp warps");
    tmg_member_name(node, "name", name);
    tmg_member_integer(node, "first_warp", 0, TMG_MAX_THREADS / 32, TMG_REQUIRED_INTEGER);
    tmg_member_integer(node, "warps", 1, TMG_MAX_THREADS / 32, TMG_REQUIRED_INTEGER);
}

// The array [key] of at most 64 rows, each given to [read].
static void read_rows(const struct tmg_node *root, const char *key,
                      void (*read)(const struct tmg_node *)) {
    unsigned count;
    struct tmg_node list = tmg_node_array(root, key, 0, 64, &count);
    for (unsigned i = 0; i < count; ++i) {
        struct tmg_node item = tmg_node_item(&list, i);
        read(&item);
    }
}

// ---- Memory

struct tmg_manifest *tmg_manifest_loosen(const struct tmg_manifest *manifest) {
    const size_t dims = manifest->dim_count * sizeof *manifest->dims,
                 tensors = manifest->tensor_count * sizeof *manifest->tensors;
    struct tmg_manifest *copy = malloc(sizeof *copy + dims + tensors);
    if (!copy) return NULL;
    *copy = *manifest;
    copy->dims = (struct tmg_dim *)(copy + 1);
    copy->tensors = (struct tmg_tensor *)(copy->dims + manifest->dim_count);
    memcpy(copy->dims, manifest->dims, dims);
    memcpy(copy->tensors, manifest->tensors, tensors);
    return copy;
}

// ---- The whole

int tmg_manifest_parse(const char *text, size_t bytes, const char *origin,
                       struct tmg_manifest **out) {
    struct tmg_document document = {.origin = origin, .code = TMAGEN_ERROR_MANIFEST};
    struct tmg_node root = tmg_node_parse(&document, text, bytes, MAX_FILE);
    if (!root.value) return document.status;
    struct tmg_manifest *manifest = tmg_manifest_room(root.value);
    if (!manifest) return json_decref(root.value), tmg_fail_memory();
    manifest->document = root.value;
    if (!document.status) read_head(&root, manifest);
    if (!document.status) read_tables(&root, manifest);
    if (!document.status) tmg_read_launch(&root, manifest);
    if (!document.status) read_rows(&root, "barriers", read_barrier);
    if (!document.status) read_rows(&root, "roles", read_role);
    if (document.status) return tmg_manifest_free(manifest), document.status;
    manifest->reference = json_object_get(root.value, "reference");
    manifest->rules = tmg_rules_make(manifest);
    if (!manifest->rules) return tmg_manifest_free(manifest), tmg_fail_memory();
    *out = manifest;
    return TMAGEN_OK;
}

int tmg_manifest_read(const char *path, struct tmg_manifest **manifest) {
    size_t bytes;
    char *text;
    int status = tmg_file_read(path, MAX_FILE, &text, &bytes);
    if (status) return status;
    status = tmg_manifest_parse(text, bytes, path, manifest);
    free(text);
    return status;
}

void tmg_manifest_free(struct tmg_manifest *manifest) {
    if (!manifest) return;
    for (unsigned i = 0; i < manifest->before_count; ++i) free(manifest->before[i]);
    json_decref(manifest->document);
    free(manifest->rules);
    free(manifest);
}
