// Shapes, kernels and times of a dispatch table.
#include "gen/dispatch_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/table.h"

bool words_shape(const char *text, int dims, int64_t *shape) {
    for (int i = 0; i < dims; i++) {
        char *end;
        shape[i] = strtoll(text, &end, 10);
        if (end == text || *text == '-' || *text == '+' || shape[i] < 1 ||
            shape[i] > TMG_MAX_EXTENT)
            return false;
        if (*end != (i + 1 < dims ? 'x' : 0)) return false;
        text = end + 1;
    }
    return true;
}

bool words_name(const char *kernel, const char *suffix, const char *text, size_t length) {
    const size_t whole = strlen(kernel), bare = whole - strlen(suffix);
    return (length == whole || length == bare) && !memcmp(kernel, text, length);
}

int words_splits(const char *text, size_t length) {
    if (!text[length]) return 0;
    const char *digits = text + length + 1;
    char *end;
    const long long splits = strtoll(digits, &end, 10);
    const bool number = isdigit((unsigned char)*digits) && !*end;
    return number && splits >= 1 && splits <= TMG_MAX_EXTENT ? (int)splits : -1;
}

double words_us(struct diag *diag, const struct spec_node *node, const char *path) {
    long long integer = 0;
    double real = 0;
    if (!node) return 0;
    const enum spec_type type =
        node->kind == SPEC_SCALAR ? spec_scalar(node, &integer, &real) : SPEC_NULL;
    if (type == SPEC_INT) real = (double)integer;
    if ((type == SPEC_INT || type == SPEC_FLOAT) && real > 0 && real < 1e12) return real;
    diag_error(diag, node->place, "microseconds, as it was measured",
               "%s: must be a number above 0 and below 1e12", path);
    return 0;
}
