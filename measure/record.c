// Reading, writing and comparing records. A digest says whether a bit moved, the parts where, and
// the elements by how much; a whole output would say no more, and needs a thousand times the room.
#include "measure/record.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/compare.h"
#include "runtime/key.h"
#include "runtime/whole_file.h"
#include "measure/random.h"

enum { PARTS = 32, PART_DIGITS = 4, DIGEST_DIGITS = 32, SHOWN = 3, VERSION = 1 };
enum { RECORD_MOST = 1 << 28 };

// ---- A case's line

static const char *element_at(const struct ref_tensor *tensor, int64_t linear) {
    int64_t index[TMAGEN_MAX_RANK];
    ref_index(tensor, linear, index);
    return (const char *)tensor->data +
           (size_t)ref_offset(tensor, index) * tmg_dtype_bytes(tensor->dtype);
}

// The elements row by row; what lies in the gaps between rows is not the tensor's.
static void add_elements(struct tmg_key *key, const struct ref_tensor *tensor) {
    const int64_t row = tensor->dims[tensor->rank - 1];
    tmg_key_add(key, tensor->declared->name, strlen(tensor->declared->name));
    tmg_key_add(key, tensor->dims, (size_t)tensor->rank * sizeof *tensor->dims);
    for (int64_t at = 0; at < tensor->count; at += row) {
        tmg_key_add(key, element_at(tensor, at), (size_t)row * tmg_dtype_bytes(tensor->dtype));
    }
}

static json_t *digest_text(struct tmg_key *key) {
    uint8_t digest[TMG_DIGEST_BYTES];
    char text[DIGEST_DIGITS + 1];
    tmg_key_end(key, digest);
    for (size_t i = 0; i < DIGEST_DIGITS / 2; ++i) snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return json_string(text);
}

static json_t *inputs_digest(const struct ref_problem *problem) {
    struct tmg_key key;
    tmg_key_begin(&key);
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i) {
        if (problem->tensors[i].declared->reads) add_elements(&key, &problem->tensors[i]);
    }
    return digest_text(&key);
}

static int64_t part_begin(const struct ref_tensor *tensor, int part) {
    return (int64_t)((__int128)tensor->count * part / PARTS);
}

// The element that stands for [part], at random within it, so that columns differ from part to
// part; -1 where the tensor is so small that the part is empty.
static int64_t part_element(const struct ref_tensor *tensor, int part) {
    const int64_t begin = part_begin(tensor, part), size = part_begin(tensor, part + 1) - begin;
    return size ? begin + random_below(0, (uint64_t)part, size) : -1;
}

static uint64_t element_bits(const struct ref_tensor *tensor, int64_t linear) {
    uint64_t bits = 0;
    memcpy(&bits, element_at(tensor, linear), tmg_dtype_bytes(tensor->dtype));
    return bits;
}

static unsigned part_digest(const struct ref_tensor *tensor, int part) {
    uint64_t hash = 0;
    for (int64_t i = part_begin(tensor, part); i < part_begin(tensor, part + 1); ++i) {
        hash = random_bits(hash, element_bits(tensor, i));
    }
    return (unsigned)(hash & 0xffff);
}

// {"name", "dtype", "dims", "digest", "parts": digits, "elements": digits}
static json_t *output_line(const struct ref_tensor *tensor) {
    const int digits = 2 * (int)tmg_dtype_bytes(tensor->dtype);
    char parts[PARTS * PART_DIGITS + 1] = "", elements[PARTS * 16 + 1] = "";
    struct tmg_key key;
    tmg_key_begin(&key);
    add_elements(&key, tensor);
    size_t used = 0;
    for (int part = 0; part < PARTS; ++part) {
        const int64_t linear = part_element(tensor, part);
        snprintf(parts + part * PART_DIGITS, PART_DIGITS + 1, "%04x", part_digest(tensor, part));
        if (linear < 0) continue;
        used += (size_t)snprintf(elements + used, sizeof elements - used, "%0*" PRIx64, digits,
                                 element_bits(tensor, linear));
    }
    json_t *dims = json_array();
    for (int i = 0; i < tensor->rank; ++i) {
        json_array_append_new(dims, json_integer(tensor->dims[i]));
    }
    return json_pack("{ss ss so so ss ss}", "name", tensor->declared->name, "dtype",
                     tmg_dtypes[tensor->dtype].name, "dims", dims, "digest", digest_text(&key),
                     "parts", parts, "elements", elements);
}

json_t *record_case(const struct ref_problem *problem, const char *kernel, const char *shape,
                    int64_t padding, struct variation variation) {
    json_t *outputs = json_array();
    for (unsigned i = 0; i < problem->manifest->tensor_count; ++i) {
        const struct ref_tensor *tensor = &problem->tensors[i];
        if (tensor->declared->writes) json_array_append_new(outputs, output_line(tensor));
    }
    json_t *line =
        json_pack("{ss ss sI}", "kernel", kernel, "shape", shape, "padding", (json_int_t)padding);
    if (variation.sms) json_object_set_new(line, "sms", json_integer(variation.sms));
    if (variation.splits) json_object_set_new(line, "splits", json_integer(variation.splits));
    json_object_set_new(line, "inputs", inputs_digest(problem));
    json_object_set_new(line, "outputs", outputs);
    return line;
}

// ---- Files

static int write_line(FILE *file, const json_t *line) {
    if (!line || json_dumpf(line, file, JSON_COMPACT)) return -1;
    return fputc('\n', file) == EOF || fflush(file) ? -1 : 0;
}

int record_begin(FILE *file, const char *device, uint64_t seed) {
    json_t *line = json_pack("{si ss sI}", "tmagen_record", VERSION, "device", device, "seed",
                             (json_int_t)seed);
    const int status = write_line(file, line);
    json_decref(line);
    return status;
}

int record_add(FILE *file, const json_t *line) { return write_line(file, line); }

// It goes to terminals.
static bool is_printable(const char *text) {
    for (; *text; ++text) {
        if (!isprint((unsigned char)*text)) return false;
    }
    return true;
}

static bool is_hex(const char *text, size_t length) {
    return strlen(text) == length && strspn(text, "0123456789abcdef") == length;
}

// Whether an output has all members, and elements in whole words of its type.
static bool is_output(json_t *output) {
    const char *name, *dtype, *digest, *parts, *elements;
    json_t *dims;
    if (json_unpack(output, "{ss ss so ss ss ss}", "name", &name, "dtype", &dtype, "dims", &dims,
                    "digest", &digest, "parts", &parts, "elements", &elements)) {
        return false;
    }
    const int type = tmg_dtype_find(dtype);
    if (type < 0 || !json_is_array(dims)) return false;
    const size_t digits = 2 * tmg_dtype_bytes(type), length = strlen(elements);
    return is_hex(digest, DIGEST_DIGITS) && is_hex(parts, PARTS * PART_DIGITS) &&
           is_hex(elements, length) && length % digits == 0 && length / digits <= PARTS;
}

// Whether [key] is not there, or a number that a launch can have.
static bool is_number(const json_t *line, const char *key) {
    const json_t *value = json_object_get(line, key);
    const json_int_t number = json_integer_value(value);
    return !value || (number > 0 && number <= 1 << 20);
}

static bool is_case(json_t *line) {
    const char *kernel, *shape, *inputs;
    json_int_t padding;
    json_t *outputs, *output;
    size_t i;
    if (json_unpack(line, "{ss ss sI ss so}", "kernel", &kernel, "shape", &shape, "padding",
                    &padding, "inputs", &inputs, "outputs", &outputs) ||
        !is_printable(shape) || !json_array_size(outputs) || padding < 0 || padding > 1 << 20 ||
        !is_number(line, "sms") || !is_number(line, "splits")) {
        return false;
    }
    json_array_foreach(outputs, i, output) {
        if (!is_output(output)) return false;
    }
    return true;
}

// Takes the line. NULL, or what is wrong with it.
static const char *take_line(struct record *record, json_t *line) {
    int version;
    const char *device;
    json_int_t seed;
    if (!record->device) {
        if (json_unpack(line, "{si ss sI}", "tmagen_record", &version, "device", &device, "seed",
                        &seed) ||
            version != VERSION || seed < 0 || !is_printable(device)) {
            return "does not begin a record that verify --record wrote";
        }
        record->seed = (uint64_t)seed;
        record->device = strdup(device);
        return record->device ? NULL : "out of memory";
    }
    if (!is_case(line)) return "not a case of a record";
    json_t **grown = realloc(record->cases, (record->count + 1) * sizeof *grown);
    if (!grown) return "out of memory";
    record->cases = grown;
    record->cases[record->count++] = json_incref(line);
    return NULL;
}

// Takes the lines of [text]; NULL, or what is wrong with the one *number.
static const char *take_lines(struct record *record, char *text, size_t *number) {
    const char *wrong = NULL;
    for (char *rest = text, *at; !wrong && (at = strsep(&rest, "\n")) && (*at || rest);) {
        ++*number;
        json_t *line = json_loads(at, JSON_REJECT_DUPLICATES, NULL);
        wrong = line ? take_line(record, line) : "no JSON";
        json_decref(line);
    }
    return wrong;
}

int record_read(struct record *record, const char *path, char *error, size_t error_size) {
    char *text;
    size_t bytes, number = 0;
    *record = (struct record){0};
    if (tmg_file_read(path, RECORD_MOST, &text, &bytes)) {
        snprintf(error, error_size, "%s", tmagen_error_last());
        return -1;
    }
    const bool whole = strlen(text) == bytes;
    const char *wrong = take_lines(record, text, &number);
    if (!wrong && !whole) wrong = "a zero byte";
    if (!wrong && !record->device) wrong = "is empty", number = 0;
    if (wrong && number) snprintf(error, error_size, "%s:%zu: %s", path, number, wrong);
    if (wrong && !number) snprintf(error, error_size, "%s: %s", path, wrong);
    free(text);
    if (wrong) record_free(record);
    return wrong ? -1 : 0;
}

void record_free(struct record *record) {
    for (size_t i = 0; i < record->count; ++i) json_decref(record->cases[i]);
    free(record->cases);
    free(record->device);
    *record = (struct record){0};
}

static const char *text_of(const json_t *line, const char *key) {
    return json_string_value(json_object_get(line, key));
}

const char *record_kernel(const json_t *line) { return text_of(line, "kernel"); }
const char *record_shape(const json_t *line) { return text_of(line, "shape"); }
int64_t record_padding(const json_t *line) {
    return json_integer_value(json_object_get(line, "padding"));
}
// Zeros for what a line does not say.
struct variation record_variation(const json_t *line) {
    return (struct variation){(int)json_integer_value(json_object_get(line, "sms")),
                              (int)json_integer_value(json_object_get(line, "splits"))};
}

// ---- Comparing

struct difference_text {
    char *text;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void say(struct difference_text *out,
                                                      const char *format, ...) {
    const size_t used = strlen(out->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out->text + used, out->size - used, format, arguments);
    va_end(arguments);
}

static uint64_t hex_word(const char *text, size_t digits) {
    char word[17] = "";
    memcpy(word, text, digits);
    return strtoull(word, NULL, 16);
}

// One output in both lines.
struct output_pair {
    const struct record *record;
    const json_t *then, *now;
    const struct ref_problem *problem;
    const struct ref_tensor *tensor;
};

static void explain_parts(const struct output_pair *pair, struct difference_text *out) {
    const char *then = text_of(pair->then, "parts"), *now = text_of(pair->now, "parts");
    int differ = 0, first = 0;
    for (int part = PARTS - 1; part >= 0; --part) {
        const size_t at = (size_t)part * PART_DIGITS;
        if (!memcmp(then + at, now + at, PART_DIGITS)) continue;
        ++differ;
        first = part;
    }
    say(out, "%s: not what %s gave: %d of %d parts differ, the first of them elements %lld..%lld\n",
        pair->tensor->declared->name, pair->record->device, differ, PARTS,
        (long long)part_begin(pair->tensor, first),
        (long long)part_begin(pair->tensor, first + 1) - 1);
}

static void explain_elements(const struct output_pair *pair, struct difference_text *out) {
    const char *then = text_of(pair->then, "elements"), *now = text_of(pair->now, "elements");
    const enum tmg_dtype_id dtype = pair->tensor->dtype;
    const size_t digits = 2 * tmg_dtype_bytes(dtype), count = strlen(now) / digits;
    struct pattern *pattern = pattern_new(pair->problem->manifest, pair->tensor);
    size_t differ = 0, i = 0;
    double farthest = 0;
    for (int part = 0; part < PARTS && i < count && pattern; ++part) {
        const int64_t linear = part_element(pair->tensor, part);
        if (linear < 0) continue;
        const uint64_t a = hex_word(then + i * digits, digits);
        const uint64_t b = hex_word(now + i * digits, digits);
        ++i;
        if (a == b) continue;
        farthest = fmax(farthest, num_distance(dtype, a, b));
        if (differ++ >= SHOWN) continue;
        char where[160];
        pattern_locate(pattern, linear, where, sizeof where);
        say(out, "  %s is %.9g (%0*" PRIx64 "), was %.9g (%0*" PRIx64 ")\n", where,
            num_value(dtype, &b), (int)digits, b, num_value(dtype, &a), (int)digits, a);
    }
    say(out, "  of %zu elements that were recorded %zu differ", count, differ);
    say(out, differ ? ", by at most %.3g units in the last place\n" : "\n", farthest);
    pattern_free(pattern);
}

static const struct ref_tensor *tensor_of(const struct ref_problem *problem, const json_t *output) {
    return ref_tensor_find(problem, text_of(output, "name"));
}

static const json_t *output_named(const json_t *line, const char *name) {
    const json_t *outputs = json_object_get(line, "outputs");
    for (size_t i = 0; i < json_array_size(outputs); ++i) {
        const json_t *output = json_array_get(outputs, i);
        if (!strcmp(text_of(output, "name"), name)) return output;
    }
    return NULL;
}

static bool equal_member(const json_t *a, const json_t *b, const char *key) {
    return json_equal(json_object_get(a, key), json_object_get(b, key));
}

static bool compare_output(const struct output_pair *pair, struct difference_text *out) {
    const char *name = text_of(pair->now, "name");
    if (!pair->then || !equal_member(pair->then, pair->now, "dtype") ||
        !equal_member(pair->then, pair->now, "dims") ||
        strlen(text_of(pair->then, "elements")) != strlen(text_of(pair->now, "elements"))) {
        say(out, "%s: the record has no tensor of this name, type and size\n", name);
        return false;
    }
    if (equal_member(pair->then, pair->now, "digest")) return true;
    explain_parts(pair, out);
    explain_elements(pair, out);
    return false;
}

bool record_equal(const struct record *record, const json_t *then, const json_t *now,
                  const struct ref_problem *problem, char *report, size_t size) {
    struct difference_text out = {report, size};
    const json_t *outputs = json_object_get(now, "outputs");
    bool equal = true;
    *report = 0;
    if (!equal_member(then, now, "inputs")) {
        say(&out, "the inputs are not those of the record: other data was generated\n");
        return false;
    }
    for (size_t i = 0; i < json_array_size(outputs); ++i) {
        const json_t *output = json_array_get(outputs, i);
        const struct output_pair pair = {record, output_named(then, text_of(output, "name")),
                                         output, problem, tensor_of(problem, output)};
        equal &= compare_output(&pair, &out);
    }
    if (json_array_size(json_object_get(then, "outputs")) != json_array_size(outputs)) {
        say(&out, "the record has another number of outputs\n");
        equal = false;
    }
    return equal;
}

// ---- The file of a record that is written

FILE *record_create(const char *path, char *temporary, size_t size) {
    struct stat about;
    if (!stat(path, &about) && !S_ISREG(about.st_mode)) {  // /dev/null would become a file
        fprintf(stderr, "tmagen: error: %s: is no plain file\n", path);
        return NULL;
    }
    const int len = snprintf(temporary, size, "%s.XXXXXX", path);
    const int file = (size_t)len < size ? mkstemp(temporary) : -1;
    if (file >= 0) fchmod(file, 0644);
    FILE *record = file >= 0 ? fdopen(file, "w") : NULL;
    if (!record)
        fprintf(stderr, "tmagen: error: %s: %s\n", path,
                (size_t)len < size ? strerror(errno) : "a path that long cannot be written");
    return record;
}

int record_end(FILE *record, const char *temporary, const char *path, int code) {
    const bool whole = fclose(record) == 0 && code == 0;
    if (whole && rename(temporary, path) == 0) return 0;
    if (code == 0) perror(path);
    fprintf(stderr, "tmagen: note: %s is not written\n", path);
    unlink(temporary);
    return code ? code : 1;
}
