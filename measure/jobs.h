// Jobs that processes do side by side, and what they print as if one had done them in order.
// Processes, not threads: NVRTC compiles one program at a time in each.
#pragma once

enum { JOBS_MAX = 256 };  // processes

struct jobs {
    int count;
    int processes;  // 0: one for each core
    // Does [job], of 0..count-1, in one of the processes: prints, and returns an exit code.
    int (*work)(void *context, int job);
    // Called here, in the place of work's code, where the process of [job] is lost: its exit code.
    int (*lost)(void *context, int job, const char *why);
    void *context;
};

// Does all jobs. What each prints comes whole and in the order of the jobs, as soon as that before
// is out. Returns the highest exit code.
int jobs_run(const struct jobs *);
