// Reads and writes .npy (NumPy Enhancement Proposal 1, "A Simple File Format for NumPy Arrays").
// A scanner over a bounded text: it never looks beyond the end, and it accepts three keys.
#include "gen/cli/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"

enum { MAGIC_BYTES = 6, ALIGNMENT = 64, HEADER_MAX = 1 << 16 };
static const char magic[] = "\x93NUMPY";

// NumPy's names of an element type. The first is what is written; the others are read as well.
static const struct {
    enum tmg_dtype_id dtype;
    const char *descr[4];
} types[] = {
    {TMG_DTYPE_FP16, {"<f2"}},
    {TMG_DTYPE_FP32, {"<f4"}},
    {TMG_DTYPE_FP64, {"<f8"}},
    {TMG_DTYPE_I8, {"|i1", "<i1"}},
    {TMG_DTYPE_U8, {"|u1", "<u1", "|b1"}},
    {TMG_DTYPE_I16, {"<i2"}},
    {TMG_DTYPE_U16, {"<u2", "<i2"}},
    {TMG_DTYPE_I32, {"<i4"}},
    {TMG_DTYPE_U32, {"<u4"}},
    {TMG_DTYPE_I64, {"<i8"}},
    {TMG_DTYPE_U64, {"<u8"}},
    {TMG_DTYPE_BF16, {"<u2", "<i2", "|V2", "<V2"}},
    {TMG_DTYPE_E4M3, {"|u1", "<u1", "|V1", "|b1"}},
    {TMG_DTYPE_E5M2, {"|u1", "<u1", "|V1", "|b1"}},
};
enum { TYPES = sizeof types / sizeof *types };

static bool has_descr(size_t row, const char *descr) {
    for (int i = 0; i < 4 && types[row].descr[i]; i++)
        if (!strcmp(types[row].descr[i], descr)) return true;
    return false;
}

bool npy_holds(const struct npy *array, enum tmg_dtype_id dtype) {
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype) return has_descr(i, array->descr);
    return false;
}

int npy_type(const struct npy *array) {
    for (size_t i = 0; i < TYPES; i++)
        if (has_descr(i, array->descr)) return (int)types[i].dtype;
    return -1;
}

// ---- Scanning the header

struct scan {
    const char *at, *end;
};

static void skip_spaces(struct scan *s) {
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n')) s->at++;
}

// Moves past [word] and spaces before it; false where something else is there.
static bool take(struct scan *s, const char *word) {
    const size_t len = strlen(word);
    skip_spaces(s);
    if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0) return false;
    s->at += len;
    return true;
}

// A quoted word of fewer than [size] characters.
static bool take_word(struct scan *s, char *word, size_t size) {
    if (!take(s, "'")) return false;
    const char *close = memchr(s->at, '\'', (size_t)(s->end - s->at));
    if (!close || (size_t)(close - s->at) >= size) return false;
    memcpy(word, s->at, (size_t)(close - s->at));
    word[close - s->at] = 0;
    s->at = close + 1;
    return true;
}

static bool take_number(struct scan *s, int64_t *number) {
    skip_spaces(s);
    const char *start = s->at;
    for (*number = 0; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, *s->at - '0', number))
            return false;
    return s->at > start;
}

static const char *read_shape(struct scan *s, struct npy *array) {
    if (!take(s, "(")) return "its shape is no tuple";
    array->rank = 0;
    while (!take(s, ")")) {
        if (array->rank == NPY_RANK_MAX) return "it has more than 8 dimensions";
        if (!take_number(s, &array->shape[array->rank++])) return "its shape is no tuple of sizes";
        if (!take(s, ",") && (s->at == s->end || *s->at != ')')) return "its shape is no tuple";
    }
    return NULL;
}

// The dict's three entries, in any order.
static const char *read_dict(struct scan *s, struct npy *array) {
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    int seen = 0;
    if (!take(s, "{")) return "its header is no dict";
    while (!take(s, "}")) {
        char key[16];
        if (!take_word(s, key, sizeof key) || !take(s, ":")) return "its header is no dict";
        if (!strcmp(key, "descr")) {
            if (!take_word(s, array->descr, sizeof array->descr))
                return "its elements are no plain numbers";
            seen |= DESCR;
        } else if (!strcmp(key, "fortran_order")) {
            if (!take(s, "False")) return "it is in Fortran order; C order is needed";
            seen |= ORDER;
        } else if (!strcmp(key, "shape")) {
            const char *why = read_shape(s, array);
            if (why) return why;
            seen |= SHAPE;
        } else {
            return "its header has an unknown key";
        }
        if (!take(s, ",") && (s->at == s->end || *s->at != '}')) return "its header is no dict";
    }
    return seen == (DESCR | ORDER | SHAPE) ? NULL
                                           : "its header lacks descr, fortran_order or shape";
}

// The bytes of the array's data, by shape and descr ("<f4": the digits count bytes).
static const char *find_data(struct scan *s, struct npy *array) {
    const char *digits = array->descr[0] ? array->descr + 2 : "";
    if (!strchr("<|", array->descr[0]) || npy_type(array) < 0)
        return "its elements are of no type that is known; bytes must be in little-endian order";
    size_t bytes = (size_t)atoi(digits);
    for (int i = 0; i < array->rank; i++)
        if (__builtin_mul_overflow(bytes, (size_t)array->shape[i], &bytes))
            return "its shape is too large";
    if (bytes != (size_t)(s->end - s->at)) return "its data is not as long as its header says";
    array->data = s->at;
    array->bytes = bytes;
    return NULL;
}

const char *npy_parse(const char *text, size_t len, struct npy *array) {
    const uint8_t *bytes = (const uint8_t *)text;
    *array = (struct npy){0};
    if (len < MAGIC_BYTES + 4 || memcmp(text, magic, MAGIC_BYTES) != 0) return "it is no .npy file";
    const bool wide = bytes[6] > 1;
    size_t start = MAGIC_BYTES + 4, header = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7]) return "its version is not 1.0, 2.0 or 3.0";
    if (wide) {
        if (len < start + 2) return "it ends within its header";
        header |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        start += 2;
    }
    if (header > HEADER_MAX || header > len - start) return "it ends within its header";
    struct scan s = {text + start, text + start + header};
    const char *why = read_dict(&s, array);
    if (why) return why;
    struct scan rest = {text + start + header, text + len};
    return find_data(&rest, array);
}

// ---- Writing

char *npy_format(enum tmg_dtype_id dtype, int rank, const int64_t *shape, const void *data,
                 size_t bytes, size_t *len) {
    const char *descr = "";
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype) descr = types[i].descr[0];
    char dict[128 + NPY_RANK_MAX * 24];
    int used =
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < rank; i++)
        used += snprintf(dict + used, sizeof dict - (size_t)used, "%s%lld%s", i ? " " : "",
                         (long long)shape[i], i + 1 < rank || rank == 1 ? "," : "");
    used += snprintf(dict + used, sizeof dict - (size_t)used, "), }");
    const size_t prefix = MAGIC_BYTES + 4;
    const size_t start = (prefix + (size_t)used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t header = start - prefix;
    char *file = mem_alloc(start + bytes + 1);
    memset(file, ' ', start);
    memcpy(file, magic, MAGIC_BYTES);
    file[6] = 1;
    file[7] = 0;
    file[8] = (char)(header & 0xff);
    file[9] = (char)(header >> 8);
    memcpy(file + prefix, dict, (size_t)used);
    file[start - 1] = '\n';
    if (bytes) memcpy(file + start, data, bytes);
    *len = start + bytes;
    return file;
}
