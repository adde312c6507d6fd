// The thread's last error and warning.
// One place, so that every message has one form and one bound, and no caller has to free anything.
#include "runtime/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 8192, WARNING_BYTES = 2048 };

static _Thread_local char message[MESSAGE_BYTES];
static _Thread_local char warning[WARNING_BYTES];

static const char *const names[] = {
    [-TMAGEN_OK] = "ok",
    [-TMAGEN_ERROR_ARGUMENT] = "argument",
    [-TMAGEN_ERROR_MEMORY] = "memory",
    [-TMAGEN_ERROR_NO_DRIVER] = "no driver",
    [-TMAGEN_ERROR_NO_DEVICE] = "no device",
    [-TMAGEN_ERROR_NO_COMPILER] = "no compiler",
    [-TMAGEN_ERROR_COMPILE] = "compile",
    [-TMAGEN_ERROR_MISS] = "cache miss",
    [-TMAGEN_ERROR_MANIFEST] = "manifest",
    [-TMAGEN_ERROR_FILE] = "file",
    [-TMAGEN_ERROR_DEVICE] = "device",
    [-TMAGEN_ERROR_BUNDLE] = "bundle",
};

const char *tmagen_version(void) { return TMAGEN_VERSION; }

const char *tmagen_error_last(void) { return message; }

const char *tmagen_warning_last(void) { return warning; }

const char *tmagen_error_name(int code) {
    int count = (int)(sizeof names / sizeof *names);
    return code <= 0 && code > -count ? names[-code] : "unknown";
}

// Messages quote files that come from anywhere, and are printed on terminals.
static void make_printable(char *text) {
    for (; *text; ++text)
        if ((*text > 0 && *text < ' ' && *text != '\n' && *text != '\t') || *text == 127)
            *text = '?';
}

int tmg_fail(int code, const char *format, ...) {
    char text[MESSAGE_BYTES];  // an argument may be the old message
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    make_printable(text);
    memcpy(message, text, strlen(text) + 1);
    return code;
}

int tmg_fail_memory(void) { return tmg_fail(TMAGEN_ERROR_MEMORY, "out of memory"); }

int tmg_fail_within(int code, const char *format, ...) {
    char prefix[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    return tmg_fail(code, "%s: %s", prefix, message);
}

void tmg_warn(const char *format, ...) {
    size_t used = strlen(warning);
    if (used + 3 >= sizeof warning) return;
    if (used) used += (size_t)snprintf(warning + used, sizeof warning - used, "; ");
    va_list args;
    va_start(args, format);
    vsnprintf(warning + used, sizeof warning - used, format, args);
    va_end(args);
    make_printable(warning + used);
}

void tmg_warnings_clear(void) { warning[0] = 0; }
