// How deform_attn's value stores the pixels of its levels, as the manifest's "reference" says it.
// The families that read or write such a value share this, so that they mean the same.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/manifest.h"

enum { VALUE_LEVELS_MAX = 8 };

struct value_level {
    int64_t height, width;  // without the border
    int64_t pitch, first;   // stored pixels of a row; of the levels before
};

struct value_layout {
    int64_t heads, channels, points, border, pixels;
    int level_count;
    struct value_level levels[VALUE_LEVELS_MAX];
    bool packed;  // deform_attn: products are summed in halves for some points
    bool paired;  // each head of a pixel is followed by that of its right neighbour
};

// No levels where the manifest gives none, more than 8, or any number that no layout has.
struct value_layout value_layout_of(const struct tmg_manifest *);

// The level that stored pixel [pixel] of a batch belongs to.
const struct value_level *value_level_of(const struct value_layout *, int64_t pixel);

// Whether [pixel] is the last of its row: it has no right neighbour.
bool value_row_ends(const struct value_layout *, int64_t pixel);

// Whether the manifest gives tensor [name] rank 3 with rows of [columns].
bool value_rows_have(const struct tmg_manifest *, const char *name, int64_t columns);
