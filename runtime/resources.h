// What the compiler's log says of a kernel: registers, spills, shared memory, warnings.
// The log and not the cubin, because only the assembler knows how many bytes it spilled.
#pragma once

#include "runtime/tmagen.h"

// Reads the lines that ptxas writes with -v: the largest number of each kind over all functions, -1
// for what no line names.
void tmg_resources_parse(const char *log, tmagen_resources *resources);

// Removes from [log], in place, the lines that only count resources: what is left are warnings.
void tmg_resources_strip(char *log);
