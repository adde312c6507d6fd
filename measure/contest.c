// Rounds of turns, an event between any two turns, no gap on the device while there is work.
// The order turns around every round, so that nobody always follows the same neighbour.
#include "measure/contest.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "measure/nvml.h"
#include "measure/watchdog.h"
#include "runtime/error.h"

static const double replay_least_ms = 0.5, turn_ms = 2, warm_up_ms = 60;
enum { LAUNCHES_MAX = 2048, ROUNDS_LEAST = 5, ROUNDS_MOST = 500, SENSOR_SAMPLES = 512 };

struct recording {
    struct contestant *contestant;
    int sets, launches;
};

static int enqueue(void *context, CUstream stream) {
    const struct recording *recording = context;
    struct contestant *contestant = recording->contestant;
    for (int i = 0; i < recording->launches; ++i) {
        const int status = contestant->launch(contestant->context, stream, i % recording->sets);
        if (status != TMAGEN_OK) return status;
    }
    return TMAGEN_OK;
}

// Records [launches] launches and takes the time of one; the second of two replays counts.
static int record(struct gpu *gpu, struct contestant *contestant, int sets, int launches,
                  double *ms) {
    struct recording recording = {contestant, sets, launches};
    gpu_graph_free(gpu, &contestant->graph);
    int status = gpu_record(gpu, enqueue, &recording, &contestant->graph);
    contestant->launches = launches;
    if (status == TMAGEN_OK) status = gpu_time(gpu, &contestant->graph, 1, ms);
    if (status == TMAGEN_OK) status = gpu_time(gpu, &contestant->graph, 1, ms);
    *ms /= launches;
    return status;
}

int contestant_prepare(struct gpu *gpu, struct contestant *contestant, int sets, double *ms) {
    struct recording once = {contestant, sets, sets};
    watchdog_step("%s: first launches", contestant->name);
    int status = enqueue(&once, gpu->stream);
    if (status == TMAGEN_OK) status = gpu_wait(gpu);
    if (status == TMAGEN_OK) status = record(gpu, contestant, sets, sets, ms);
    if (status != TMAGEN_OK) return status;
    if (*ms * sets >= replay_least_ms) return TMAGEN_OK;
    double turns = ceil(replay_least_ms / fmax(*ms * sets, 1e-4));
    if (turns * sets > LAUNCHES_MAX) turns = LAUNCHES_MAX / sets;
    return turns > 1 ? record(gpu, contestant, sets, (int)turns * sets, ms) : TMAGEN_OK;
}

void contestant_free(struct gpu *gpu, struct contestant *contestant) {
    gpu_graph_free(gpu, &contestant->graph);
    free(contestant->ms);
    contestant->ms = NULL;
}

// The events of two rounds: while one is measured, the next is already queued.
struct rounds {
    struct contest *contest;
    int *order;       // contestants that take part
    int part;         // how many
    CUevent *events;  // [2][part + 1]
};

static int place(const struct rounds *rounds, int round, int turn) {
    return rounds->order[round % 2 ? rounds->part - 1 - turn : turn];
}

static int enqueue_round(struct gpu *gpu, struct rounds *rounds, int round) {
    CUevent *events = rounds->events + (round % 2) * (rounds->part + 1);
    int status =
        tmg_driver_check(gpu->driver->cuEventRecord(events[0], gpu->stream), "cuEventRecord");
    for (int turn = 0; turn < rounds->part && status == TMAGEN_OK; ++turn) {
        const struct contestant *contestant =
            &rounds->contest->contestants[place(rounds, round, turn)];
        for (int i = 0; i < contestant->replays && status == TMAGEN_OK; ++i) {
            status = gpu_replay(gpu, &contestant->graph);
        }
        if (status != TMAGEN_OK) break;
        status = tmg_driver_check(gpu->driver->cuEventRecord(events[turn + 1], gpu->stream),
                                  "cuEventRecord");
    }
    return status;
}

// Waits for [round] and keeps its times as sample [sample]; a negative one is dropped.
static int collect_round(struct gpu *gpu, struct rounds *rounds, int round, int sample) {
    CUevent *events = rounds->events + (round % 2) * (rounds->part + 1);
    int status = tmg_driver_check(gpu->driver->cuEventSynchronize(events[rounds->part]),
                                  "the measured launches");
    for (int turn = 0; turn < rounds->part && status == TMAGEN_OK && sample >= 0; ++turn) {
        struct contestant *contestant = &rounds->contest->contestants[place(rounds, round, turn)];
        float ms = 0;
        status =
            tmg_driver_check(gpu->driver->cuEventElapsedTime(&ms, events[turn], events[turn + 1]),
                             "cuEventElapsedTime");
        contestant->ms[sample] = ms / contestant->launches / contestant->replays;
    }
    return status;
}

// Runs [warm] rounds that don't count and [count] that do, always one queued ahead.
static int run_rounds(struct gpu *gpu, struct rounds *rounds, int warm, int count) {
    double clocks[SENSOR_SAMPLES], watts[SENSOR_SAMPLES];
    size_t samples = 0;
    int status = enqueue_round(gpu, rounds, 0);
    for (int round = 0; round < warm + count && status == TMAGEN_OK; ++round) {
        if (round + 1 < warm + count) status = enqueue_round(gpu, rounds, round + 1);
        if (status == TMAGEN_OK && round >= warm && samples < SENSOR_SAMPLES && round % 4 == 0) {
            samples += nvml_sample(&clocks[samples], &watts[samples]);
        }
        if (status == TMAGEN_OK) status = collect_round(gpu, rounds, round, round - warm);
        if (status == TMAGEN_OK && round >= warm) rounds->contest->done = round - warm + 1;
    }
    if (samples) rounds->contest->clock_mhz = (int)stats_of(clocks, samples).median;
    if (samples) rounds->contest->power_watts = (int)stats_of(watts, samples).median;
    return status;
}

// Sets the turns' lengths; returns the time of a round in ms.
static double plan(struct gpu *gpu, struct contest *contest, struct rounds *rounds, int *status) {
    double round_ms = 0;
    for (int i = 0; i < contest->count && *status == TMAGEN_OK; ++i) {
        struct contestant *contestant = &contest->contestants[i];
        double ms;
        if (!contestant->graph.exec) continue;
        *status = gpu_time(gpu, &contestant->graph, 2, &ms);
        ms /= 2;
        const double turn = contest->quick ? turn_ms / 2 : turn_ms;
        contestant->replays = ms > 0 && ms < turn ? (int)ceil(turn / ms) : 1;
        rounds->order[rounds->part++] = i;
        round_ms += ms * contestant->replays;
    }
    return round_ms;
}

static int make_events(struct gpu *gpu, struct rounds *rounds) {
    const size_t count = (size_t)(rounds->part + 1) * 2;
    rounds->events = calloc(count, sizeof *rounds->events);
    if (!rounds->events) return tmg_fail_memory();
    for (size_t i = 0; i < count; ++i) {
        const int status = tmg_driver_check(
            gpu->driver->cuEventCreate(&rounds->events[i], CU_EVENT_DEFAULT), "cuEventCreate");
        if (status != TMAGEN_OK) return status;
    }
    return TMAGEN_OK;
}

static void release(struct gpu *gpu, struct rounds *rounds) {
    for (int i = 0; rounds->events && i < (rounds->part + 1) * 2; ++i) {
        if (rounds->events[i]) gpu->driver->cuEventDestroy(rounds->events[i]);
    }
    free(rounds->events);
    free(rounds->order);
}

int contest_run(struct gpu *gpu, struct contest *contest) {
    struct rounds rounds = {.contest = contest};
    rounds.order = calloc((size_t)contest->count, sizeof *rounds.order);
    int status = rounds.order ? TMAGEN_OK : tmg_fail_memory();
    const double round_ms = status == TMAGEN_OK ? plan(gpu, contest, &rounds, &status) : 0;
    int count = contest->rounds;
    if (!count && round_ms > 0) {
        const double fit = contest->seconds * 1000 / round_ms;
        count = fit < ROUNDS_LEAST ? ROUNDS_LEAST : fit > ROUNDS_MOST ? ROUNDS_MOST : (int)fit;
    }
    for (int i = 0; i < rounds.part && status == TMAGEN_OK; ++i) {
        struct contestant *contestant = &contest->contestants[rounds.order[i]];
        free(contestant->ms);
        contestant->ms = calloc((size_t)count, sizeof *contestant->ms);
        if (!contestant->ms) status = tmg_fail_memory();
    }
    if (status == TMAGEN_OK && rounds.part) status = make_events(gpu, &rounds);
    if (status == TMAGEN_OK && rounds.part) {
        watchdog_step("measuring");
        const double warm_ms = contest->quick ? warm_up_ms / 2 : warm_up_ms;
        const int warm = contest->warm ? 0 : (int)fmin(20, warm_ms / round_ms);
        status = run_rounds(gpu, &rounds, 1 + warm, count);
    }
    release(gpu, &rounds);
    return status;
}
