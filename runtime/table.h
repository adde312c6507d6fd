// A dispatch table, checked: the kernels that may serve what is asked, what was measured of them,
// and a GPU's rates for what was not. With its kernels' manifests it is all that choosing needs, so
// that `tmagen explain` chooses as an application does, without a device.
#pragma once

#include "runtime/least.h"

enum {
    TMG_TABLE_VERSION = 4,
    TMG_MAX_TABLE_KERNELS = 512,
    TMG_MAX_TABLE_SPLITS = 16,
    TMG_MAX_TABLE_DIMS = 8,
    TMG_MAX_TUNED = 1 << 16,
    TMG_MAX_MEASURED = 1 << 14,
    TMG_NEAR_BLOCK = 16,      // measured shapes that have a box around them
    TMG_MAX_LAUNCHES = 1024,  // of a table: kernels with their splits
    TMG_LARGEST_CLASS = 128   // bytes: from here on alignment is worth nothing more
};

// A kernel of a table, and into how many parts its tiles may be split; none named: by its own
// default. A new shape looks at every row.
struct tmg_row {
    struct tmg_manifest *manifest;  // NULL until tmg_table_take()
    const struct tmg_rules *rules;  // the manifest's
    int last;                       // behind all others that run the launch
    int nearby;                     // only where it was measured nearby, or behind the others
    unsigned first_launch;          // the first of its splits, counted through the table
    unsigned split_count;           // that are named
    int splits[TMG_MAX_TABLE_SPLITS];
    char name[TMG_MAX_NAME];
};

// A launch of a table: what choosing looks at of all of them.
struct tmg_listed {
    unsigned short kernel;
    unsigned short fits_as;  // the first kernel with the same rules of sizes and tensors
    unsigned char last, nearby;
    int splits;
};
_Static_assert(TMG_MAX_TABLE_KERNELS <= 1 << 16, "a kernel's number is an unsigned short");

// What was found best for a shape whose rows lie at multiples of [alignment] bytes.
struct tmg_tuned {
    int64_t shape[TMG_MAX_TABLE_DIMS];
    int alignment, kernel, splits;
    double us;
};

// The log of what a launch took by what the model says, beside the mean of what was measured at the
// shape. Launches are kernels, each with each of its splits, in the table's order.
struct tmg_miss {
    float log;
    unsigned launch;
};

// A shape that was measured, of a few launches.
struct tmg_measured {
    int alignment;                 // as of tuned entries
    float at[TMG_MAX_TABLE_DIMS];  // log2 of its dims
    uint64_t place;                // in an order in which near ones are not far apart
    unsigned first, end;           // of the table's misses: its own, in the order of launches
    float mean;                    // of the logs of what its launches took by what the model says
};

struct tmg_learned;

struct tmg_table {
    char name[TMG_MAX_NAME], family[TMG_MAX_NAME], version[TMG_MAX_NAME];  // of the tmagen it is by
    char gpu[TMG_MAX_NAME];
    int sms;
    struct tmg_rates rates;
    unsigned dim_count, kernel_count, tuned_count, measured_count, launch_count;
    char dims[TMG_MAX_TABLE_DIMS][TMG_MAX_NAME];  // in the order of shapes
    struct tmg_row *kernels;                      // and one more, whose first launch is none
    struct tmg_tuned *tuned;                      // sorted
    struct tmg_measured *measured;                // sorted by their dims
    const struct tmg_measured **by_place;
    float *at;     // of eight by place the first dim, the second..., the twos of alignments
    float *boxes;  // of eight blocks of them the least of the first dim, its most, of the second...
    struct tmg_miss *misses;      // of all of them
    struct tmg_learned *learned;  // of the model's errors; NULL: nothing
    struct tmg_terms terms;       // of all kernels
    struct tmg_leasts leasts;     // of all launches
    struct tmg_listed *listed;    // each of them
    // What all kernels together take: their tensors and dims with the loosest of their rules.
    struct tmg_manifest *interface;
    int64_t reach[TMG_MAX_DIMS];         // the most of each dim that every kernel takes
    int shape_dims[TMG_MAX_TABLE_DIMS];  // of the interface
};

// Parses [text]; the kernels' manifests are still to be taken. TMAGEN_ERROR_MANIFEST, with the
// place in the document, or _MEMORY on failure.
int tmg_table_parse(const char *text, size_t bytes, const char *origin, struct tmg_table **table);

// Gives kernel [index] its manifest. TMAGEN_ERROR_MANIFEST where it is of another kernel, cannot be
// split as the table says, or has other tensors, dims or scalars than the first kernel's.
int tmg_table_take(struct tmg_table *table, unsigned index, const char *text, size_t bytes);

// Fails, naming [other], where it is not launched with what [first] is: the same tensors, dims and
// scalars, and no workspace that a set could not share.
int tmg_table_alike(const struct tmg_manifest *first, const struct tmg_manifest *other);

// Makes the interface, of all manifests, and checks what the table says of them.
int tmg_table_finish(struct tmg_table *table);

void tmg_table_free(struct tmg_table *table);  // NULL is nothing to do

int tmg_table_kernel(const struct tmg_table *table, const char *name);  // its index, or -1

// A kernel's [name] without "FAMILY_" before it, as rows of what was measured may have it.
const char *tmg_table_short_name(const char *name, const char *family);

// The launch of a kernel with [splits]; -1 where the table does not list those splits.
int tmg_table_launch(const struct tmg_table *table, int kernel, int splits);

// What [launch] missed at a measured shape, the mean with it; NAN where that is not known.
float tmg_table_miss(const struct tmg_table *table, const struct tmg_measured *measured,
                     unsigned launch);

// The largest power of two, up to TMG_LARGEST_CLASS, that divides the bytes between rows of every
// tensor of [binding]: the class by which tuned entries are told apart.
int tmg_alignment_class(const struct tmg_binding *binding);

// The entry of that shape and class, or NULL.
const struct tmg_tuned *tmg_table_find(const struct tmg_table *table, const int64_t *shape,
                                       int alignment);
