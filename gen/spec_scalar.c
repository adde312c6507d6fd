// What an unquoted word means: null, bool, integer, float or text, by YAML 1.2's core schema.
// Not YAML 1.1's: there 'no' is a bool and 010 is eight, which no author of a spec expects.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gen/spec.h"

static bool one_of(const char *text, const char *const words[]) {
    for (; *words; words++)
        if (!strcmp(text, *words)) return true;
    return false;
}

static bool only(const char *text, const char *set) { return *text && !text[strspn(text, set)]; }

// The base of an integer and where its digits start; 0: it is none.
static int integer_base(const char *text, const char **digits) {
    const char *unsigned_text = text + (*text == '-' || *text == '+');
    *digits = unsigned_text;
    if (only(unsigned_text, "0123456789")) return 10;
    *digits = text + 2;
    if (!strncmp(text, "0x", 2) && only(text + 2, "0123456789abcdefABCDEF")) return 16;
    if (!strncmp(text, "0o", 2) && only(text + 2, "01234567")) return 8;
    return 0;
}

static bool is_float(const char *text) {
    text += *text == '-' || *text == '+';
    size_t whole = strspn(text, "0123456789");
    text += whole;
    size_t fraction = 0;
    if (*text == '.') {
        fraction = strspn(text + 1, "0123456789");
        text += 1 + fraction;
    }
    if (whole + fraction == 0) return false;
    if (*text != 'e' && *text != 'E') return !*text;
    text++;
    text += *text == '-' || *text == '+';
    return only(text, "0123456789");
}

enum spec_type spec_scalar(const struct spec_node *node, long long *integer, double *real) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    const char *text = node->text, *digits;
    if (node->quoted) return SPEC_STRING;
    if (one_of(text, nulls)) return SPEC_NULL;
    *integer = one_of(text, trues);
    if (*integer || one_of(text, falses)) return SPEC_BOOL;
    int base = integer_base(text, &digits);
    if (!base && !is_float(text)) return SPEC_STRING;
    *real = strtod(text, NULL);
    if (!base) return SPEC_FLOAT;
    errno = 0;
    *integer = strtoll(base == 10 ? text : digits, NULL, base);
    if (errno != ERANGE) return SPEC_INT;
    return SPEC_FLOAT;
}
