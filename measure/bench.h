// The command `tmagen bench`, behind its arguments: kernels and their peers, shape by shape.
// The only source of a performance figure, so everything that a figure depends on is measured here.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "measure/contest.h"
#include "measure/kernels.h"
#include "measure/rotation.h"
#include "measure/target.h"

struct bench_session;
struct bench_shape;
struct table;

struct bench_plan {
    const char *device;                 // "cuda" or "cuda:N"
    const struct kernel_text *kernels;  // ours first, then those of --vs SPEC
    size_t kernel_count, own_count;
    bool cublaslt;                    // --vs cublaslt
    bool copy;                        // --vs copy
    bool chain;                       // each launch reads what the one before it wrote
    bool unlike;                      // kernels may take other tensors: results do not compare
    const struct shape_list *shapes;  // empty: the typical shape of the kernels' reference
    double seconds;                   // of measuring a shape
    int rounds;                       // 0: as many as fit into that
    double roof_tflops;               // 0: cuBLASLt's best at 8192^3, where it is a peer
    uint64_t seed;
    int timeout;  // seconds that a step may take
    bool json;
    // Where not NULL: gets every measured shape instead of the terminal.
    void (*visit)(void *context, const struct bench_session *, const struct bench_shape *);
    void *context;
};

enum bench_role {
    BENCH_OWN,
    BENCH_OTHER,
    BENCH_FIRST,  // cuBLASLt's
    BENCH_BEST,
    BENCH_COPY  // of as many bytes: no kernel of the shape's
};

// What takes part at one shape.
struct bench_entry {
    enum bench_role role;
    struct contestant contestant;
    char picked[TMG_MAX_NAME + 16];  // what a set, or cuBLASLt, took here; "" for a kernel
    char refused[300];               // why it could not be measured; "" where it was
    bool failed;                     // it should have been: a wrong result or a failed launch
    bool unlike;                     // it has tensors of its own
};

enum { BENCH_ENTRIES_MAX = 67 };

// One shape, measured.
struct bench_shape {
    char text[120];
    const char *dtype;
    bool matrix;  // matrix units can do its operations
    double flops, bytes, l1_bytes;
    int sets;
    struct contest contest;
    struct bench_entry entries[BENCH_ENTRIES_MAX];
    int entry_count;
};

// What holds for the whole run.
struct bench_roofs {
    double copy_bytes;    // a second, read and written, of a large device-to-device copy
    double matrix_flops;  // a second; 0: not known
    const char *matrix_source;
};

struct bench_session {
    const struct bench_plan *plan;
    struct gpu gpu;
    struct target *targets;        // not loaded where that failed
    struct reference *references;  // of those that were loaded
    struct cublaslt *cublaslt;
    struct rotation_source source;
    struct bench_roofs roofs;
    int measured;  // shapes so far
};

// Returns an exit code: 0, 1 where a kernel failed, 2 where the kernels do not compare or all
// refuse the shapes that were asked for, 3 where there is no GPU or peer.
int bench_all(const struct bench_plan *plan);

// The best possible time of a shape and the roof that sets it: "copy", "matrix", "L1".
struct bench_floor {
    double ms;
    const char *roof;
};
struct bench_floor bench_floor_of(const struct bench_session *session,
                                  const struct bench_shape *shape);

// The times of an entry in ms, and how many times as fast as [peer] it is, round by round. Only of
// entries that were measured: bench_measured().
bool bench_measured(const struct bench_entry *entry);
struct stats bench_times(const struct bench_shape *shape, const struct bench_entry *entry);
struct stats bench_ratio(const struct bench_shape *shape, const struct bench_entry *entry,
                         const struct bench_entry *peer);

// The quickest of our own kernels, or NULL.
const struct bench_entry *bench_best(const struct bench_shape *shape);

// ---- bench_peer.c: the roofs, and cuBLASLt as a contestant

// Measures the copy bandwidth and, with cuBLASLt, the matrix roof for problems such as
// [manifest]'s.
int bench_measure_roofs(struct bench_session *session, const struct tmg_manifest *manifest);

// Adds cuBLASLt's first and best algorithm for the rotation to [shape]; or why there is none. The
// plan that they launch is returned, and belongs to the caller.
struct cublaslt_plan *bench_add_cublaslt(struct bench_session *session,
                                         const struct rotation *rotation,
                                         struct bench_shape *shape);

// ---- bench_print.c: what the user sees
void bench_print_head(const struct bench_session *session);
void bench_print_shape(const struct bench_session *session, const struct bench_shape *shape);

// The name of an entry, and what a set took.
void bench_put_name(struct table *table, const struct bench_entry *entry);

// ---- bench_summary.c: the closing table, a row a shape: the best of our kernels against the peers

struct bench_mean {
    double logarithms, least;  // of ratios
    int count;
    char least_at[120];
};

struct bench_summary {
    struct table *table;
    struct bench_mean first, best;
};

// 0, or -1 without memory.
int bench_summary_new(const struct bench_session *session, struct bench_summary *summary);
void bench_summary_add(struct bench_summary *summary, const struct bench_session *session,
                       const struct bench_shape *shape);
void bench_summary_print(const struct bench_summary *summary);
void bench_summary_free(struct bench_summary *summary);
