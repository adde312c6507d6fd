// Test vectors of the emulator: tables of PTX instruction forms, programs made of them, results.
// What a form is given follows from its text and the seed alone, so only results are recorded.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/device.h"

// ---- Tables (table_*.c)

// How far two results may be apart. PTX states the limits for the instruction against the exact
// value; the emulator is correctly rounded, so one ulp more is always allowed.
enum bound_kind {
    EXACT,     // bit for bit
    ULP,       // units in the last place
    RELATIVE,  // to the expected result
    ABSOLUTE,
    MIXED  // absolute below 1, relative above
};

struct bound {
    enum bound_kind kind;
    double limit;
};

// A row is PTX text with these marks in it:
//   <a|b>      alternatives: the row stands for each combination
//   $C  =C     an input (register a0, a1, ..) and a result (r0, r1, ..) of class C, see values.c
//   +C         a result that starts with an input's value
//   ${4C} ..   four of them in braces; likewise ={4C} and +{4C}
//   #          the form's number, for labels
//   map(NAME)      at the start: nothing, but forms that differ only in their map need to differ
//   fill(at,bytes,C)  dump(at,bytes)    shared memory at sm+at from inputs, and into results
//   gfill(at,bytes,C) gdump(at,bytes)   the same for the block's own part of global memory, at g
// Registers that any text may use: tid; s4, s8, s16 (sm + 4, 8, 16 times tid), g, g4, g8, g16
// and, where the row has a map, map.
struct vector_row {
    const char *text;
    struct bound bound;
    const struct tmg_tensor_map_args *map;  // over the first block's part of global memory; or NULL
};

enum {
    SCRATCH_BYTES = 64 * 1024,  // of global memory, a block
    SHARED_BYTES = 48 * 1024
};

// Metadata of a sparse matrix in the register m, in ascending order as PTX wants it: for 16 and 8
// bits all six pairs, for tf32 both elements.
#define METADATA                                                        \
    ".reg .b32 m; and.b32 m, $i, 0x55555555; or.b32 m, m, 0x88888888; " \
    "selp.b32 m, m, 0x4ee4e44e, $p; "
#define METADATA_TF32 \
    ".reg .b32 m; and.b32 m, $i, 0x22222222; mul.lo.u32 m, m, 5; or.b32 m, m, 0x44444444; "

struct vector_table {
    const char *name;
    unsigned threads, rounds, forms_per_program;
    bool meets;        // barriers between forms, as they use the same memory
    unsigned cluster;  // CTAs; 0: none. All rounds are then whole clusters
    const struct vector_row *rows;
    size_t row_count;
};

#define TABLE(name_, threads_, rounds_, forms_, meets_, cluster_)          \
    {                                                                      \
#name_, threads_, rounds_, forms_, meets_, cluster_, name_##_rows, \
            sizeof name_##_rows / sizeof(struct vector_row)                \
    }

extern const struct vector_table int_table, bits_table, compare_table, float_table, half_table,
    convert_table, memory_table, warp_table, matrix_table, wgmma_table, tma_table, im2col_table,
    cluster_table, wmma_table, video_table, sync_table, special_table, replace_table;

// ---- Forms (form.c)

enum { SLOTS_MAX = 640 };

// One instruction form: a row with its alternatives chosen, ready to be put into a program.
struct form {
    const struct vector_table *table;
    const struct vector_row *row;
    char *text;               // as chosen, marks and all
    char *body;               // the PTX
    char in[SLOTS_MAX + 1];   // class of each input ..
    char out[SLOTS_MAX + 1];  // .. and result
    size_t in_count, out_count;
    uint64_t key;  // of the text
};

struct forms {
    struct form *list;
    size_t count;
};

// All forms of [table]; text that breaks the rules above ends the program.
struct forms forms_of(const struct vector_table *table);
void forms_free(struct forms *forms);

// The PTX of a program of [count] forms; its entry is "vectors". The caller frees it.
char *program_text(const struct form *forms, size_t count);

// A growing text.
struct program_lines {
    char *data;
    size_t length, capacity;
};
void text_add(struct program_lines *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- Values (values.c)

struct class {
    char letter;
    const char *register_type;  // of a PTX register
    unsigned bytes;             // in memory
    enum class_kind { INTEGER, PREDICATE, SMALL, FLOAT, MODERATE } kind;
    unsigned exponent, fraction;  // bits of a float; of a SMALL: its range is [0, exponent)
    unsigned keep;                // bits that may be set
    bool finite;
};
const struct class *class_of(char letter);

// The value of [slot] for thread [index] of the form with [key]. Bits above the class's are zero.
uint64_t input_value(const struct class *class, uint64_t key, uint64_t seed, size_t slot,
                     size_t index);
// Whether [got] is [expected] within [bound].
bool within(const struct bound *bound, const struct class *class, uint64_t expected, uint64_t got);

// ---- Running (execute.c)

// Runs [forms] as one program. results[((form's first slot) + slot) * threads * rounds + thread].
// 0, or -1 with tmagen_error_last() set. *results is the caller's.
int execute(tmagen_device *device, const struct form *forms, size_t count, uint64_t seed,
            uint64_t **results);

// ---- Records (record.c)

// What a file says of a form: results of the first threads, and a hash of the others'.
struct form_record {
    uint64_t key;
    size_t stride;
    uint64_t *results;  // [slot][stride], of which recorded_in_full() are known
    uint32_t *hashes;   // [slot], of what comes behind
};

struct records {
    struct form_record *list;
    size_t count;
};

bool is_hashed(const struct form *form);
// How many threads' values of a slot are recorded.
size_t recorded_in_full(const struct form *form, size_t slot);
uint32_t hash_results(const uint64_t *results, size_t count);
// Appends a form's results to [text].
void record_write(struct program_lines *text, const struct form *form, const uint64_t *results);
// Reads [path]; 0, or -1 with a message on stderr.
int records_read(const char *path, const struct forms *forms, struct records *records);
void records_free(struct records *records);
