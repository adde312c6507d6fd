// The thread's last error and warning.
// One place, so that every message has one form and one bound, and nobody has to free it.
#pragma once

#include "runtime/tmagen.h"

// Sets tmagen_error_last() and returns [code], so that callers say: return tmg_fail(...).
int tmg_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// As tmg_fail(TMAGEN_ERROR_MEMORY, "out of memory").
int tmg_fail_memory(void);

// Puts "[prefix]: " before the message of the last error and returns [code].
int tmg_fail_within(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Appends one sentence to tmagen_warning_last(), and forgets them all.
void tmg_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tmg_warnings_clear(void);
