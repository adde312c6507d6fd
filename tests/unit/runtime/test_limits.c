// The largest shapes of every shipped kernel, and its least aligned addresses: what its manifest
// lets through is what it can hold, and one step further is refused with the limit. That kernels
// are right there too, verify shows, one of whose shapes has every tensor as little aligned as may
// be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "runtime/grid.h"

static tmagen_tensor tensors[TMG_MAX_TENSORS];
static tmagen_dim dims[TMG_MAX_DIMS];

// A launch whose dims are all as small as they may be; tensors far apart and as their dims are.
static tmagen_launch smallest(const struct tmg_manifest *manifest) {
    for (unsigned i = 0; i < manifest->tensor_count; ++i)
        tensors[i] = (tmagen_tensor){.name = manifest->tensors[i].name,
                                     .data = (tmagen_address)(i + 1) << 58};
    for (unsigned i = 0; i < manifest->tensor_count; ++i) {
        // rows of scales, of any size, begin at whole 16 bytes: with gaps; atoms of them are whole
        const struct tmg_tensor *tensor = &manifest->tensors[i];
        if (!strstr(tensor->name, "_scales") || tensor->alignment < 16 || tensor->rank > 2)
            continue;
        tensors[i].strides[0] = 1 << 20, tensors[i].strides[1] = 1;
    }
    size_t dynamic = 0;
    for (unsigned i = 0; i < manifest->dim_count; ++i)
        if (manifest->dims[i].value < 0 && !manifest->dims[i].derived)
            dims[dynamic++] = (tmagen_dim){.name = manifest->dims[i].name,
                                           .value = manifest->dims[i].multiple_of};
    return (tmagen_launch){.tensors = tensors,
                           .tensor_count = manifest->tensor_count,
                           .dims = dims,
                           .dim_count = dynamic};
}

// The tile that covers the end of [dim] must end in an int: its rows, and its cluster's blocks.
static void check_rounded(const struct tmg_manifest *manifest, unsigned dim) {
    for (unsigned i = 0; i < manifest->grid.tile_count; ++i) {
        const struct tmg_tile *tile = &manifest->grid.tiles[i];
        if (tile->extent.dim != (int)dim) continue;
        const int64_t size = manifest->dims[dim].most * tile->extent.times;
        const int64_t by = tile->extent.by, rounded = (size + by - 1) / by * by;
        const int counted = size > INT32_MAX;  // of products that only 64 bits hold
        if (rounded > INT32_MAX && !counted && by > 1)
            fail_msg("%s: dim %s of %lld in steps of %lld ends at %lld", manifest->name,
                     manifest->dims[dim].name, (long long)size, (long long)by, (long long)rounded);
    }
}

// Each tensor may lie at every multiple of its alignment and nowhere else: copies and vectors trap.
static void check_addresses(const struct tmg_manifest *manifest) {
    struct tmg_binding binding;
    const tmagen_launch launch = smallest(manifest);
    for (unsigned i = 0; i < manifest->tensor_count; ++i) {
        char wanted[200];
        const int64_t alignment = manifest->tensors[i].alignment;
        tensors[i].data += (uint64_t)alignment;
        if (tmg_bind(manifest, &launch, &binding)) fail_msg("%s", tmagen_error_last());
        if (alignment == 1) continue;
        tensors[i].data += (uint64_t)alignment / 2;
        assert_int_equal(tmg_bind(manifest, &launch, &binding), TMAGEN_ERROR_ARGUMENT);
        snprintf(wanted, sizeof wanted, "'%s': the address 0x%llx is no multiple of %d bytes",
                 tensors[i].name, (unsigned long long)tensors[i].data, (int)alignment);
        if (!strstr(tmagen_error_last(), wanted)) fail_msg("%s", tmagen_error_last());
        tensors[i].data -= (uint64_t)alignment / 2;
    }
}

static void check_dim(const struct tmg_manifest *manifest, size_t at) {
    struct tmg_binding binding;
    const tmagen_launch launch = smallest(manifest);
    const int index = tmg_manifest_dim(manifest, dims[at].name);
    const struct tmg_dim *dim = &manifest->dims[index];
    check_rounded(manifest, (unsigned)index);
    dims[at].value = dim->most;
    if (tmg_bind(manifest, &launch, &binding)) fail_msg("%s", tmagen_error_last());
    dims[at].value = dim->most + dim->multiple_of;
    assert_int_equal(tmg_bind(manifest, &launch, &binding), TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "the largest that the kernel computes with"));
}

static void test_every_dim_and_address_of_every_kernel(void **state) {
    (void)state;
    glob_t found;
    size_t checked = 0;
    assert_int_equal(glob("out/*.cu", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; ++i) {
        struct tmg_manifest *manifest;
        char path[256];
        snprintf(path, sizeof path, "%.*s.json", (int)strlen(found.gl_pathv[i]) - 3,
                 found.gl_pathv[i]);
        if (tmg_manifest_read(path, &manifest)) fail_msg("%s", tmagen_error_last());
        check_addresses(manifest);
        const tmagen_launch launch = smallest(manifest);
        for (size_t at = 0; at < launch.dim_count; ++at, ++checked) check_dim(manifest, at);
        tmg_manifest_free(manifest);
    }
    globfree(&found);
    assert_true(checked > 100);
}

static struct tmg_manifest *shipped(const char *path) {
    struct tmg_manifest *manifest;
    if (tmg_manifest_read(path, &manifest)) fail_msg("%s", tmagen_error_last());
    return manifest;
}

// Shapes that a kernel once took and answered with nothing written, because a size ran over.
static void test_sizes_that_ran_over(void **state) {
    (void)state;
    static const int64_t over[][3] = {{2147483585, 8, 8}, {8, 2147483592, 8}, {64, 64, 2147483640}};
    struct tmg_manifest *manifest = shipped("out/gemm_64x64.json");
    for (size_t i = 0; i < sizeof over / sizeof *over; ++i) {
        struct tmg_binding binding;
        const tmagen_launch launch = smallest(manifest);
        for (int dim = 0; dim < 3; ++dim) dims[dim].value = over[i][dim];
        assert_int_equal(tmg_bind(manifest, &launch, &binding), TMAGEN_ERROR_ARGUMENT);
        assert_non_null(strstr(tmagen_error_last(), "gemm_64x64: dim '"));
    }
    tmg_manifest_free(manifest);
}

// Each dim is legal alone, but a persistent kernel counts their tiles in an int.
static void test_more_tiles_than_a_kernel_counts(void **state) {
    (void)state;
    unsigned grid[3];
    struct tmg_binding binding = {.manifest = shipped("out/gemm_64x64.json"), .splits = 1};
    const struct tmg_capacity capacity = {.sms = 132, .resident_blocks = 132};
    binding.dims[0] = INT64_C(64) << 15, binding.dims[1] = INT64_C(64) << 15, binding.dims[2] = 8;
    assert_int_equal(tmg_grid_size(&binding, &capacity, grid), TMAGEN_OK);
    ++binding.dims[0];
    assert_int_equal(tmg_grid_size(&binding, &capacity, grid), TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "1073774592 tiles; legal: at most 1073741824"));
    tmg_manifest_free((struct tmg_manifest *)binding.manifest);
}

// CTAs side by side share an operand, so that a kernel counts what a cluster of them covers.
static void test_a_cluster_covers_its_tiles(void **state) {
    (void)state;
    unsigned grid[3];
    struct tmg_binding binding = {.manifest = shipped("out/gemm_256x128.json"), .splits = 1};
    const struct tmg_capacity capacity = {.sms = 132, .resident_blocks = 132};
    for (int over = 0; over < 2; ++over) {
        binding.dims[0] = 256, binding.dims[1] = 256 + over, binding.dims[2] = 64;
        assert_int_equal(tmg_grid_size(&binding, &capacity, grid), TMAGEN_OK);
        assert_int_equal(grid[0], 2 + 2 * over);
    }
    tmg_manifest_free((struct tmg_manifest *)binding.manifest);
}

// A dim that follows from another may be given, as what it follows to.
static void test_a_dim_that_follows(void **state) {
    (void)state;
    struct tmg_manifest *manifest = shipped("out/quantise_phase0.json");
    struct tmg_binding binding;
    const int blocks = tmg_manifest_dim(manifest, "blocks");
    tmagen_launch launch = smallest(manifest);
    const size_t given = launch.dim_count++;
    if (tmg_bind(manifest,
                 &(tmagen_launch){.tensors = tensors,
                                  .tensor_count = launch.tensor_count,
                                  .dims = dims,
                                  .dim_count = given},
                 &binding))
        fail_msg("%s", tmagen_error_last());
    dims[given] = (tmagen_dim){.name = "blocks", .value = binding.dims[blocks]};
    assert_int_equal(tmg_bind(manifest, &launch, &binding), TMAGEN_OK);
    ++dims[given].value;
    assert_int_equal(tmg_bind(manifest, &launch, &binding), TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "by ceil(k / 128)"));
    tmg_manifest_free(manifest);
}

// Scales of another shape, order or alignment are refused with the layout that is wanted.
static void test_scales_of_another_layout(void **state) {
    (void)state;
    static const struct {
        const char *manifest;
        int64_t dims[2], stride, address;
        const char *message;
    } cases[] = {
        {"out/blockscaled_128x128.json", {264, 3}, 3, 1 << 20, NULL},
        {"out/blockscaled_128x128.json", {3, 264}, 264, 1 << 20, "a_scales[m, ceil(k / 128)]"},
        {"out/blockscaled_128x128.json", {264, 2}, 2, 1 << 20, "a_scales[m, ceil(k / 128)]"},
        {"out/blockscaled_128x128.json", {264, 3}, 3, (1 << 20) + 2, "a_scales[m, ceil(k / 128)]"},
        {"out/blockscaled_128x128_column.json", {3, 264}, 264, 1 << 20, NULL},
        {"out/blockscaled_128x128_column.json", {264, 3}, 3, 1 << 20, "a_scales[ceil(k / 128), m]"},
        {"out/blockscaled_128x128_column.json",
         {3, 264},
         266,
         1 << 20,
         "legal: multiples of 16 bytes; a_scales[ceil(k / 128), m]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct tmg_manifest *manifest = shipped(cases[i].manifest);
        struct tmg_binding binding;
        const tmagen_launch launch = smallest(manifest);
        const int64_t sizes[] = {264, 256, 272};
        tmagen_tensor *scales = &tensors[tmg_manifest_tensor(manifest, "a_scales")];
        for (size_t at = 0; at < launch.dim_count; ++at) dims[at].value = sizes[at];
        scales->rank = 2;
        scales->data = (tmagen_address)cases[i].address;
        memcpy(scales->dims, cases[i].dims, sizeof cases[i].dims);
        scales->strides[0] = cases[i].stride, scales->strides[1] = 1;
        const int status = tmg_bind(manifest, &launch, &binding);
        assert_int_equal(status, cases[i].message ? TMAGEN_ERROR_ARGUMENT : TMAGEN_OK);
        if (status && !strstr(tmagen_error_last(), cases[i].message))
            fail_msg("%s", tmagen_error_last());
        tmg_manifest_free(manifest);
    }
}

// Those of another type or rank, too.
static void test_scales_of_another_kind(void **state) {
    (void)state;
    static const char *const messages[] = {"its dtype is 'ue8m0'; legal: fp32; a_scales[m, ceil(",
                                           "rank 1; legal: 2, or 0 for the manifest's; a_scales[m"};
    struct tmg_manifest *manifest = shipped("out/blockscaled_128x128.json");
    struct tmg_binding binding;
    for (int i = 0; i < 2; ++i) {
        const tmagen_launch launch = smallest(manifest);
        tmagen_tensor *scales = &tensors[tmg_manifest_tensor(manifest, "a_scales")];
        if (i == 0) scales->dtype = "ue8m0";
        if (i == 1) scales->rank = 1, scales->dims[0] = 128;
        assert_int_equal(tmg_bind(manifest, &launch, &binding), TMAGEN_ERROR_ARGUMENT);
        if (!strstr(tmagen_error_last(), messages[i])) fail_msg("%s", tmagen_error_last());
        scales->dtype = NULL;
    }
    tmg_manifest_free(manifest);
}

// The kernel is told no strides, so it would step over gaps as if there were none.
static void test_gaps_that_a_kernel_knows_nothing_of(void **state) {
    (void)state;
    struct tmg_binding binding;
    struct tmg_manifest *manifest = shipped("out/resample_phase0.json");
    const tmagen_launch launch = smallest(manifest);
    for (int gap = 0; gap < 2; ++gap) {
        tensors[0].rank = 3;
        for (int axis = 0; axis < 3; ++axis) tensors[0].dims[axis] = 4;
        tensors[0].strides[0] = 4 * (4 + gap), tensors[0].strides[1] = 4 + gap,
        tensors[0].strides[2] = 1;
        for (size_t at = 0; at < launch.dim_count; ++at) dims[at].value = 4;
        const int status = tmg_bind(manifest, &launch, &binding);
        assert_int_equal(status, gap ? TMAGEN_ERROR_ARGUMENT : TMAGEN_OK);
    }
    assert_non_null(strstr(tmagen_error_last(), "stride 0 is 20 elements, but the kernel takes no "
                                                "strides of it; legal: 16"));
    tmg_manifest_free(manifest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_dim_and_address_of_every_kernel),
        cmocka_unit_test(test_sizes_that_ran_over),
        cmocka_unit_test(test_a_cluster_covers_its_tiles),
        cmocka_unit_test(test_a_dim_that_follows),
        cmocka_unit_test(test_scales_of_another_layout),
        cmocka_unit_test(test_scales_of_another_kind),
        cmocka_unit_test(test_gaps_that_a_kernel_knows_nothing_of),
        cmocka_unit_test(test_more_tiles_than_a_kernel_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
