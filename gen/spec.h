// A spec as a tree in which every value knows its place: YAML text, base files and --set made one.
// Everything after this stage can point at the line that the user wrote.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "gen/diag.h"
#include "gen/alloc.h"

enum spec_kind { SPEC_SCALAR, SPEC_LIST, SPEC_MAP };
enum spec_origin { SPEC_FROM_FILE, SPEC_FROM_BASE, SPEC_FROM_SET };
enum spec_type { SPEC_NULL, SPEC_BOOL, SPEC_INT, SPEC_FLOAT, SPEC_STRING };

struct spec_node {
    enum spec_kind kind;
    enum spec_origin origin;
    struct diag_place place;
    char *text;  // of a scalar; ends in NUL and holds no other
    size_t len;
    bool quoted;
    struct spec_node **keys;    // of a map: scalars, each text once
    struct spec_node **values;  // of a map or list
    size_t count, capacity;
    size_t size;  // the values below and including this one, aliases written out
};

// Limits on what a spec may hold. All are far above any real spec; they bound time and memory.
enum {
    SPEC_BYTES_MAX = 8 << 20,
    SPEC_DEPTH_MAX = 32,
    SPEC_SIZE_MAX = 500000,  // values, aliases written out
    SPEC_KEYS_MAX = 1000,    // keys of one map
    SPEC_BASES_MAX = 16,     // length of a chain of base files
};

// Parses the [len] bytes at [text], one YAML document, into nodes of the arena. [first_line] and
// [first_column] are where the text stands in [file]. All errors go to the diag. Returns NULL where
// they leave no tree; of a key given twice the first stays, so that the rest can still be judged.
// The nodes' texts are copies, [file] is borrowed.
struct spec_node *spec_parse(struct arena *, struct diag *, struct diag_place start,
                             enum spec_origin, const char *text, size_t len);

// Reads the spec [path] with its base files, and lays the [sets] ("a.b=value") over it. Returns its
// top map, or NULL where errors left none. All lives in the arena, which must outlive the diag.
struct spec_node *spec_read(struct arena *, struct diag *, const char *path, char *const *sets,
                            size_t set_count);

// The same for a spec whose text is in memory; [name] is what errors call it. It has no base files.
struct spec_node *spec_read_text(struct arena *, struct diag *, const char *name, const char *text,
                                 char *const *sets, size_t set_count);

// What a scalar is by YAML 1.2's core schema. *integer or *real is set accordingly; a bool is 0, 1.
enum spec_type spec_scalar(const struct spec_node *, long long *integer, double *real);

// The value of [key] in a map, or NULL.
struct spec_node *spec_get(const struct spec_node *map, const char *key);
