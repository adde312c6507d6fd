// A loop over a range on all cores: what makes checks of a whole result affordable.
// No pool and no queue; a call starts its threads and ends them.
#pragma once
#include <stdint.h>

enum { PARALLEL_MAX = 16, PARALLEL_GRAIN = 1024 };  // threads; what parallel_grain() gives at most

// The cores that this process may run on.
int parallel_cores(void);

// Threads that parallel_for() uses: one for each core this process may run on, 1..PARALLEL_MAX.
int parallel_threads(void);

// A grain for [count] steps that take less than a microsecond each, as elements do, or of which
// there are few.
int64_t parallel_grain(int64_t count);

// Calls [body](context, begin, end, thread) so that the ranges cover 0..count once, each of at most
// [grain] steps, on parallel_threads() threads; [thread] counts from 0. Returns when all are done.
// Where threads cannot be started, fewer do the work.
void parallel_for(int64_t count, int64_t grain,
                  void (*body)(void *context, int64_t begin, int64_t end, int thread),
                  void *context);
