// Names as people wrote them: _ZN2ns5scaleIfEEvPT_i is ns::scale<...>. Of the mangling of the
// Itanium
// C++ ABI (section 5.1) only what names of functions are made of; all else stays as the file has
// it.
#include <ctype.h>
#include <string.h>

#include "runtime/emu/emu.h"

enum { DEPTH = 60 };  // of brackets in template arguments, one bit each

struct plain {
    const char *at;
    char *text;
    size_t size, used;
};

static bool put(struct plain *plain, const char *part, size_t length) {
    if (length >= plain->size - plain->used) return false;
    memcpy(plain->text + plain->used, part, length);
    plain->used += length;
    plain->text[plain->used] = '\0';
    return true;
}

// "5scale": steps over it. NULL where the text ends before the name does.
static const char *source_name(struct plain *plain, size_t *length) {
    const char *start = plain->at;

    for (*length = 0; isdigit((unsigned char)*start) && *length < 10000; start++)
        *length = 10 * *length + (size_t)(*start - '0');
    if (*length == 0 || strnlen(start, *length) < *length) return NULL;
    plain->at = start + *length;
    return start;
}

static bool put_source_name(struct plain *plain) {
    size_t length;
    const char *start = source_name(plain, &length);

    if (start == NULL) return false;
    if (length >= 10 && memcmp(start, "_GLOBAL__N", 10) == 0)
        return put(plain, "(anonymous namespace)", 21);
    return put(plain, start, length);
}

// Steps behind the next [end].
static bool skip_to(struct plain *plain, char end) {
    const char *found = strchr(plain->at, end);

    if (found != NULL) plain->at = found + 1;
    return found != NULL;
}

// Steps over a letter of a type, or two, that opens no bracket.
static bool skip_letter(struct plain *plain) {
    char letter = *plain->at++;

    if (letter == '\0') return false;
    bool standard = letter == 'S' && islower((unsigned char)*plain->at);  // St, Sa
    plain->at += standard;
    if (letter == 'A' || letter == 'T' || (letter == 'S' && !standard))  // A10_i, T0_, S1_
        return skip_to(plain, '_');
    if (letter != 'D' || *plain->at == '\0') return true;
    if (*plain->at++ != 'F') return true;
    plain->at += strspn(plain->at, "0123456789");  // DF16_, DF16b
    return *plain->at != '\0' && plain->at++;
}

// A literal behind its L: "i128E" is done; false for an enumerator's type, whose bracket is open.
static bool skip_value(struct plain *plain, bool *fine) {
    size_t length;

    if (*plain->at == 'N') return false;
    *fine = (!isdigit((unsigned char)*plain->at) || source_name(plain, &length) != NULL) &&
            skip_to(plain, 'E');
    return true;
}

// Steps over template arguments, at the I that opens them. A counter stands for the stack that
// brackets need; a bit a bracket says that a value follows it (LN2ns4EnumE3E).
static bool skip_arguments(struct plain *plain) {
    uint64_t values = 0;
    unsigned depth = 0;
    bool fine = true;

    do {
        size_t length;
        char letter = *plain->at;
        bool opens = letter != '\0' && strchr("INXJF", letter) != NULL, value = false;
        if (letter == 'L') {
            plain->at++;
            opens = value = !skip_value(plain, &fine);
        }
        if (opens) {
            values = (values & ~(UINT64_C(1) << depth)) | (uint64_t)value << depth;
            depth++;
            plain->at++;
        } else if (letter == 'E') {
            depth--;
            plain->at++;
            if (values >> depth & 1) fine = skip_to(plain, 'E');
        } else if (isdigit((unsigned char)letter)) {
            fine = source_name(plain, &length) != NULL;
        } else if (letter != 'L') {
            fine = skip_letter(plain);
        }
    } while (fine && depth > 0 && depth < DEPTH);
    return fine && depth == 0;
}

static bool put_arguments(struct plain *plain) {
    if (*plain->at != 'I') return true;
    return skip_arguments(plain) && put(plain, "<...>", 5);
}

// What stands between N and E, the const and & of a member function aside.
static bool put_nested(struct plain *plain) {
    bool first = true;

    plain->at += strspn(plain->at, "rVKRO");
    for (; *plain->at != 'E'; first = false) {
        if (!first && !put(plain, "::", 2)) return false;
        if (first && strncmp(plain->at, "St", 2) == 0) {
            plain->at += 2;
            if (!put(plain, "std", 3)) return false;
            continue;
        }
        plain->at += *plain->at == 'L';  // of internal linkage
        if (!put_source_name(plain) || !put_arguments(plain)) return false;
    }
    return !first;
}

const char *emu_plain_name(const char *mangled, char *text, size_t size) {
    struct plain plain = {.at = mangled, .text = text, .size = size};

    if (strncmp(mangled, "_Z", 2) == 0) {
        plain.at += 2;
        bool nested = *plain.at == 'N';
        plain.at += nested || *plain.at == 'L';
        if (nested ? put_nested(&plain) : put_source_name(&plain) && put_arguments(&plain))
            return text;
    }
    return mangled;
}
