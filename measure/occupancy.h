// How many CTAs of a kernel fit on an SM, and what stops one more.
// Computed from tables of the CUDA programming guide, so that the summary needs no GPU.
#pragma once

struct occupancy {
    int blocks;         // CTAs an SM; 0: not even one fits, -1: the architecture is not known
    const char *limit;  // what stops one more: "shared memory", "registers", "threads", "CTAs"
};

// [registers] a thread, [shared_memory] static and dynamic bytes a CTA.
struct occupancy occupancy_of(const char *arch, int threads, int registers, int shared_memory);
