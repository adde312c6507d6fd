// Which kernel of a table serves a launch: the entry that was measured for its shape, else by the
// model the fastest of those that can run it. No device is asked and nothing is allocated.
#pragma once

#include "runtime/table.h"

enum {
    TMG_CHOICES = 128,  // that a ranking holds at most; the rest are slower
    TMG_PICKED = 4      // that a launch asks for first: one of them is nearly always loaded
};

struct tmg_choice {
    int kernel, splits;  // of the table; splits 0: the kernel has none
    int why;             // TMAGEN_BY_*
    int last;            // it is for what nothing else runs, or nobody measured it nearby
    double us;           // by the model; infinite for a kernel that has none
    double tuned_us;     // measured; 0 where it was not
    enum tmg_bound binds;
    int64_t workspace;  // bytes
};

struct tmg_question {
    const struct tmg_table *table;
    const tmagen_launch *launch;
    struct tmg_capacity capacity;  // of the device, no kernel being loaded
    int kernel, splits;            // pinned: that one alone; -1 and 0: any
    int why;                       // TMAGEN_BY_* of a pin; 0: none
    int64_t workspace;             // bytes that there are; -1: as many as are needed
    unsigned most;                 // choices that are wanted; 0: TMG_CHOICES
};

// Writes the choices that can run the launch to [choices], which has room for as many as are
// wanted, the first to be taken first. *count is 0, successfully, where a size is 0.
// TMAGEN_ERROR_ARGUMENT where nothing serves the launch: the message has each kernel's reason, and
// what would be served.
int tmg_choose(const struct tmg_question *question, struct tmg_choice *choices, unsigned *count);

// Reads "KERNEL" or "KERNEL/SPLITS" into the question's pin. TMAGEN_ERROR_ARGUMENT where the table
// has no such kernel, or it cannot be split so.
int tmg_choice_read(const struct tmg_table *table, const char *text, int *kernel, int *splits);
