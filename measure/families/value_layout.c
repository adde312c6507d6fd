// How deform_attn's value stores the pixels of its levels, read from the manifest.
// A manifest may come from anywhere, so numbers are bounded here and nothing after can overflow.
#include "measure/families/value_layout.h"

enum { NUMBER_MAX = 16384 };

static bool usable(int64_t number) { return number >= 1 && number <= NUMBER_MAX; }

static int64_t member(const json_t *object, const char *name) {
    return json_integer_value(json_object_get(object, name));
}

struct value_layout value_layout_of(const struct tmg_manifest *manifest) {
    const json_t *reference = manifest->reference, *levels = json_object_get(reference, "levels");
    struct value_layout layout = {
        .heads = member(reference, "heads"),
        .channels = member(reference, "channels"),
        .points = member(reference, "points"),
        .border = json_is_true(json_object_get(reference, "padded")),
        .packed = json_is_true(json_object_get(reference, "packed")),
        .paired = json_is_true(json_object_get(reference, "paired")),
    };
    const size_t count = json_array_size(levels);
    bool valid = usable(layout.heads) && usable(layout.channels) && count <= VALUE_LEVELS_MAX;
    for (size_t i = 0; i < count && valid; ++i) {
        const json_t *size = json_array_get(levels, i);
        struct value_level *level = &layout.levels[layout.level_count++];
        level->height = json_integer_value(json_array_get(size, 0));
        level->width = json_integer_value(json_array_get(size, 1));
        level->pitch = level->width + 2 * layout.border;
        level->first = layout.pixels;
        layout.pixels += level->pitch * (level->height + 2 * layout.border);
        valid = usable(level->height) && usable(level->width);
    }
    if (!valid) layout.level_count = 0;
    return layout;
}

const struct value_level *value_level_of(const struct value_layout *layout, int64_t pixel) {
    int i = layout->level_count - 1;
    while (i > 0 && pixel < layout->levels[i].first) --i;
    return &layout->levels[i];
}

bool value_row_ends(const struct value_layout *layout, int64_t pixel) {
    const struct value_level *level = value_level_of(layout, pixel);
    return (pixel - level->first) % level->pitch == level->pitch - 1;
}

bool value_rows_have(const struct tmg_manifest *manifest, const char *name, int64_t columns) {
    const int found = tmg_manifest_tensor(manifest, name);
    if (found < 0 || manifest->tensors[found].rank != 3) return false;
    const struct tmg_extent *extent = &manifest->tensors[found].dims[2];
    return extent->dim < 0 && extent->plus == columns;
}
