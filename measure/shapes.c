// Reading and writing shapes. Numbers are bounded here, so that products of a few cannot surprise.
// Everything else about a shape, its multiples and fixed dims, is the manifest's to judge.
#include "measure/shapes.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/random.h"
#include "runtime/tmagen.h"
#include "runtime/whole_file.h"

enum { FILE_MOST = 1 << 24 };

static const int64_t number_max = INT64_C(1) << 40;

// Reads a positive number at *at and moves past it. 0, or -1.
static int read_number(const char **at, int64_t *number) {
    if (!isdigit((unsigned char)**at)) return -1;
    char *end;
    errno = 0;
    const long long value = strtoll(*at, &end, 10);
    if (errno || value < 1 || value > number_max) return -1;
    *at = end;
    *number = value;
    return 0;
}

static int append(struct shape_list *list, const struct shape *shape) {
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 32;
        void *grown = realloc(list->shapes, capacity * sizeof *list->shapes);
        if (!grown) return -1;
        list->shapes = grown;
        list->capacity = capacity;
    }
    list->shapes[list->count++] = *shape;
    return 0;
}

// Reads the word for the inputs, which is all of [text]. 0, or -1.
static int read_inputs(struct shape *shape, const char *text) {
    const size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
    if (!len || text[len] || len >= sizeof shape->inputs) return -1;
    memcpy(shape->inputs, text, len + 1);
    return 0;
}

// Reads numbers with [separator] between them up to the end of [text], or up to the inputs behind
// [last]. 0, or -1.
static int read_numbers(struct shape *shape, const char *text, char separator, char last) {
    for (;;) {
        if (shape->count == SHAPE_MAX_NUMBERS) return -1;
        if (read_number(&text, &shape->numbers[shape->count])) return -1;
        ++shape->count;
        if (!*text) return 0;
        const char found = *text++;
        while (separator == ' ' && *text == ' ') ++text;
        if (found == last && !isdigit((unsigned char)*text)) return read_inputs(shape, text);
        if (found != separator) return -1;
    }
}

int shapes_parse(struct shape_list *list, const char *text, char *error, size_t error_size) {
    struct shape shape = {0};
    const char separator = strchr(text, ',') ? ',' : 'x';
    if (read_numbers(&shape, text, separator, '/') == 0 && append(list, &shape) == 0) return 0;
    snprintf(error, error_size,
             "\"%.80s\" is no shape; a shape is positive numbers as 4096x4096x512", text);
    return -1;
}

// Cuts a comment and the spaces around what is left; tabs become spaces.
static char *trim(char *line) {
    line[strcspn(line, "#\r\n")] = 0;
    for (char *c = line; *c; ++c) {
        if (*c == '\t') *c = ' ';
    }
    while (*line == ' ') ++line;
    size_t len = strlen(line);
    while (len && line[len - 1] == ' ') line[--len] = 0;
    return line;
}

static int parse_line(char *line, struct shape *shape) {
    if (!isdigit((unsigned char)*line)) {
        const size_t word = strcspn(line, " ");
        if (word >= sizeof shape->dtype || !line[word]) return -1;
        memcpy(shape->dtype, line, word);
        line += word;
        while (*line == ' ') ++line;
    }
    return read_numbers(shape, line, ' ', ' ');
}

// Takes the line numbered [number], which may have no shape.
static int take_line(struct shape_list *list, char *text, int number) {
    char *line = trim(text);
    struct shape shape = {.line = number};
    return *line && (parse_line(line, &shape) || append(list, &shape)) ? -1 : 0;
}

int shapes_read(struct shape_list *list, const char *path, char *error, size_t error_size) {
    char *text;
    size_t bytes;
    if (tmg_file_read(path, FILE_MOST, &text, &bytes)) {
        snprintf(error, error_size, "%s", tmagen_error_last());
        return -1;
    }
    const size_t before = list->count;
    const bool whole = strlen(text) == bytes;
    const char *wrong = NULL;
    int number = 0;
    for (char *rest = text, *line; !wrong && (line = strsep(&rest, "\n"));) {
        if (take_line(list, line, ++number))
            wrong = "not a shape; a line is as: bf16 4096 4096 512";
    }
    if (!wrong && !whole) wrong = "a zero byte";
    if (wrong) snprintf(error, error_size, "%s:%d: %s", path, number, wrong);
    if (!wrong && list->count == before) {
        wrong = "has no shapes";
        snprintf(error, error_size, "%s: %s", path, wrong);
    }
    free(text);
    return wrong ? -1 : 0;
}

// ---- Drawn shapes

enum { DRAW_MOST = 16384, DRAW_LEAST = 64, DRAW_LINE = 64, DRAW_STEP = 8, DRAW_POSITIONS = 5 };

static const double draw_flops = 2e12;

static int64_t log_uniform(uint64_t seed, uint64_t position, double least, double most) {
    return (int64_t)(least * pow(most / least, random_uniform(seed, position)));
}

// N or K: rounded down to a multiple of 64, or for one of three to one of 8 beside it.
static int64_t draw_row(uint64_t seed, uint64_t position) {
    const int64_t size = log_uniform(seed, position, DRAW_LEAST, DRAW_MOST);
    if (random_below(seed, position + 1, 3)) return size / DRAW_LINE * DRAW_LINE;
    const int64_t step = size / DRAW_STEP * DRAW_STEP;
    return step % DRAW_LINE ? step : step + DRAW_STEP;
}

int shapes_draw(struct shape_list *list, size_t count, uint64_t seed) {
    for (uint64_t at = 0; count; at += DRAW_POSITIONS) {
        const struct shape shape = {.numbers = {log_uniform(seed, at, 1, DRAW_MOST + 1),
                                                draw_row(seed, at + 1), draw_row(seed, at + 3)},
                                    .count = 3};
        const int64_t *mnk = shape.numbers;
        if (2.0 * (double)mnk[0] * (double)mnk[1] * (double)mnk[2] >= draw_flops) continue;
        if (append(list, &shape)) return -1;
        --count;
    }
    return 0;
}

void shapes_free(struct shape_list *list) {
    free(list->shapes);
    *list = (struct shape_list){0};
}

void shape_print(const struct shape *shape, FILE *out) {
    for (int i = 0; i < shape->count; ++i)
        fprintf(out, "%s%lld", i ? "x" : "", (long long)shape->numbers[i]);
}

// The position of [name] among the words of [names], or -1.
static int word_index(const char *names, const char *name) {
    const size_t len = strlen(name);
    for (int i = 0; *names; ++i) {
        const size_t word = strcspn(names, " ");
        if (word == len && !strncmp(names, name, len)) return i;
        names += word + (names[word] == ' ');
    }
    return -1;
}

static int word_count(const char *names) {
    int count = *names != 0;
    for (; *names; ++names) count += *names == ' ';
    return count;
}

int shape_dims(const struct shape *shape, const struct reference *reference,
               const struct tmg_manifest *manifest, int64_t *dims, char *error, size_t error_size) {
    if (shape->count != word_count(reference->dims)) {
        snprintf(error, error_size, "%s is written with %d numbers: %s", reference->name,
                 word_count(reference->dims), reference->dims);
        return -1;
    }
    const char *known = reference->inputs;
    if (*shape->inputs && !reference_lists(known, shape->inputs)) {
        snprintf(error, error_size, "%s has no inputs %s; it has: %s", reference->name,
                 shape->inputs, *known ? known : "only its usual ones");
        return -1;
    }
    for (unsigned i = 0; i < manifest->dim_count; ++i) {
        const struct tmg_dim *dim = &manifest->dims[i];
        const int at = word_index(reference->dims, dim->name);
        dims[i] = at >= 0 ? shape->numbers[at] : dim->value >= 0 ? dim->value : 1;
    }
    return 0;
}

void shape_format(const struct reference *reference, const struct tmg_manifest *manifest,
                  const int64_t *dims, const char *inputs, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (const char *names = reference->dims; *names;) {
        const size_t word = strcspn(names, " ");
        char name[TMG_MAX_NAME];
        snprintf(name, sizeof name, "%.*s", (int)word, names);
        const int dim = tmg_manifest_dim(manifest, name);
        const int more = snprintf(text + used, size - used, "%s%lld", used ? "x" : "",
                                  dim >= 0 ? (long long)dims[dim] : 1);
        if (more < 0 || (size_t)more >= size - used) return;
        used += (size_t)more;
        names += word + (names[word] == ' ');
    }
    if (*inputs) snprintf(text + used, size - used, "/%s", inputs);
}

const char *shape_dtype(const struct tmg_manifest *manifest) {
    for (unsigned i = 0; i < manifest->tensor_count; ++i) {
        if (!manifest->tensors[i].reads) continue;
        const char *name = tmg_dtypes[manifest->tensors[i].dtype].name;
        return !strcmp(name, "e4m3") || !strcmp(name, "e5m2") ? "fp8" : name;
    }
    return "";
}

bool shape_is_for(const struct shape *shape, const struct tmg_manifest *manifest) {
    return !*shape->dtype || !strcmp(shape->dtype, shape_dtype(manifest));
}
