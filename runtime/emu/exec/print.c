// vprintf and __assertfail: device strings and an argument block in the thread's local memory.
// Every conversion is taken apart here; the kernel's format never reaches the host's printf whole,
// and what it may print in all is limited.
#include "runtime/emu/exec/print.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096 };

// Copies the NUL-terminated string at generic [address]; cut at TEXT_MAX.
static void read_text(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                      uint64_t address, char *text) {
    size_t length = 0;

    for (; length + 1 < TEXT_MAX; length++) {
        const uint8_t *at = emu_access(warp, insn, lane, address + length, 1, EMU_READ);
        if (at == NULL || *at == '\0') break;
        text[length] = (char)*at;
    }
    text[length] = '\0';
}

static uint64_t take_argument(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                              uint64_t *at, unsigned bytes) {
    uint64_t value = 0;

    *at = (*at + bytes - 1) & ~(uint64_t)(bytes - 1);
    const uint8_t *from = emu_access(warp, insn, lane, *at, bytes, EMU_READ);
    if (from != NULL) memcpy(&value, from, bytes);
    *at += bytes;
    return value;
}

// Prints one conversion, [spec] from '%' to its letter.
static void print_one(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane, FILE *out,
                      const char *spec, uint64_t *at) {
    char format[40], text[TEXT_MAX];
    size_t length = strlen(spec);
    char letter = spec[length - 1];
    bool is_long =
        strstr(spec, "l") != NULL || strchr("zjt", spec[length > 1 ? length - 2 : 0]) != NULL;
    size_t flags = 1 + strspn(spec + 1, "-+ #0123456789.");

    if (strchr("diuxXocp", letter) != NULL) {
        bool wide = is_long || letter == 'p';
        uint64_t value = take_argument(warp, insn, lane, at, wide ? 8 : 4);
        if (!wide && strchr("di", letter) != NULL) value = (uint64_t)(int64_t)(int32_t)value;
        if (letter == 'p') {
            fprintf(out, "0x%llx", (unsigned long long)value);
            return;
        }
        snprintf(format, sizeof format, letter == 'c' ? "%.*sc" : "%.*sll%c", (int)flags, spec,
                 letter);
        if (letter == 'c')
            fprintf(out, "%c", (int)value);
        else
            fprintf(out, format, (unsigned long long)value);
    } else if (strchr("fFeEgGaA", letter) != NULL) {
        double value;
        uint64_t bits = take_argument(warp, insn, lane, at, 8);
        memcpy(&value, &bits, 8);
        snprintf(format, sizeof format, "%.*s%c", (int)flags, spec, letter);
        fprintf(out, format, value);
    } else if (letter == 's') {
        read_text(warp, insn, lane, take_argument(warp, insn, lane, at, 8), text);
        fputs(text, out);
    } else {
        fputs(spec, out);
    }
}

// A conversion may be 9999 characters wide; one that wants more is printed as it is.
static bool too_wide(const char *spec) {
    for (; *spec != '\0'; spec += strspn(spec, "0123456789")) {
        spec += strcspn(spec, "0123456789");
        if (strspn(spec, "0123456789") > 4) return true;
    }
    return false;
}

static void put_formatted(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                          FILE *out, const char *format, uint64_t at) {
    char spec[32];

    while (*format != '\0') {
        if (*format != '%' || format[1] == '%') {
            fputc(*format, out);
            format += *format == '%' ? 2 : 1;
            continue;
        }
        size_t length = 1 + strspn(format + 1, "-+ #0123456789.hlzjtL");
        if (format[length] == '\0' || length + 2 > sizeof spec) return;
        memcpy(spec, format, length + 1);
        spec[length + 1] = '\0';
        if (too_wide(spec))
            fputs(spec, out);
        else
            print_one(warp, insn, lane, out, spec, &at);
        format += length + 1;
    }
}

static void print_formatted(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                            const char *format, uint64_t at) {
    FILE *to = emu_machine(warp)->launch->print ? emu_machine(warp)->launch->print : stdout;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL) return;
    put_formatted(warp, insn, lane, out, format, at);
    if (fclose(out) == 0 && emu_budget_print(warp, insn, bytes)) fwrite(text, 1, bytes, to);
    free(text);
}

// Is [list], of a call's variables or NULL, of [count] that have [bytes] each at least?
static bool are(const uint32_t *list, uint32_t count, uint32_t bytes) {
    if (list == NULL || list[0] < count) return false;
    for (uint32_t i = 0; i < count; i++)
        if (list[1 + list[0] + i] < bytes) return false;
    return true;
}

// A 64-bit .param argument of [lane].
static uint64_t param_of(struct emu_warp *warp, unsigned lane, uint32_t offset) {
    uint64_t value;

    memcpy(&value, warp->local + lane * emu_machine(warp)->program->local_bytes + offset, 8);
    return value;
}

static bool is_generic(uint64_t address) { return address != 0; }

bool emu_call_builtin(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask,
                      const uint32_t *arguments, const uint32_t *returns) {
    const char *name = insn->callee->source->name;
    struct emu_insn plain = *insn;  // its accesses are generic
    char text[TEXT_MAX], file[TEXT_MAX];

    plain.space = SPACE_GENERIC;
    if (strcmp(name, "vprintf") == 0 && are(arguments, 2, 8)) {
        EMU_EACH_LANE(lane, mask) {
            uint64_t at = param_of(warp, lane, arguments[2]);
            read_text(warp, &plain, lane, param_of(warp, lane, arguments[1]), text);
            print_formatted(warp, &plain, lane, text, is_generic(at) ? at : 0);
            if (!are(returns, 1, 4)) continue;
            emu_local_written(warp, returns[1], 4);
            memset(warp->local + lane * emu_machine(warp)->program->local_bytes + returns[1], 0, 4);
        }
        return true;
    }
    if (strcmp(name, "__assertfail") == 0 && are(arguments, 2, 8)) {
        unsigned lane = (unsigned)__builtin_ctz(mask);
        read_text(warp, &plain, lane, param_of(warp, lane, arguments[1]), text);
        read_text(warp, &plain, lane, param_of(warp, lane, arguments[2]), file);
        emu_fatal(warp, insn, EMU_TRAP, "assertion failed: %.300s (%.200s)", text, file);
        return true;
    }
    return false;
}
