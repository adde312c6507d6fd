// From a spec to sources and manifests in memory: the interface of the generator to the commands.
// Nothing is written here, so that a run with an error anywhere writes nothing (see gen/output.h).
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "runtime/tmagen.h"

struct argp;
struct store;

// Sets that stand in a file: who is told what is wrong with them, and where they stand.
struct gen_over {
    struct diag *diag;
    const struct diag_place *places;  // [count]
    size_t count;
    char *why;  // set to the first error; free it
};

// What the commands that generate have in common on their command line.
struct gen_options {
    const char *out_dir;     // -o; "out" unless given
    size_t templates_given;  // bytes of it that --templates gave
    char *templates;         // --templates and $TMAGEN_TEMPLATES, with a : between; or NULL
    char **sets;             // --set, in order: "stages=5"
    size_t set_count;
    const char *table;      // the path of the table that the kernel is made for; NULL: none
    struct gen_over *over;  // where its sets stand, that are not a command line's; NULL: they are
    bool strict;            // an illegal point of a sweep is an error
    bool quiet;    // say nothing of illegal points of a sweep, nor of one that has no other
    bool explain;  // fill gen_output.explain
};

// One row of the table of resources: what the plan says that the kernel uses.
struct gen_resource {
    char *name, *value;
};

// One kernel. Strings are owned by the result and end in NUL.
struct gen_output {
    char *name;    // the stem of the files and the entry's name
    char *family;  // "gemm"
    char *arch;    // "sm_90a"
    char *point;   // of a sweep: "stages=4 cluster.m=2"; else ""
    char *knobs;   // all of them, as a spec of one line
    int phase;     // the rung of the ladder; -1: the family has none
    char *source;
    size_t source_len;
    char *manifest;             // JSON text
    bool borrowed;              // a table's, while a spec of its own writes its files
    char *explain;              // NULL unless asked for
    tmagen_source_line *lines;  // lines[i] is where line i + 1 of the source comes from; the header
                                // comment has no file, and names live as long as the process
    size_t line_count;
    struct store *store;  // where its family was found; borrowed
    struct gen_resource *resources;
    size_t resource_count;
    int block_threads;       // threads of a CTA
    int shared_memory;       // dynamic bytes of a CTA
    int budget_registers;    // a thread; 0: none stated
    int budget_spill_bytes;  // a thread; -1: none stated
};

// A dispatch table, as the library reads it.
struct gen_table {
    char *name, *text;  // NULL: it is a spec's result
};

// All kernels of one spec file: one, or the legal points of its sweep; or those of a table.
struct gen_result {
    char *spec;  // the path that was read
    struct gen_table table;
    struct gen_output *outputs;
    size_t output_count;
};

// Generates all kernels of [spec], a path, or a stem that is found as specs/STEM.yaml; of a table
// the kernels that it names, and the table. Errors go
// to stderr. Returns 0, or 1 with an empty result. Free the result in either case.
int gen_spec(const char *spec, const struct gen_options *options, struct gen_result *result);
void gen_result_free(struct gen_result *result);

// The same of a spec whose text is in memory; [name] is its file's name, should it be written.
int gen_text(const char *name, const char *text, const struct gen_options *options,
             struct gen_result *result);

// The sweeps that [family] is tuned over, a spec of one line each, to be freed; NULL after errors.
char *gen_family_sweeps(const char *family, const struct gen_options *options);

// The family whose templates [family] has, its base or itself, to be freed; NULL after errors.
char *gen_family_home(const char *family, const struct gen_options *options);

// Prints to stdout what a family is: its knobs, ladder and checks. Returns 0, or 1 with the errors
// on stderr.
int gen_explain_family(const char *family, const struct gen_options *options);

// True where [spec] is a file, or the stem of one in specs/.
bool gen_spec_exists(const char *spec);

// Where generation finds its templates and Lua; it lives as long as the process.
struct store *gen_store(const struct gen_options *options);

// True where [name] is the name of a family: templates/NAME/family.lua exists.
bool gen_family_exists(const char *name, const struct gen_options *options);

// The argp parser of -o, --set, --templates and --strict, to be a child of a command's own; its
// input is a struct gen_options; and the same without -o. gen_options_init sets the defaults,
// gen_options_free the end.
extern const struct argp gen_options_argp, gen_options_bare_argp;
void gen_options_init(struct gen_options *);
void gen_options_set(struct gen_options *, char *set);  // as --set; the text must live as long
void gen_options_free(struct gen_options *);
