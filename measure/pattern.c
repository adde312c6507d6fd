// Where wrong elements lie: which tiles of the output, and which rows and columns of a tile.
// Rows 64..127 of every tile is one warpgroup; all of one tile is a scheduling error.
#include "measure/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES_MAX = 1 << 24, RANGES_SHOWN = 6, TILES_SHOWN = 6 };

struct axis {
    const char *name;
    int64_t size, tile, tiles;
    unsigned char *offsets;  // [tile]: 1 where something was found
};

struct pattern {
    const struct ref_tensor *tensor;
    int rank;
    struct axis axes[TMAGEN_MAX_RANK];
    int64_t tiles;
    unsigned char *hit;  // [tiles]; NULL where there are too many to note
};

struct pattern *pattern_new(const struct tmg_manifest *manifest, const struct ref_tensor *tensor) {
    struct pattern *pattern = calloc(1, sizeof *pattern);
    if (!pattern) return NULL;
    pattern->tensor = tensor;
    pattern->rank = tensor->rank;
    pattern->tiles = 1;
    for (int i = 0; i < tensor->rank; ++i) {
        const struct tmg_extent *extent = &tensor->declared->dims[i];
        struct axis *axis = &pattern->axes[i];
        axis->name = extent->dim >= 0 ? manifest->dims[extent->dim].name : "axis";
        axis->size = tensor->dims[i];
        axis->tile = ref_tile(manifest, axis->name, axis->size);
        if (axis->tile > axis->size) axis->tile = axis->size;
        axis->tiles = (axis->size + axis->tile - 1) / axis->tile;
        axis->offsets = calloc((size_t)axis->tile, 1);
        pattern->tiles *= axis->tiles;
    }
    if (pattern->tiles <= TILES_MAX) pattern->hit = calloc((size_t)pattern->tiles, 1);
    return pattern;
}

void pattern_free(struct pattern *pattern) {
    if (!pattern) return;
    for (int i = 0; i < pattern->rank; ++i) free(pattern->axes[i].offsets);
    free(pattern->hit);
    free(pattern);
}

void pattern_add(struct pattern *pattern, const int64_t *index) {
    int64_t tile = 0;
    for (int i = 0; i < pattern->rank; ++i) {
        struct axis *axis = &pattern->axes[i];
        tile = tile * axis->tiles + index[i] / axis->tile;
        if (axis->offsets) axis->offsets[index[i] % axis->tile] = 1;
    }
    if (pattern->hit) pattern->hit[tile] = 1;
}

// A text of bounded size that grows at its end.
struct bounded_text {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void put(struct bounded_text *out, const char *format,
                                                      ...) {
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(out->text + out->used, out->size - out->used, format, arguments);
    va_end(arguments);
    if (more > 0) out->used += (size_t)more;
    if (out->used >= out->size) out->used = out->size - 1;
}

// "64-127, 192-255", or "all".
static void put_ranges(struct bounded_text *out, const unsigned char *set, int64_t size) {
    int shown = 0;
    for (int64_t begin = 0; begin < size; ++begin) {
        if (!set[begin]) continue;
        int64_t end = begin;
        while (end + 1 < size && set[end + 1]) ++end;
        if (begin == 0 && end == size - 1) {
            put(out, "all %lld", (long long)size);
        } else if (shown == RANGES_SHOWN) {
            put(out, ", ...");
            return;
        } else {
            put(out, shown ? ", %lld" : "%lld", (long long)begin);
            if (end > begin) put(out, "-%lld", (long long)end);
        }
        ++shown;
        begin = end;
    }
}

static void put_tile(struct bounded_text *out, const struct pattern *pattern, int64_t tile) {
    int64_t place[TMAGEN_MAX_RANK] = {0};
    for (int i = pattern->rank - 1; i >= 0; --i) {
        place[i] = tile % pattern->axes[i].tiles;
        tile /= pattern->axes[i].tiles;
    }
    put(out, " (");
    for (int i = 0; i < pattern->rank; ++i) put(out, i ? ",%lld" : "%lld", (long long)place[i]);
    put(out, ")");
}

static void put_tiles(struct bounded_text *out, const struct pattern *pattern) {
    int64_t hit = 0;
    for (int64_t i = 0; i < pattern->tiles; ++i) hit += pattern->hit[i];
    put(out, "in %lld of %lld tiles of ", (long long)hit, (long long)pattern->tiles);
    for (int i = 0; i < pattern->rank; ++i) {
        put(out, i ? "x%lld" : "%lld", (long long)pattern->axes[i].tile);
    }
    if (hit == pattern->tiles) {
        put(out, "\n");
        return;
    }
    put(out, ":");
    int shown = 0;
    for (int64_t i = 0; i < pattern->tiles && shown < TILES_SHOWN; ++i) {
        if (pattern->hit[i]) put_tile(out, pattern, i), ++shown;
    }
    put(out, hit > shown ? " ...\n" : "\n");
}

void pattern_describe(const struct pattern *pattern, char *text, size_t size) {
    struct bounded_text out = {text, size, 0};
    text[0] = 0;
    if (pattern->hit) put_tiles(&out, pattern);
    put(&out, "inside the tile:");
    for (int i = 0; i < pattern->rank; ++i) {
        if (!pattern->axes[i].offsets) continue;
        put(&out, "%s %s ", i ? ";" : "", pattern->axes[i].name);
        put_ranges(&out, pattern->axes[i].offsets, pattern->axes[i].tile);
    }
    put(&out, "\n");
}

void pattern_locate(const struct pattern *pattern, int64_t linear, char *text, size_t size) {
    struct bounded_text out = {text, size, 0};
    int64_t index[TMAGEN_MAX_RANK];
    ref_index(pattern->tensor, linear, index);
    put(&out, "%s[", pattern->tensor->declared->name);
    for (int i = 0; i < pattern->rank; ++i) put(&out, i ? ",%lld" : "%lld", (long long)index[i]);
    put(&out, "] (tile ");
    for (int i = 0; i < pattern->rank; ++i) {
        put(&out, i ? ",%lld" : "%lld", (long long)(index[i] / pattern->axes[i].tile));
    }
    put(&out, " at ");
    for (int i = 0; i < pattern->rank; ++i) {
        put(&out, i ? ",%lld" : "%lld", (long long)(index[i] % pattern->axes[i].tile));
    }
    put(&out, ")");
}
