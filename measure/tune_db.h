// The database of a tuning: one SQLite file that one process writes, by the rows of two tables.
// Nothing of it is trusted: schema, types and pages are checked when it is opened, and a damaged
// file is set aside, never written to.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/tmagen.h"

struct tune_db;

enum tune_verdict {
    TUNE_UNKNOWN,  // of a kernel: not checked yet
    TUNE_OK,
    TUNE_WRONG,    // its result is not the reference's
    TUNE_REFUSED,  // not for this shape, although its manifest did not say so
    TUNE_COMPILE,  // the compiler refused it
    TUNE_FAULT,    // the device or the process failed
    TUNE_HANG,     // no end within the time that a step may take
    TUNE_VERDICTS
};

const char *tune_verdict_name(enum tune_verdict verdict);

// A row of the table kernel. Strings are borrowed, and "" where a column is null.
struct tune_kernel {
    const char *key;                   // of its compile: source, options, architecture, compiler
    const char *name, *family, *arch;  //
    const char *spec;                  // all knobs, as a spec of one line
    const char *manifest;              // what the model reads
    const char *tmagen, *compiler;     // versions
    int registers, spill_bytes;        // -1: not known
    double compile_ms;                 // 0: not known
    enum tune_verdict verdict;         // on small shapes
    const char *checks, *why;          // what was checked there; what was wrong
};

// A row of the table result: a kernel at a shape on a device.
struct tune_result {
    const char *device, *dtype, *shape, *key;
    int splits;  // of the launch; 0: the kernel takes none
    enum tune_verdict verdict;
    int level;                // contests that it won its way into; 0: a quick time alone
    int rounds;               // of the last of them
    double ms, lower, upper;  // median and quartiles; 0 where nothing was measured
    int clock_mhz, watts;     // medians meanwhile; 0: not known
    int64_t checked;          // elements at this shape that were held against the reference
    double worst;             // their largest error, as a share of what it may be
    const char *why;
    int driver;  // 13000 for 13.0
    const char *tmagen;
    uint64_t seed;
};

enum tune_db_mode {
    TUNE_DB_READ,  // must be there, and whole
    TUNE_DB_WRITE  // is made where it is not there; a damaged one is set aside, with a note
};

// Opens the database at [path]. A library error code: TMAGEN_ERROR_FILE also for a file that is a
// database of something else, or of a later version. Close it in any case; NULL is fine.
int tune_db_open(const char *path, enum tune_db_mode mode, struct tune_db **db);
void tune_db_close(struct tune_db *);

// Closes it, and removes the file if opening it has made it.
void tune_db_discard(struct tune_db *);

// Keeps other tunings away until it is closed: results of one shape are of one contest. An error
// where another has it.
int tune_db_claim(struct tune_db *);

// What is written between begin and commit is there as a whole or not at all; after a failure, a
// full disk say, all that was committed before still is. Library error codes.
int tune_db_begin(struct tune_db *);
int tune_db_commit(struct tune_db *);
void tune_db_rollback(struct tune_db *);
// A kernel that is there stays, but for what a null column or an unknown verdict lacked.
int tune_db_put_kernel(struct tune_db *, const struct tune_kernel *);
int tune_db_put_result(struct tune_db *, const struct tune_result *);

// Copies all of [from] into [db], which it must have begun. Of two results for the same kernel,
// shape and device that of more rounds stays, then that of the higher level, then the faster.
int tune_db_merge(struct tune_db *db, struct tune_db *from);

// Calls [visit] for each row until it returns non-zero, which is returned: kernels by key; results
// by device, type, family, shape, then verdict and time, each with its kernel. Or an error code of
// the library's.
int tune_db_kernels(struct tune_db *, int (*visit)(void *, const struct tune_kernel *), void *);
int tune_db_results(struct tune_db *,
                    int (*visit)(void *, const struct tune_result *, const struct tune_kernel *),
                    void *);
