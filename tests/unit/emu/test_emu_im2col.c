// TMA loads in im2col mode, from PTX through a tensor map that an argument brings, against the
// definition: list all positions of the bounding box, take as many as a column has from the given
// one on, add the offsets, and read zeros where that is outside of the tensor. Along W alone: walk
// the images row by row of the given H and D, and put the halo behind the last pixel, or each 32nd.
#include "runtime/emu/model/tensormap.h"
#include "tests/unit/emu/emu_kernel.h"

#include <stdlib.h>

enum { BYTES = 32768, TRIALS = 400 };

static uint64_t random_state = 1;

// A number in [least, most].
static int between(int least, int most) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return least + (int)((random_state >> 33) % (uint64_t)(most - least + 1));
}

struct im2col_trial {
    int rank, spatial, size, type, swizzle;
    int dims[5], strides[5];  // C, W, H, D, N: those there are, C first; strides in bytes
    int lower[3], upper[3], step[5], offsets[3], start[5];
    int channels, pixels;
    int along, halo, shift;  // enum tmg_im2col; of the instruction, along W
};

static uint8_t tensor[1 << 18], column[BYTES], expected[BYTES];

// How many positions a dimension of the bounding box has: from lower to dim - 1 + upper.
static int positions(const struct im2col_trial *t, int i) {
    int last = t->dims[1 + i] - 1 + t->upper[i];
    return last < t->lower[i] ? 0 : (last - t->lower[i]) / t->step[1 + i] + 1;
}

// Along W alone, all of the drawn trial but that is as it was.
static void draw_along(struct im2col_trial *t) {
    static const int swizzles[] = {1, 2, 3, 3, 4, 6};
    int all = positions(t, 0);
    t->swizzle = swizzles[between(0, 5)];
    t->along = between(TMG_IM2COL_W, TMG_IM2COL_W128);
    if (t->along == TMG_IM2COL_W128) t->pixels = 128;
    t->halo = t->along == TMG_IM2COL_W128 ? 2 * between(0, 2) : between(0, 3);
    if (t->along == TMG_IM2COL_W) t->pixels = 8 * between(1, 5) - t->halo;
    t->shift = between(0, 4);
    t->channels = 16 / t->size * between(1, t->swizzle == 1 ? 2 : t->swizzle == 2 ? 4 : 8);
    t->start[1] = t->lower[0] + t->step[1] * between(-2, all - 1);
    for (int i = 1; i < t->spatial; i++) t->start[1 + i] = between(-1, t->dims[1 + i]);
}

// Pixels in shared memory, halos and all.
static int pixels_of(const struct im2col_trial *t) {
    return t->pixels + (t->along == TMG_IM2COL_W128 ? 4 : 1) * t->halo;
}

static bool draw(struct im2col_trial *t) {
    static const int types[] = {TMG_TENSOR_U8, TMG_TENSOR_F16, TMG_TENSOR_F32};
    static const int spans[] = {256, 32, 64, 128};
    int which = between(0, 2), all;
    memset(t, 0, sizeof *t);
    t->rank = between(3, 5);
    t->spatial = t->rank - 2;
    t->size = 1 << which;
    t->type = types[which];
    t->swizzle = between(0, 3);
    t->channels = 16 / t->size * between(1, spans[t->swizzle] / 16);
    if (t->channels > 256) t->channels = 256;
    t->pixels = between(1, 40);
    t->dims[0] = 16 / t->size * between(1, 12);
    for (int i = 0; i < t->spatial; i++) {
        // the offsets have 16, 8 or 5 bits, the corners too
        int reach = t->spatial == 3 ? 3 : 5;
        t->dims[1 + i] = between(1, 9);
        t->lower[i] = between(-reach, reach);
        t->upper[i] = between(-reach, reach);
        t->step[1 + i] = between(1, 3);
        t->offsets[i] = between(0, 6);
        if ((all = positions(t, i)) == 0) return false;
        t->start[1 + i] = t->lower[i] + t->step[1 + i] * between(0, all - 1);
    }
    t->dims[t->rank - 1] = between(1, 3);
    t->step[0] = t->step[t->rank - 1] = 1;
    t->start[0] = 16 / t->size * between(0, t->dims[0] * t->size / 16);
    t->start[t->rank - 1] = between(0, t->dims[t->rank - 1] - 1);
    t->strides[0] = t->size;
    t->strides[1] = t->dims[0] * t->size + 16 * between(0, 1);
    for (int i = 2; i < t->rank; i++) t->strides[i] = t->dims[i - 1] * t->strides[i - 1];
    if (between(0, 2) == 0) draw_along(t);
    return t->dims[t->rank - 1] * t->strides[t->rank - 1] <= (int)sizeof tensor;
}

// The swizzle of PTX ISA 5.5.7: the bits from 4 on are turned by those from 7 on; with atoms of 32
// and 64 bytes, those from 5 and 6 on.
static int swizzled(const struct im2col_trial *t, int at) {
    static const int masks[] = {0, 1, 3, 7, 3, 0, 1}, from[] = {4, 4, 4, 4, 5, 0, 6};
    return at ^ (at >> 7 & masks[t->swizzle]) << from[t->swizzle];
}

// The element of the tensor at [place]; false where it is outside.
static bool element(const struct im2col_trial *t, const int *place, const uint8_t **from) {
    *from = tensor;
    for (int i = 0; i < t->rank; i++) {
        if (place[i] < 0 || place[i] >= t->dims[i]) return false;
        *from += place[i] * t->strides[i];
    }
    return true;
}

static void put(const struct im2col_trial *t, int number, const int *pixel) {
    for (int c = 0; c < t->channels; c++) {
        const uint8_t *from;
        int place[5] = {t->start[0] + c, pixel[1], pixel[2], pixel[3], pixel[4]};
        int to = (number * t->channels + c) * t->size;
        if (element(t, place, &from))
            for (int k = 0; k < t->size; k++) expected[swizzled(t, to + k)] = from[k];
    }
}

static void fill_along(const struct im2col_trial *t) {
    int at[5] = {0}, chunk = t->along == TMG_IM2COL_W128 ? 32 : t->pixels, number = 0;
    int end = t->dims[1] + t->upper[0] + t->shift;
    memset(expected, 0, sizeof expected);
    memcpy(at, t->start, sizeof at);
    at[1] += t->shift;
    for (int pixel = 0; pixel < t->pixels; pixel++) {
        int after[5];
        put(t, number++, at);
        memcpy(after, at, sizeof after);
        for (int h = 0; h < t->halo && pixel % chunk == chunk - 1; h++) {
            after[1] += t->step[1];
            put(t, number++, after);
        }
        if ((at[1] += t->step[1]) < end) continue;
        at[1] = t->lower[0] + t->shift;
        at[t->rank - 1]++;
    }
}

// Walks all positions of the box, N outermost, and takes t->pixels of them from the start on.
static void fill_expected(const struct im2col_trial *t) {
    int count[5] = {1, 1, 1, 1, 1}, at[5] = {0}, all = 1, taken = 0;
    bool begun = false;
    memset(expected, 0, sizeof expected);
    for (int i = 0; i < t->spatial; i++) count[1 + i] = positions(t, i);
    count[t->rank - 1] = t->dims[t->rank - 1];
    for (int i = 1; i < t->rank; i++) all *= count[i];
    for (int n = 0; n < all && taken < t->pixels; n++) {
        int rest = n;
        for (int i = 1; i < t->rank; i++, rest /= count[i - 1])
            at[i] = (i <= t->spatial ? t->lower[i - 1] : 0) + rest % count[i] * t->step[i];
        begun |= memcmp(at + 1, t->start + 1, sizeof(int) * (size_t)(t->rank - 1)) == 0;
        for (int c = 0; c < t->channels && begun; c++) {
            const uint8_t *from;
            int place[5] = {t->start[0] + c, at[1], at[2], at[3], at[4]};
            for (int i = 0; i < t->spatial; i++) place[1 + i] += t->offsets[i];
            int to = (taken * t->channels + c) * t->size;
            if (element(t, place, &from))
                for (int k = 0; k < t->size; k++) expected[swizzled(t, to + k)] = from[k];
        }
        taken += begun;
    }
}

static void make_map(const struct im2col_trial *t, uint64_t address, uint8_t *bytes) {
    uint64_t dims[5], strides[5];
    uint32_t steps[5];
    char why[TMG_TENSOR_WHY];
    for (int i = 0; i < t->rank; i++) {
        dims[i] = (uint64_t)t->dims[i];
        strides[i] = (uint64_t)t->strides[i];
        steps[i] = (uint32_t)t->step[i];
    }
    if (tmg_tensor_map_encode_im2col(bytes, t->type, (uint32_t)t->rank, address, dims, strides + 1,
                                     t->lower, t->upper, (uint32_t)t->channels, (uint32_t)t->pixels,
                                     steps, TMG_INTERLEAVE_NONE, t->swizzle, TMG_L2_NONE,
                                     TMG_FILL_ZERO, why))
        fail_msg("%s", why);
    if (!t->along) return;
    struct tmg_map map;
    tmg_tensor_map_read(bytes, &map);
    map.im2col = t->along;
    if (t->along == TMG_IM2COL_W128) map.pixels = 5;  // which it ignores
    if (tmg_tensor_map_check(&map, why)) fail_msg("%s", why);
    tmg_tensor_map_write(bytes, &map);
}

static void write_kernel(const struct im2col_trial *t, char *ptx) {
    static const char *const modes[] = {"", "", "::w", "::w::128"};
    int bytes = t->channels * pixels_of(t) * t->size;
    ptx +=
        sprintf(ptx,
                ".version 8.6\n.target %s\n.address_size 64\n"
                ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)\n{\n"
                ".reg .pred %%p, %%q;\n.reg .b32 %%r<8>;\n.reg .b64 %%rd<4>;\n.reg .b16 %%h<4>;\n"
                ".shared .align 1024 .b8 s[%d];\n.shared .align 8 .b64 bar;\n"
                "mov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, s;\nmov.u32 %%r2, bar;\n"
                "mov.b64 %%rd0, map;\ncvta.param.u64 %%rd0, %%rd0;\n"
                "setp.ne.u32 %%p, %%r0, 0;\n@%%p bra W;\nmbarrier.init.shared.b64 [%%r2], 1;\n"
                "fence.mbarrier_init.release.cluster;\n"
                "mbarrier.arrive.expect_tx.shared.b64 _, [%%r2], %d;\n"
                "cp.async.bulk.tensor.%dd.shared::cluster.global.im2col%s"
                ".mbarrier::complete_tx::bytes [%%r1], [%%rd0, {",
                t->along ? "sm_100a" : "sm_90a", BYTES, bytes, t->rank, modes[t->along]);
    for (int i = 0; i < t->rank; i++) ptx += sprintf(ptx, "%s%d", i ? ", " : "", t->start[i]);
    ptx += sprintf(ptx, "}], [%%r2], {");
    if (t->along) ptx += sprintf(ptx, "%d, %d", t->halo, t->shift);
    for (int i = 0; i < t->spatial && !t->along; i++)
        ptx += sprintf(ptx, "%s%d", i ? ", " : "", t->offsets[i]);
    sprintf(ptx,
            "};\nW: bar.warp.sync -1;\n"
            "V: mbarrier.try_wait.parity.shared.b64 %%q, [%%r2], 0;\n@!%%q bra V;\n"
            "ld.param.u64 %%rd1, [out];\nmov.u32 %%r3, %%r0;\n"
            "C: setp.ge.u32 %%p, %%r3, %d;\n@%%p bra D;\nadd.u32 %%r4, %%r1, %%r3;\n"
            "ld.shared.u8 %%h0, [%%r4];\ncvt.u64.u32 %%rd2, %%r3;\nadd.u64 %%rd2, %%rd2, %%rd1;\n"
            "st.global.u8 [%%rd2], %%h0;\nadd.u32 %%r3, %%r3, 32;\nbra C;\nD: ret;\n}\n",
            bytes);
}

static void run(const struct im2col_trial *t, uint64_t seed) {
    static char ptx[4096];
    _Alignas(64) uint8_t map[TMG_TENSOR_MAP_BYTES];
    struct emu_result result;
    struct emu_memory *memory = emu_memory_new();
    uint64_t from = emu_memory_alloc(memory, sizeof tensor, "x");
    uint64_t to = emu_memory_alloc(memory, BYTES, "y");
    const void *params[] = {map, &to};
    emu_memory_write(memory, from, tensor, sizeof tensor);
    emu_memory_fill(memory, to, 0, BYTES);
    make_map(t, from, map);
    write_kernel(t, ptx);
    emu_kernel_launch(memory, ptx, (struct emu_launch){.block = {32}, .seed = seed}, params, 2,
                      &result);
    emu_kernel_is_clean(&result);
    emu_memory_read(memory, column, to, BYTES);
    emu_result_free(&result);
    emu_memory_delete(memory);
}

static void compare(const struct im2col_trial *t, int trial) {
    int bytes = t->channels * pixels_of(t) * t->size;
    for (int i = 0; i < bytes; i++)
        if (column[i] != expected[i])
            fail_msg(
                "trial %d (rank %d, swizzle %d, %d channels, %d pixels): byte %d is %u, not %u",
                trial, t->rank, t->swizzle, t->channels, t->pixels, i, column[i], expected[i]);
}

static void takes_columns_as_defined(void **state) {
    int by_rank[6] = {0}, by_kind[4] = {0}, runs = 0;
    (void)state;
    for (size_t i = 0; i < sizeof tensor; i++) tensor[i] = (uint8_t)between(1, 119);
    for (int trial = 0; runs < TRIALS; trial++) {
        struct im2col_trial t;
        // whole lines of the swizzle, so that all bytes of a column stay within it
        if (!draw(&t) || t.channels * pixels_of(&t) * t.size > BYTES) continue;
        if (t.swizzle && t.channels * pixels_of(&t) * t.size % 1024) continue;
        if (t.along)
            fill_along(&t);
        else
            fill_expected(&t);
        run(&t, (uint64_t)trial);
        compare(&t, trial);
        by_rank[t.rank]++;
        by_kind[t.along]++;
        runs++;
    }
    for (int rank = 3; rank <= 5; rank++) assert_true(by_rank[rank] > TRIALS / 6);
    for (int kind = TMG_IM2COL_W; kind <= TMG_IM2COL_W128; kind++)
        assert_true(by_kind[kind] > TRIALS / 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(takes_columns_as_defined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
