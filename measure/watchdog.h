// Ends the process when a step takes too long: a hung kernel cannot be stopped in any other way.
// So that no command ever hangs without saying what it waited for.
#pragma once

// Watches from now on: unless watchdog_step() or watchdog_stop() is called within [seconds], prints
// "tmagen: error: STEP: no end after N s" to stderr and exits with 3. STEP is what was named last,
// before the start too, where a rest may be declared as well.
void watchdog_start(int seconds);

// Names the step that begins now and restarts the clock.
void watchdog_step(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Likewise, for work that is the host's, or a reference's: no kernel that hangs. It has
// watchdog_host_seconds where that is more than the other steps have.
void watchdog_host(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern int watchdog_host_seconds;  // 300; tests lower it

// Within a step, [file] is compiled from now on, which is the host's work too; NULL: no more, and
// the step begins anew. The library's compiles say so themselves while the watch runs.
void watchdog_compile(const char *file);

// What runs now until the next step is work of the host alone, which takes the time that it takes.
void watchdog_rest(void);

void watchdog_stop(void);
