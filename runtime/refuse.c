// Asks every kernel for its reason and says each once, with those that have it; then rounds the
// shape up to one that a kernel takes.
#include "runtime/refuse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"

enum { REASON_BYTES = 300, REASONS = 8, NAMES = 3, TEXT_BYTES = 4096 };

struct reason {
    char text[REASON_BYTES];
    unsigned count;
    const char *names[NAMES];
};

struct refusal {
    const struct tmg_question *question;
    struct reason reasons[REASONS];
    unsigned count;
    char text[TEXT_BYTES];
};

__attribute__((format(printf, 2, 3))) static void say(struct refusal *refusal, const char *format,
                                                      ...) {
    const size_t used = strlen(refusal->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(refusal->text + used, TEXT_BYTES - used, format, arguments);
    va_end(arguments);
}

// ---- Reasons

// Why the kernel does not run the launch, as its error; TMAGEN_OK where it does.
static int ask(const struct tmg_question *question, const struct tmg_manifest *manifest) {
    tmagen_launch launch = *question->launch;
    struct tmg_binding binding;
    struct tmg_layout layout;
    if (!launch.splits) launch.splits = question->splits;
    int status = tmg_bind(manifest, &launch, &binding);
    if (status || binding.empty) return status;
    status = tmg_workspace_layout(&binding, &question->capacity, &layout);
    if (status || question->workspace < 0 || layout.bytes <= question->workspace) return status;
    return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                    "%s: a workspace of %" PRId64 " bytes is needed, at a multiple of 256, and "
                    "%" PRId64 " are there",
                    manifest->name, layout.bytes, question->workspace);
}

// The last error without the kernel's name before it.
static const char *bare_error(const char *name) {
    const char *text = tmagen_error_last();
    const size_t length = strlen(name);
    return !strncmp(text, name, length) && !strncmp(text + length, ": ", 2) ? text + length + 2
                                                                            : text;
}

static void add_reason(struct refusal *refusal, const char *name) {
    char text[REASON_BYTES];
    snprintf(text, sizeof text, "%s", bare_error(name));
    unsigned at = 0;
    while (at < refusal->count && strcmp(refusal->reasons[at].text, text)) ++at;
    if (at == REASONS) return;
    struct reason *reason = &refusal->reasons[at];
    if (at == refusal->count) {
        ++refusal->count;
        memcpy(reason->text, text, sizeof text);
    }
    if (reason->count < NAMES) reason->names[reason->count] = name;
    ++reason->count;
}

static void say_reason(struct refusal *refusal, const struct reason *reason) {
    say(refusal, "\n  %s (", reason->text);
    for (unsigned i = 0; i < NAMES && i < reason->count; ++i)
        say(refusal, "%s%s", i ? ", " : "", reason->names[i]);
    if (reason->count > NAMES) say(refusal, " and %u more", reason->count - NAMES);
    say(refusal, ")");
}

// ---- What would be served

// The interface without any rule but that of its tensors' dims; to be freed. NULL without memory.
static struct tmg_manifest *without_rules(const struct tmg_table *table) {
    struct tmg_manifest *manifest = tmg_manifest_loosen(table->interface);
    if (!manifest) return NULL;
    for (unsigned i = 0; i < manifest->dim_count; ++i) {
        struct tmg_dim *dim = &manifest->dims[i];
        dim->multiple_of = 1;
        dim->most = TMG_MAX_EXTENT;
        if (!dim->derived) dim->value = -1;
    }
    for (unsigned i = 0; i < manifest->tensor_count; ++i)
        manifest->tensors[i].alignment = manifest->tensors[i].stride_bytes_multiple = 1;
    manifest->grid.max_splits = INT32_MAX;
    return manifest;
}

// The dims of [wanted] as the kernel takes them, rounded up; their product. Infinite: it does not.
static double round_up(const struct tmg_manifest *manifest, const int64_t *wanted, int64_t *dims) {
    double size = 1;
    for (unsigned i = 0; i < manifest->dim_count; ++i) {
        const struct tmg_dim *dim = &manifest->dims[i];
        dims[i] = (wanted[i] + dim->multiple_of - 1) / dim->multiple_of * dim->multiple_of;
        if (dim->derived) continue;
        if (dims[i] > dim->most || (dim->value > 0 && dim->value != dims[i])) return 1e300;
        size *= (double)dims[i];
    }
    return size;
}

// The row pitch and address that the kernel wants of the tensor that is most particular.
static int64_t alignment_of(const struct tmg_manifest *manifest) {
    int64_t most = 1;
    for (unsigned i = 0; i < manifest->tensor_count; ++i) {
        const struct tmg_tensor *tensor = &manifest->tensors[i];
        if (tensor->alignment > most) most = tensor->alignment;
        if (tensor->rank > 1 && tensor->stride_bytes_multiple > most)
            most = tensor->stride_bytes_multiple;
    }
    return most;
}

static void say_served(struct refusal *refusal, const int64_t *wanted) {
    const struct tmg_table *table = refusal->question->table;
    int64_t dims[TMG_MAX_DIMS], least[TMG_MAX_DIMS] = {0};
    const struct tmg_manifest *best = NULL;
    double smallest = 1e300;
    for (unsigned i = 0; i < table->kernel_count; ++i) {
        const double size = round_up(table->kernels[i].manifest, wanted, dims);
        if (size >= smallest) continue;
        smallest = size;
        best = table->kernels[i].manifest;
        memcpy(least, dims, sizeof least);
    }
    if (!best) return;
    say(refusal, "\n  would be served:");
    for (unsigned i = 0; i < table->dim_count; ++i)
        say(refusal, " %s %" PRId64, table->dims[i], least[table->shape_dims[i]]);
    say(refusal, " with addresses and rows at multiples of %" PRId64 " bytes, by %s",
        alignment_of(best), best->name);
}

// ---- The whole

static void describe(struct refusal *refusal, const struct tmg_binding *binding) {
    const struct tmg_question *question = refusal->question;
    const struct tmg_table *table = question->table;
    say(refusal, "%s: %s serves", table->name,
        question->kernel < 0 ? "no kernel" : "not what is pinned");
    for (unsigned i = 0; i < table->dim_count; ++i)
        say(refusal, " %s %" PRId64, table->dims[i], binding->dims[table->shape_dims[i]]);
    for (unsigned i = 0; i < refusal->count; ++i) say_reason(refusal, &refusal->reasons[i]);
    say_served(refusal, binding->dims);
}

int tmg_refuse(const struct tmg_question *question) {
    const struct tmg_table *table = question->table;
    struct refusal *refusal = calloc(1, sizeof *refusal);
    struct tmg_manifest *any = without_rules(table);
    struct tmg_binding binding;
    int status = refusal && any ? TMAGEN_OK : tmg_fail_memory();
    // a launch that no rule could make right: a tensor that is missing, sizes that disagree
    if (!status) status = tmg_bind(any, question->launch, &binding);
    for (unsigned i = 0; !status && i < table->kernel_count; ++i) {
        const struct tmg_manifest *manifest = table->kernels[i].manifest;
        if (question->kernel >= 0 && question->kernel != (int)i) continue;
        if (ask(question, manifest))
            refusal->question = question, add_reason(refusal, manifest->name);
    }
    if (!status) {
        refusal->question = question;
        describe(refusal, &binding);
        status = tmg_fail(TMAGEN_ERROR_ARGUMENT, "%s", refusal->text);
    }
    free(refusal);
    free(any);
    return status;
}
