// Contestants in alternation: each takes its turn for a few milliseconds, round after round.
// The chip's clock follows its power, so only times that were taken side by side compare.
#pragma once
#include <stdbool.h>

#include "measure/gpu.h"
#include "measure/stats.h"

struct contestant {
    char name[160];
    // Launches once on copy [set] of the inputs. A library error code.
    int (*launch)(void *context, CUstream stream, int set);
    void *context;

    int launches;  // in one replay of
    struct gpu_graph graph;
    int replays;  // in a turn
    double *ms;   // [rounds]: of one launch
};

struct contest {
    struct contestant *contestants;
    int count, sets;
    double seconds;  // for all rounds; rounds follow from it
    int rounds;      // 0: as many as fit, 5 at least and 500 at most
    bool warm;       // the GPU comes from such work: it need not be brought to that clock
    bool quick;      // turns and warming up of half the length

    int done;         // rounds that were measured
    int clock_mhz;    // median SM clock during the contest; 0: not known
    int power_watts;  // median power; 0: not known
};

// Prepares one contestant: launches it once on each copy, records the graph of a rotation that
// takes at least 0.5 ms, and estimates the time of a launch, [ms]. A failure leaves it without a
// graph.
int contestant_prepare(struct gpu *gpu, struct contestant *contestant, int sets, double *ms);
void contestant_free(struct gpu *gpu, struct contestant *contestant);

// Measures. Contestants without a graph are left out; their [ms] stays NULL.
int contest_run(struct gpu *gpu, struct contest *contest);
