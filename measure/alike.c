// From manifests alone, before any device is asked: a mistake of the command line is said at once.
#include "measure/alike.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/manifest.h"

// "bf16 a[m, k]"
static void describe(const struct tmg_manifest *manifest, unsigned index, char *text, size_t size) {
    const struct tmg_tensor *tensor = &manifest->tensors[index];
    size_t used =
        (size_t)snprintf(text, size, "%s %s[", tmg_dtypes[tensor->dtype].name, tensor->name);
    for (int axis = 0; axis < tensor->rank && used < size; ++axis) {
        const int dim = tensor->dims[axis].dim;
        used += (size_t)snprintf(text + used, size - used, "%s%s", axis ? ", " : "",
                                 dim >= 0 ? manifest->dims[dim].name : "1");
    }
    if (used < size) snprintf(text + used, size - used, "]");
}

// Whether both take the same tensors; else [one] and [other] say the first that they do not.
static bool alike(const struct tmg_manifest *a, const struct tmg_manifest *b, char *one,
                  char *other, size_t size) {
    for (unsigned i = 0; i < a->tensor_count || i < b->tensor_count; ++i) {
        snprintf(one, size, "no more");
        snprintf(other, size, "no more");
        if (i < a->tensor_count) describe(a, i, one, size);
        if (i < b->tensor_count) describe(b, i, other, size);
        if (strcmp(one, other)) return false;
    }
    return true;
}

// Whether some shape is for both; without shapes the typical one is.
static bool meet(const struct tmg_manifest *a, const struct tmg_manifest *b,
                 const struct shape_list *shapes) {
    for (size_t i = 0; i < shapes->count; ++i)
        if (shape_is_for(&shapes->shapes[i], a) && shape_is_for(&shapes->shapes[i], b)) return true;
    return !shapes->count;
}

// That of a table is that of its first kernel, which the others are like. NULL where it is no good:
// loading it says why.
static struct tmg_manifest *manifest_of(const struct kernel_text *text) {
    struct tmg_manifest *manifest = NULL;
    if (text->table) text = &text->table->kernels[0];
    tmg_manifest_parse(text->manifest, strlen(text->manifest), text->name, &manifest);
    return manifest;
}

int kernels_alike(const struct kernel_text *kernels, size_t count,
                  const struct shape_list *shapes) {
    enum { TENSOR_TEXT = 1000 };
    char one[TENSOR_TEXT], other[TENSOR_TEXT];
    int status = 0;
    struct tmg_manifest **manifests = calloc(count + 1, sizeof *manifests);
    for (size_t i = 0; manifests && i < count && !status; ++i) {
        manifests[i] = manifest_of(&kernels[i]);
        for (size_t j = 0; manifests[i] && j < i && !status; ++j) {
            if (!manifests[j] || !meet(manifests[j], manifests[i], shapes)) continue;
            if (alike(manifests[j], manifests[i], one, other, sizeof one)) continue;
            fprintf(stderr,
                    "tmagen: error: %s and %s do not compare: one takes %s, the other %s; measure "
                    "them with --unlike\n",
                    kernels[j].name, kernels[i].name, one, other);
            status = -1;
        }
    }
    for (size_t i = 0; manifests && i < count; ++i) tmg_manifest_free(manifests[i]);
    free((void *)manifests);
    return status;
}
