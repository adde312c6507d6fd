// Box traversal: tiled (PTX ISA 5.5.3) and im2col (5.5.4, 5.5.5), as rows along the innermost
// dimension. A row is the unit because only it is contiguous; the tensor's edge cuts it into at
// most four.
#include "runtime/emu/model/tma.h"

enum { PIECE = 16, LINE = 128, WIDE_PIXELS = 128, WIDE_CHUNK = 32 };

static uint32_t element_bytes(const struct tmg_map *map) {
    return (uint32_t)tmg_number_bytes(tmg_tensor_types[map->type].number);
}

const char *tmg_tma_unsupported(const struct tmg_map *map) {
    return map->interleave == TMG_INTERLEAVE_NONE ? NULL : "interleaved tensor maps";
}

const char *tmg_tma_four_rows(struct tmg_map *map) {
    if (map->im2col || map->rank != 2) return "not one of a tiled matrix";
    if (map->box[1] != 1) return "its box has more than one row";
    map->box[1] = 4;
    map->element_strides[1] = 1;
    return NULL;
}

const char *tmg_tma_halo(struct tmg_map *map, uint32_t halo, uint32_t offset, int32_t w) {
    if (map->im2col == TMG_IM2COL_W && halo >= 512) return "wHalo is not below 512";
    if (map->im2col == TMG_IM2COL_W128 && halo >= 32) return "wHalo is not below 32";
    if (offset >= 32) return "wOffset is not below 32";
    if (w > (int64_t)map->dims[1] - 1 + map->upper[0])
        return "the first pixel lies behind the box's last along W";
    if (map->im2col == TMG_IM2COL_W128) map->pixels = WIDE_PIXELS;
    map->halo = halo;
    return NULL;
}

// Pixels of an im2col map along W that a halo is behind.
static uint32_t chunk(const struct tmg_map *map) {
    return map->im2col == TMG_IM2COL_W128 ? WIDE_CHUNK : map->pixels;
}

// Elements that the box takes along dimension [i]: strided ones count once (driver API,
// elementStrides).
static uint32_t taken(const struct tmg_map *map, int i) {
    uint32_t stride = i == 0 ? 1 : map->element_strides[i];
    return (map->box[i] + stride - 1) / stride;
}

uint64_t tmg_tma_box_bytes(const struct tmg_map *map) {
    uint32_t row = map->im2col ? map->channels : taken(map, 0);
    uint64_t bytes = tmg_tensor_shared_bytes(map->type, row);
    if (map->im2col) return bytes * (map->pixels + map->pixels / chunk(map) * map->halo);
    for (int i = 1; i < map->rank; ++i) bytes *= taken(map, i);
    return bytes;
}

uint64_t tmg_tma_copied_bytes(const struct tmg_map *map) {
    const struct tmg_tensor_type_info *type = &tmg_tensor_types[map->type];
    uint64_t bytes = tmg_tma_box_bytes(map);
    return type->packed ? bytes / type->spread * type->packed : bytes;
}

// A row of [count] elements from [at] on: base of the row in global memory, place in shared memory.
struct box_row {
    bool outside;  // in a dimension other than the innermost
    bool stores;
    uint64_t global;
    uint32_t shared, count;
    int64_t at;
};

enum where { WITHIN, OUTSIDE, BEHIND };

static int visit_elements(const struct tmg_map *map, const struct box_row *row, uint32_t first,
                          uint32_t end, enum where where, tmg_tma_visit *visit, void *context) {
    struct tmg_tma_run run = {
        .global = where == OUTSIDE
                      ? 0
                      : row->global + (uint64_t)tmg_tensor_global_bytes(map->type, row->at + first),
        .shared = row->shared + tmg_tensor_shared_bytes(map->type, first),
        .bytes = (uint32_t)tmg_tensor_global_bytes(map->type, end - first),
        .outside = where == OUTSIDE,
        .behind = where == BEHIND,
    };
    return visit(context, &run);
}

// What is spread comes by 16 elements.
static int visit_piece(const struct tmg_map *map, const struct box_row *row, uint32_t first,
                       uint32_t end, enum where where, tmg_tma_visit *visit, void *context) {
    uint32_t most = tmg_tensor_spreads(map->type) ? 16 : end - first;
    int stop = 0;
    for (; first < end && !stop; first += most)
        stop = visit_elements(map, row, first, first + most, where, visit, context);
    return stop;
}

static uint32_t clamp_count(int64_t value, uint32_t most) {
    return value < 0 ? 0 : value > most ? most : (uint32_t)value;
}

// Elements behind the tensor's last of a row that a store writes none the less: those in the piece
// of 16 bytes in which it ends. Measured on an H200 for bf16 in swizzled boxes; assumed for all.
static int64_t behind(const struct tmg_map *map, const struct box_row *row) {
    if (!row->stores || tmg_tensor_types[map->type].packed) return 0;
    uint32_t in_piece = PIECE / element_bytes(map);
    return (in_piece - map->dims[0] % in_piece) % in_piece;
}

// Cuts a row at the tensor's first and last element of the innermost dimension.
static int visit_row(const struct tmg_map *map, const struct box_row *row, tmg_tma_visit *visit,
                     void *context) {
    if (row->outside) return visit_piece(map, row, 0, row->count, OUTSIDE, visit, context);
    int64_t left = (int64_t)map->dims[0] - row->at;
    uint32_t first = clamp_count(-row->at, row->count), end = clamp_count(left, row->count);
    if (end < first) end = first;
    uint32_t last = left > 0 ? clamp_count(left + behind(map, row), row->count) : end;
    int stop = visit_piece(map, row, 0, first, OUTSIDE, visit, context);
    if (!stop) stop = visit_piece(map, row, first, end, WITHIN, visit, context);
    if (!stop) stop = visit_piece(map, row, end, last, BEHIND, visit, context);
    return stop ? stop : visit_piece(map, row, last, row->count, OUTSIDE, visit, context);
}

static bool is_outside(const struct tmg_map *map, int i, int64_t at) {
    return at < 0 || at >= (int64_t)map->dims[i];
}

// Dimensions [level] .. 1 of a tiled box, outermost first; [row] gathers what the outer ones add.
static int visit_tiled(const struct tmg_map *map, const struct tmg_tma_request *request, int level,
                       struct box_row *row, tmg_tma_visit *visit, void *context) {
    if (level == 0) {
        int stop = visit_row(map, row, visit, context);
        row->shared += tmg_tensor_shared_bytes(map->type, row->count);
        return stop;
    }
    uint64_t base = row->global;
    bool outside = row->outside;
    for (uint32_t step = 0; step < taken(map, level); ++step) {
        int64_t at = request->rows ? request->rows[step]
                                   : (int64_t)request->coordinates[level] +
                                         (int64_t)step * map->element_strides[level];
        row->outside = outside || is_outside(map, level, at);
        row->global = base + (uint64_t)at * map->strides[level - 1];
        int stop = visit_tiled(map, request, level - 1, row, visit, context);
        if (stop) return stop;
    }
    row->outside = outside;
    return 0;
}

// The next pixel of an im2col column: W runs fastest through its closed range
// [lower, dim - 1 + upper], then H, D; N is not bounded here.
static void next_pixel(const struct tmg_map *map, int64_t *at) {
    int last = map->rank - 1;
    for (int i = 1; i < last; ++i) {
        at[i] += map->element_strides[i];
        if (at[i] <= (int64_t)map->dims[i] - 1 + map->upper[i - 1]) return;
        at[i] = map->lower[i - 1];
    }
    at[last] += 1;
}

// The channels of the pixel at [at], moved by [offsets] in space; NULL: by nothing.
static int visit_pixel(const struct tmg_map *map, const int64_t *at, const uint16_t *offsets,
                       struct box_row *row, tmg_tma_visit *visit, void *context) {
    row->global = map->address;
    row->outside = false;
    for (int i = 1; i < map->rank; ++i) {
        int64_t place = at[i] + (i < map->rank - 1 && offsets ? offsets[i - 1] : 0);
        row->outside |= is_outside(map, i, place);
        row->global += (uint64_t)place * map->strides[i - 1];
    }
    int stop = visit_row(map, row, visit, context);
    row->shared += tmg_tensor_shared_bytes(map->type, row->count);
    return stop;
}

static int visit_halo(const struct tmg_map *map, const int64_t *last, struct box_row *row,
                      tmg_tma_visit *visit, void *context) {
    int64_t at[TMG_TENSOR_RANK];
    int stop = 0;
    for (int i = 0; i < TMG_TENSOR_RANK; ++i) at[i] = last[i];
    for (uint32_t pixel = 0; pixel < map->halo && !stop; ++pixel) {
        at[1] += map->element_strides[1];
        stop = visit_pixel(map, at, NULL, row, visit, context);
    }
    return stop;
}

// The next pixel along W alone, where H and D stay: behind the last of an image, the next image's.
static void next_along_w(const struct tmg_map *map, int64_t *at, int64_t shift) {
    at[1] += map->element_strides[1];
    if (at[1] <= (int64_t)map->dims[1] - 1 + map->upper[0] + shift) return;
    at[1] = map->lower[0] + shift;
    at[map->rank - 1] += 1;
}

static int visit_im2col(const struct tmg_map *map, const struct tmg_tma_request *request,
                        tmg_tma_visit *visit, void *context) {
    bool wide = map->im2col != TMG_IM2COL_ALL;
    int64_t at[TMG_TENSOR_RANK] = {0}, shift = wide ? request->offsets[1] : 0;
    for (int i = 0; i < map->rank; ++i) at[i] = request->coordinates[i];
    struct box_row row = {
        .stores = request->stores, .shared = request->shared, .count = map->channels, .at = at[0]};
    at[1] += shift;
    for (uint32_t pixel = 1; pixel <= map->pixels; ++pixel) {
        int stop = visit_pixel(map, at, wide ? NULL : request->offsets, &row, visit, context);
        if (!stop && pixel % chunk(map) == 0) stop = visit_halo(map, at, &row, visit, context);
        if (stop) return stop;
        if (wide)
            next_along_w(map, at, shift);
        else
            next_pixel(map, at);
    }
    return 0;
}

int tmg_tma_each(const struct tmg_map *map, const struct tmg_tma_request *request,
                 tmg_tma_visit *visit, void *context) {
    if (map->im2col) return visit_im2col(map, request, visit, context);
    struct box_row row = {.stores = request->stores,
                          .global = map->address,
                          .shared = request->shared,
                          .count = taken(map, 0),
                          .at = request->coordinates[0]};
    return visit_tiled(map, request, map->rank - 1, &row, visit, context);
}

// Bytes from [address] on that stay together under the swizzle.
static uint32_t together(const struct tmg_map *map, uint32_t address) {
    const struct tmg_swizzle_rule *rule = &tmg_swizzle_rules[map->swizzle];
    uint32_t unit = map->swizzle == TMG_SWIZZLE_NONE ? 1u << 31 : rule->flip ? 8 : rule->atom;
    return unit - address % unit;
}

int tmg_tma_each_shared(const struct tmg_map *map, uint32_t shared, tmg_tma_visit_shared *visit,
                        void *context) {
    uint32_t end = shared + (uint32_t)tmg_tma_box_bytes(map);
    if (map->swizzle == TMG_SWIZZLE_NONE) return visit(context, shared, end - shared);
    // Pieces move within their 128-byte line only: whole lines map to themselves.
    uint32_t whole = shared % LINE == 0 ? end - end % LINE : shared;
    int stop = whole > shared ? visit(context, shared, whole - shared) : 0;
    for (uint32_t at = whole; at < end && !stop;) {
        uint32_t bytes = together(map, at) < end - at ? together(map, at) : end - at;
        stop = visit(context, tmg_swizzle_address((enum tmg_swizzle)map->swizzle, at), bytes);
        at += bytes;
    }
    return stop;
}

struct stored {
    const struct tmg_map *map;
    tmg_tma_visit_shared *visit;
    void *context;
};

static int visit_stored(void *context, const struct tmg_tma_run *run) {
    const struct stored *stored = context;
    const struct tmg_map *map = stored->map;
    for (uint32_t done = 0; done < run->bytes && !run->outside;) {
        uint32_t at = run->shared + done, bytes = together(map, at);
        if (bytes > run->bytes - done) bytes = run->bytes - done;
        int stop = stored->visit(stored->context,
                                 tmg_swizzle_address((enum tmg_swizzle)map->swizzle, at), bytes);
        if (stop) return stop;
        done += bytes;
    }
    return 0;
}

// Is every element of the box one of the tensor's?
static bool is_whole(const struct tmg_map *map, const struct tmg_tma_request *request) {
    for (int i = 0; i < 4 && request->rows; ++i)
        if (is_outside(map, 1, request->rows[i])) return false;
    for (int i = 0; i < (request->rows ? 1 : map->rank) && !map->im2col; ++i) {
        int64_t first = request->coordinates[i], step = i ? map->element_strides[i] : 1;
        if (is_outside(map, i, first) || is_outside(map, i, first + step * (taken(map, i) - 1)))
            return false;
    }
    return !map->im2col;
}

int tmg_tma_each_stored(const struct tmg_map *map, const struct tmg_tma_request *request,
                        tmg_tma_visit_shared *visit, void *context) {
    if (is_whole(map, request)) return tmg_tma_each_shared(map, request->shared, visit, context);
    struct stored stored = {map, visit, context};
    return tmg_tma_each(map, request, visit_stored, &stored);
}

// Copies between a run's swizzled bytes and a linear buffer.
static void scatter(const struct tmg_map *map, const struct tmg_tma_run *run, const uint8_t *linear,
                    uint8_t *smem) {
    for (uint32_t done = 0; done < run->bytes;) {
        uint32_t at = run->shared + done, bytes = together(map, at);
        if (bytes > run->bytes - done) bytes = run->bytes - done;
        uint8_t *to = smem + tmg_swizzle_address((enum tmg_swizzle)map->swizzle, at);
        if (bytes == PIECE)
            memcpy(to, linear + done, PIECE);  // without a call
        else
            memcpy(to, linear + done, bytes);
        done += bytes;
    }
}

static void gather(const struct tmg_map *map, const struct tmg_tma_run *run, const uint8_t *smem,
                   uint8_t *linear) {
    for (uint32_t done = 0; done < run->bytes;) {
        uint32_t at = run->shared + done, bytes = together(map, at);
        if (bytes > run->bytes - done) bytes = run->bytes - done;
        memcpy(linear + done, smem + tmg_swizzle_address((enum tmg_swizzle)map->swizzle, at),
               bytes);
        done += bytes;
    }
}

enum { CHUNK = 2048 };  // 256 elements of 8 bytes: the longest row

// What is outside of the tensor. PTX leaves the "special NaN" open; this one, the same 16 bits for
// every type, is what Hopper writes.
static void fill(const struct tmg_map *map, uint32_t bytes, uint8_t *linear) {
    const uint16_t bits = map->fill == TMG_FILL_ZERO ? 0 : 0x7ff7;
    if (element_bytes(map) == 1) memset(linear, 0, bytes);
    for (uint32_t at = 0; at + sizeof bits <= bytes; at += sizeof bits) {
        memcpy(linear + at, &bits, sizeof bits);
    }
}

// .tf32 changes f32 elements on their way in. No .ftz type was seen to flush any.
static void round_to_tf32(uint32_t bytes, uint8_t *linear) {
    struct tmg_cvt cvt = {.to = TMG_TF32, .from = TMG_F32, .round = TMG_ROUND_RN};
    for (uint32_t at = 0; at < bytes; at += 4) {
        uint32_t bits;
        memcpy(&bits, linear + at, sizeof bits);
        bits = (uint32_t)tmg_cvt_scalar(&cvt, bits);
        memcpy(linear + at, &bits, sizeof bits);
    }
}

void tmg_tma_load_run(const struct tmg_map *map, const struct tmg_tma_run *run, const void *global,
                      uint8_t *smem) {
    if (!run->outside && !tmg_tensor_types[map->type].rounds_to_tf32) {
        scatter(map, run, global, smem);
        return;
    }
    uint8_t linear[CHUNK];
    if (run->outside) {
        fill(map, run->bytes, linear);
    } else {
        memcpy(linear, global, run->bytes);
        round_to_tf32(run->bytes, linear);
    }
    scatter(map, run, linear, smem);
}

void tmg_tma_store_run(const struct tmg_map *map, const struct tmg_tma_run *run, void *global,
                       const uint8_t *smem) {
    gather(map, run, smem, global);
}

void tmg_tma_reduce_run(const struct tmg_map *map, const struct tmg_tma_run *run,
                        enum tmg_reduce op, void *global, const uint8_t *smem) {
    uint8_t linear[CHUNK], *target = global;
    gather(map, run, smem, linear);
    uint32_t bytes = element_bytes(map);
    const struct tmg_tensor_type_info *type = &tmg_tensor_types[map->type];
    enum tmg_number number = type->number;
    for (uint32_t at = 0; at < run->bytes; at += bytes) {
        uint64_t old = 0, value = 0;
        memcpy(&old, target + at, bytes);
        memcpy(&value, linear + at, bytes);
        old = tmg_reduce_element(op, number, type->flushes || number == TMG_F64, old, value);
        memcpy(target + at, &old, bytes);
    }
}
