// Runs one kernel on the emulator under many seeds and holds its reports against what is expected.
// A planted bug must be reported by class and source line, a sound kernel not at all.
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tmagen.h"

// SOURCE MANIFEST M N K SEEDS HOW [CLASS AT SOUND]: HOW is none, any or all of the seeds. The class
// "wrong result" holds what is written against what the sound source writes.
struct arguments {
    char *source, *manifest, *sound;
    const char *how, *class_, *at;
    long shape[3];
    int seeds;
};

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(3);
    }
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(1, size + 1);
    if (!text || fread(text, 1, size, file) != size) exit(3);
    fclose(file);
    return text;
}

static void need(int status, const char *what) {
    if (!status) return;
    fprintf(stderr, "%s: %s\n", what, tmagen_error_last());
    exit(3);
}

static long dim_of(const json_t *dim, const struct arguments *arguments) {
    if (json_is_integer(dim)) return (long)json_integer_value(dim);
    const char *name = json_string_value(dim);
    return arguments->shape[name && *name == 'n' ? 1 : name && *name == 'k' ? 2 : 0];
}

// A buffer of small 16-bit floats; what is only written stays unwritten.
static tmagen_address new_buffer(tmagen_device *device, const json_t *tensor, tmagen_tensor *out,
                                 const struct arguments *arguments) {
    size_t i, count = 1;
    json_t *dim;
    out->rank = (int)json_array_size(json_object_get(tensor, "dims"));
    json_array_foreach(json_object_get(tensor, "dims"), i, dim) {
        out->dims[i] = dim_of(dim, arguments);
        count *= (size_t)out->dims[i];
    }
    const char *dtype = json_string_value(json_object_get(tensor, "dtype"));
    size_t bytes = count * (strstr(dtype, "32") ? 4 : 2);
    need(tmagen_memory_alloc(device, bytes, &out->data), "alloc");
    if (strcmp(json_string_value(json_object_get(tensor, "access")), "read")) return out->data;
    uint16_t *values = malloc(bytes);
    for (size_t k = 0; k < bytes / 2; ++k) values[k] = (uint16_t)(0x3c00 + k % 13);
    need(tmagen_memory_upload(device, out->data, values, bytes), "upload");
    free(values);
    return out->data;
}

// Line [number] of the source, from 1.
static const char *source_line(const char *source, long number, size_t *length) {
    while (--number > 0 && source) {
        source = strchr(source, '\n');
        if (source) ++source;
    }
    *length = source ? strcspn(source, "\n") : 0;
    return source;
}

static int line_has(long number, const struct arguments *arguments) {
    size_t length;
    char copy[400];
    const char *line = source_line(arguments->source, number, &length);
    snprintf(copy, sizeof copy, "%.*s", (int)(length < 399 ? length : 399), line ? line : "");
    return strstr(copy, arguments->at) != NULL;
}

// Does the report at [text], up to [end], name a line of the source that contains [at]? A place
// reads "x.cu:365, in 258, in 151": the kernel's line, then those of what was inlined.
static int names_line(const char *text, const char *end, const struct arguments *arguments) {
    while ((text = strstr(text, ".cu:")) && text < end) {
        char *rest;
        long number = strtol(text + 4, &rest, 10);
        int hit = line_has(number, arguments);
        while (!strncmp(rest, ", in ", 5)) hit |= line_has(strtol(rest + 5, &rest, 10), arguments);
        if (hit) return 1;
        text = rest;
    }
    return 0;
}

static int found(const char *message, const struct arguments *arguments) {
    char start[100];
    snprintf(start, sizeof start, "%s in ", arguments->class_);
    for (const char *report = strstr(message, start); report; report = strstr(report + 1, start)) {
        const char *end = strstr(report, "\n\n");
        if (names_line(report, end ? end : report + strlen(report), arguments)) return 1;
    }
    return 0;
}

// The bytes of all tensors that the kernel writes, behind each other.
static char *results(tmagen_device *device, const json_t *manifest, const tmagen_tensor *tensors,
                     size_t *bytes) {
    char *all = NULL;
    size_t i;
    json_t *entry;
    *bytes = 0;
    json_array_foreach(json_object_get(manifest, "tensors"), i, entry) {
        if (!strcmp(json_string_value(json_object_get(entry, "access")), "read")) continue;
        size_t size = strstr(json_string_value(json_object_get(entry, "dtype")), "32") ? 4 : 2;
        for (int d = 0; d < tensors[i].rank; ++d) size *= (size_t)tensors[i].dims[d];
        all = realloc(all, *bytes + size);
        need(tmagen_memory_download(device, all + *bytes, tensors[i].data, size), "download");
        *bytes += size;
    }
    return all;
}

// Does the kernel write what the sound one writes? Outputs are poisoned before each launch.
static int differs(tmagen_device *device, tmagen_kernel *kernel, const json_t *manifest,
                   const tmagen_launch *launch, const struct arguments *arguments) {
    tmagen_load_options options = {.manifest_text = arguments->manifest,
                                   .source_text = arguments->sound};
    tmagen_kernel *kernels[2] = {NULL, kernel};
    char *outputs[2];
    size_t bytes = 0;
    need(tmagen_kernel_load(device, "sound", &options, &kernels[0]), "load");
    for (int k = 0; k < 2; ++k) {
        size_t i;
        json_t *entry;
        json_array_foreach(json_object_get(manifest, "tensors"), i, entry) {
            size_t size = 2;
            for (int d = 0; d < launch->tensors[i].rank; ++d)
                size *= (size_t)launch->tensors[i].dims[d];
            if (strcmp(json_string_value(json_object_get(entry, "access")), "read"))
                need(tmagen_memory_fill(device, launch->tensors[i].data, 0xa5, size), "fill");
        }
        need(tmagen_kernel_launch(kernels[k], NULL, launch),
             k ? "the patched kernel" : "the sound one");
        outputs[k] = results(device, manifest, launch->tensors, &bytes);
    }
    int different = memcmp(outputs[0], outputs[1], bytes) != 0;
    tmagen_kernel_unload(kernels[0]);
    free(outputs[0]);
    free(outputs[1]);
    printf("%s: the results %s those of the sound kernel\n", different ? "ok" : "FAILED",
           different ? "differ from" : "are");
    return !different;
}

static int run_seeds(tmagen_device *device, tmagen_kernel *kernel, const tmagen_launch *launch,
                     const struct arguments *arguments) {
    int reported = 0, wrong = 0;
    const char *shown = NULL;
    for (int seed = 0; seed < arguments->seeds; ++seed) {
        int status = tmagen_kernel_launch(kernel, NULL, launch);
        const char *message = status ? tmagen_error_last() : "";
        int hit = status && arguments->class_ && found(message, arguments);
        reported += arguments->class_ ? hit : status != 0;
        wrong += status && arguments->class_ && !hit;
        if (status && !hit && !shown) shown = strdup(message);
    }
    (void)device;
    int good = !strcmp(arguments->how, "none")  ? reported == 0
               : !strcmp(arguments->how, "all") ? reported == arguments->seeds
                                                : reported > 0;
    printf("%s: reported as expected under %d of %d seeds, otherwise under %d\n",
           good ? "ok" : "FAILED", reported, arguments->seeds, wrong);
    if (!good && shown) printf("%.1500s\n", shown);
    free((void *)shown);
    return good ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc < 8) {
        fprintf(stderr, "usage: bug SOURCE MANIFEST M N K SEEDS none|any|all [CLASS AT]\n");
        return 2;
    }
    struct arguments arguments = {read_file(argv[1]),
                                  read_file(argv[2]),
                                  argc > 10 ? read_file(argv[10]) : NULL,
                                  argv[7],
                                  argc > 8 ? argv[8] : NULL,
                                  argc > 9 ? argv[9] : "",
                                  {atol(argv[3]), atol(argv[4]), atol(argv[5])},
                                  atoi(argv[6])};
    json_t *manifest = json_loads(arguments.manifest, 0, NULL), *entry;
    tmagen_device *device;
    tmagen_kernel *kernel;
    tmagen_tensor tensors[16] = {{0}};
    size_t i, count = 0;
    need(tmagen_device_open("emu", &device), "emu");
    tmagen_load_options options = {.manifest_text = arguments.manifest,
                                   .source_text = arguments.source};
    need(tmagen_kernel_load(device, argv[2], &options, &kernel), "load");
    json_array_foreach(json_object_get(manifest, "tensors"), i, entry) {
        if (count == 16) break;
        tensors[count].name = json_string_value(json_object_get(entry, "name"));
        new_buffer(device, entry, &tensors[count++], &arguments);
    }
    tmagen_dim dims[3] = {
        {"m", arguments.shape[0]}, {"n", arguments.shape[1]}, {"k", arguments.shape[2]}};
    tmagen_launch launch = {
        .tensors = tensors, .tensor_count = count, .dims = dims, .dim_count = 3};
    bool result = arguments.class_ && !strcmp(arguments.class_, "wrong result") && arguments.sound;
    int status = result ? differs(device, kernel, manifest, &launch, &arguments)
                        : run_seeds(device, kernel, &launch, &arguments);
    tmagen_kernel_unload(kernel);
    tmagen_device_close(device);
    json_decref(manifest);
    free(arguments.source);
    free(arguments.manifest);
    free(arguments.sound);
    return status;
}
