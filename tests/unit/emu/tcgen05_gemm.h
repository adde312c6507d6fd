// The small GEMMs of tests/emu/tcgen05: operands, and a launch of one on the emulator.
#pragma once
#include "tests/unit/emu/emu_kernel.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/emu/model/convert.h"
#include "runtime/whole_file.h"

enum { SHARED = 3 * 32768, BF16 = 9, SWIZZLE_128 = 3 };

static uint64_t random_state = 1;

static inline float draw(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (float)(random_state >> 40) / (1 << 23) - 1;
}

struct tcgen05_gemm {
    const char *path;
    uint32_t tile_m, tile_n, ctas;
    uint32_t m, n, k;
    uint16_t *a, *b;
    float *d;
};

static inline void make(struct tcgen05_gemm *g) {
    g->a = malloc((size_t)g->m * g->k * 2);
    g->b = malloc((size_t)g->n * g->k * 2);
    g->d = malloc((size_t)g->m * g->n * 4);
    for (uint32_t i = 0; i < g->m * g->k; ++i) g->a[i] = tmg_f32_to_bf16_rn(draw());
    for (uint32_t i = 0; i < g->n * g->k; ++i) g->b[i] = tmg_f32_to_bf16_rn(draw());
}

static inline void drop(struct tcgen05_gemm *g) {
    free(g->a);
    free(g->b);
    free(g->d);
}

// Rows of 64 elements of k, 128 of them, swizzled; zeros beyond the matrix.
static inline void encode(void *map, uint64_t address, uint32_t rows, uint32_t k) {
    const uint64_t dims[2] = {k, rows}, strides[1] = {(uint64_t)k * 2};
    const uint32_t box[2] = {64, 128}, ones[2] = {1, 1};
    struct emu_error error;
    if (emu_tensor_map_encode(map, BF16, 2, address, dims, strides, box, ones, 0, SWIZZLE_128, 0, 0,
                              &error))
        fail_msg("%s", error.text);
}

static inline void run(struct tcgen05_gemm *g, const char *ptx, uint64_t seed,
                       struct emu_result *result) {
    struct emu_memory *memory = emu_memory_new();
    _Alignas(64) uint8_t a_map[EMU_TENSOR_MAP_BYTES], b_map[EMU_TENSOR_MAP_BYTES];
    uint64_t a = emu_memory_alloc(memory, (size_t)g->m * g->k * 2, "a");
    uint64_t b = emu_memory_alloc(memory, (size_t)g->n * g->k * 2, "b");
    uint64_t d = emu_memory_alloc(memory, (size_t)g->m * g->n * 4, "d");
    const void *params[] = {&d, &g->m, &g->n, &g->k, a_map, b_map};
    struct emu_launch launch = {.grid = {(g->m + g->tile_m - 1) / g->tile_m * g->ctas,
                                         (g->n + g->tile_n - 1) / g->tile_n, 1},
                                .block = {192, 1, 1},
                                .dynamic_smem = SHARED,
                                .seed = seed};
    emu_memory_write(memory, a, g->a, (size_t)g->m * g->k * 2);
    emu_memory_write(memory, b, g->b, (size_t)g->n * g->k * 2);
    encode(a_map, a, g->m, g->k);
    encode(b_map, b, g->n, g->k);
    emu_kernel_launch(memory, ptx, launch, params, 6, result);
    emu_memory_read(memory, g->d, d, (size_t)g->m * g->n * 4);
    emu_memory_delete(memory);
}

// The file's text, the caller's to free.
static inline void read_text(const char *path, char **text) {
    size_t bytes;
    assert_int_equal(tmg_file_read(path, 1 << 16, text, &bytes), 0);
}
