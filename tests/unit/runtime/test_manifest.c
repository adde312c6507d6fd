// Manifests: what a good one becomes, and for every rule one that breaks it and the words it gets.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_api.h"
#include "runtime/manifest.h"
#include "runtime/table.h"

static const char good[] =
    "{\"tmagen_manifest\": 2, \"name\": \"k\", \"family\": \"gemm\", \"entry\": \"k\","
    " \"arch\": \"sm_90a\", \"source\": \"k.cu\", \"block\": [384, 1, 1], \"cluster\": [2, 1, 1],"
    " \"shared_memory\": 230400, \"budget\": {\"registers\": 168, \"spill_bytes\": 0},"
    " \"dims\": [{\"name\": \"m\"}, {\"name\": \"n\", \"multiple_of\": 8},"
    "            {\"name\": \"k\", \"value\": 4096},"
    "            {\"name\": \"blocks\", \"ceil\": {\"dim\": \"k\", \"by\": 128}}],"
    " \"tensors\": ["
    "  {\"name\": \"a\", \"dtype\": \"bf16\", \"dims\": [\"m\", \"k\"], \"access\": \"read\","
    "   \"alignment\": 16, \"stride_bytes_multiple\": 16},"
    "  {\"name\": \"pad\", \"dtype\": \"fp32\", \"dims\": [{\"dim\": \"n\", \"times\": 2, "
    "\"plus\": 1}, 4],"
    "   \"access\": \"read_write\"},"
    "  {\"name\": \"d\", \"dtype\": \"fp16\", \"dims\": [\"m\", \"n\"], \"access\": \"write\"}],"
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"n\", \"by\": 128},"
    "           {\"dim\": \"m\", \"by\": 256, \"axis\": 1}, {\"count\": 3, \"axis\": 2}]},"
    " \"params\": ["
    "  {\"kind\": \"tensor_map\", \"tensor\": \"a\", \"box\": [128, 64], \"swizzle_bytes\": 128},"
    "  {\"kind\": \"pointer\", \"tensor\": \"d\"},"
    "  {\"kind\": \"stride\", \"tensor\": \"d\", \"axis\": 0, \"type\": \"i64\"},"
    "  {\"kind\": \"dim\", \"dim\": \"m\", \"type\": \"i32\"},"
    "  {\"kind\": \"tiles\", \"index\": 1, \"type\": \"u32\"},"
    "  {\"kind\": \"scalar\", \"name\": \"alpha\", \"type\": \"f32\", \"default\": 1.5},"
    "  {\"kind\": \"workspace\", \"part\": \"marks\"}, {\"kind\": \"splits\", \"type\": \"i32\"}],"
    " \"workspace\": [{\"name\": \"marks\", \"bytes\": 1024, \"zero\": \"launch\"},"
    "                 {\"name\": \"sums\", \"bytes\": 16, \"per\": \"sm\"}],"
    " \"ops\": [{\"op\": \"scale\", \"scalars\": [\"alpha\"]},"
    "           {\"op\": \"add\", \"tensors\": [\"pad\"], \"values\": {\"row_period\": 196}}],"
    " \"cost\": [{\"unit\": \"steps\", \"per\": \"tile\", \"amount\": 2,"
    "            \"times\": [{\"dim\": \"k\", \"by\": 64}, 3]}],"
    " \"varies_with\": [\"sms\"], \"dependent_launch\": true,"
    " \"barriers\": [{\"name\": \"full\", \"offset\": 0, \"count\": 4, \"arrivals\": 1}],"
    " \"roles\": [{\"name\": \"all\", \"first_warp\": 0, \"warps\": 12}], \"reference\": "
    "{\"name\": \"gemm\"}}";

static void test_good(void **state) {
    (void)state;
    struct tmg_manifest *it = NULL;
    assert_int_equal(tmg_manifest_parse(good, strlen(good), "good", &it), TMAGEN_OK);
    assert_string_equal(it->entry, "k");
    assert_int_equal(it->block[0], 384);
    assert_int_equal(it->shared_memory, 230400);
    assert_int_equal(it->budget_registers, 168);
    assert_int_equal(it->budget_spill_bytes, 0);
    assert_int_equal(it->dims[0].value, -1);
    assert_int_equal(it->dims[1].multiple_of, 8);
    assert_int_equal(it->dims[2].value, 4096);
    assert_int_equal(tmg_manifest_tensor(it, "d"), 2);
    assert_int_equal(tmg_manifest_dim(it, "none"), -1);
    const struct tmg_tensor *pad = &it->tensors[1];
    assert_int_equal(pad->rank, 2);
    assert_true(pad->reads && pad->writes);
    assert_int_equal(pad->dims[0].times, 2);
    assert_int_equal(pad->dims[0].plus, 1);
    assert_int_equal(pad->dims[1].dim, -1);
    assert_int_equal(pad->dims[1].plus, 4);
    assert_int_equal(pad->alignment, 4);
    assert_string_equal(tmg_dtypes[pad->dtype].name, "fp32");
    assert_false(it->tensors[2].reads);
    assert_int_equal(it->grid.tiles[1].axis, 1);
    assert_int_equal(it->grid.tiles[2].extent.dim, -1);
    assert_int_equal(it->grid.tiles[2].extent.plus, 3);
    assert_int_equal(it->grid.tiles[2].axis, 2);
    assert_int_equal(it->params[0].swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
    assert_int_equal(it->params[0].l2_promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
    assert_int_equal(it->params[0].element_strides[1], 1);
    assert_int_equal(it->params[4].index, 1);
    assert_true(it->params[5].has_default && it->params[5].value == 1.5);
    assert_int_equal(it->parts[0].zero, TMG_ZERO_LAUNCH);
    assert_int_equal(it->parts[1].per, TMG_PER_SM);
    assert_true(it->dims[3].derived && it->dims[3].rule.by == 128);
    assert_int_equal(it->ops[0].scalars[0], 5);
    assert_int_equal(it->ops[1].tensors[0], 1);
    assert_non_null(it->ops[1].values);
    assert_int_equal(it->costs[0].factors[0].by, 64);
    assert_true(it->varies_with_sms && !it->varies_with_splits);
    assert_true(it->dependent_launch);
    assert_non_null(it->reference);
    tmg_manifest_free(it);
    tmg_manifest_free(NULL);
}

// What a version asks for: whatever is added to it later may be missing.
static void test_members_of_a_version(void **state) {
    (void)state;
    static const char kernel[] =
        "{\"tmagen_manifest\": 2, \"name\": \"k\", \"family\": \"gemm\", \"entry\": \"k\","
        " \"arch\": \"sm_90a\", \"source\": \"k.cu\", \"block\": [384, 1, 1],"
        " \"dims\": [{\"name\": \"m\"}],"
        " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"m\"}]}}";
    static const char list[] =
        "{\"tmagen_table\": 4, \"name\": \"t\", \"family\": \"gemm\", \"version\": \"0\","
        " \"gpu\": \"H\", \"sms\": 132, \"rates\": {\"tensor\": 1, \"shared\": 1, \"l2_sm\": 1,"
        " \"l2\": 1, \"dram\": 1, \"store\": 1, \"sustained\": 1, \"launch\": 1, \"latency\": 1,"
        " \"turn\": 1, \"tile\": 1, \"cluster\": 1, \"split\": 1, \"pitch_64\": 1,"
        " \"pitch_32\": 1, \"pitch_16\": 1}, \"dims\": [\"m\"], \"kernels\": [{\"name\": \"k\"}]}";
    struct tmg_manifest *manifest = NULL;
    struct tmg_table *table = NULL;
    assert_int_equal(tmg_manifest_parse(kernel, strlen(kernel), "k", &manifest), TMAGEN_OK);
    assert_int_equal(tmg_table_parse(list, strlen(list), "t", &table), TMAGEN_OK);
    tmg_table_free(table);
    tmg_manifest_free(manifest);
}

// Each row replaces a piece of the good one; the message must hold the words.
static const struct {
    const char *from, *to, *words;
} bad[] = {
    {"{\"tmagen", "[{\"tmagen", "bad:1"},
    {"\"tmagen_manifest\": 2", "\"tmagen_manifest\": 1",
     "tmagen_manifest is 1; this library knows version 2: 'tmagen gen' makes the kernel anew"},
    {"\"tmagen_manifest\": 2", "\"tmagen_manifest\": 3",
     "tmagen_manifest is 3; this library knows version 2: a newer library knows it"},
    {"\"tmagen_manifest\": 2,", "", "tmagen_manifest is missing"},
    {"\"tmagen_manifest\": 2", "\"tmagen_manifest\": \"1\"", "tmagen_manifest is no integer"},
    {"\"family\"", "\"famly\"",
     "has the unknown member 'famly', of a newer tmagen or misspelt; legal: tmagen_manifest"},
    {"\"name\": \"k\",", "\"name\": \"k\", \"name\": \"l\",", "duplicate"},
    {"\"source\": \"k.cu\"", "\"source\": \"../k.cu\"",
     "source is no name; legal: 1 to 127 letters"},
    {"\"source\": \"k.cu\"", "\"source\": \"..\"", "source is no name"},
    {"\"source\": \"k.cu\"", "\"source\": \"k.cu\", \"source_sha256\": \"abc\"",
     "source_sha256 is no SHA-256; legal: 64 digits"},
    {"\"source\": \"k.cu\"",
     "\"source\": \"k.cu\", \"source_sha256\": "
     "\"g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"",
     "source_sha256 is no SHA-256; legal: 64 digits"},
    {"[384, 1, 1]", "[384, 1]", "block has 2 items; legal: 3"},
    {"[384, 1, 1]", "[384, 4, 1]", "block has the product 1536; legal: at most 1024"},
    {"[384, 1, 1]", "[0, 1, 1]", "block[0] is 0; legal: 1 to 1024"},
    {"[384, 1, 1]", "[384.0, 1, 1]", "block[0] is no integer"},
    {"[2, 1, 1]", "[17, 1, 1]", "cluster[0] is 17; legal: 1 to 16"},
    {"230400", "300000", "shared_memory is 300000; legal: 0 to 262144"},
    {"230400", "99999999999999999999", "bad:1"},
    {"\"spill_bytes\": 0", "\"spills\": 0", "budget has the unknown member 'spills'"},
    {"{\"name\": \"m\"}", "{\"name\": \"n\"}", "dims[1] repeats the name 'n'"},
    {"\"multiple_of\": 8", "\"multiple_of\": 0",
     "dims[1].multiple_of is 0; legal: 1 to 2147483647"},
    {"\"value\": 4096", "\"value\": 4096, \"multiple_of\": 3",
     "dims[2] has a value that is no multiple"},
    {"\"value\": 4096", "\"value\": 4096, \"most\": 4095",
     "dims[2] has a value that is more than its most"},
    {"\"multiple_of\": 8", "\"multiple_of\": 8, \"most\": 7",
     "dims[1].most is 7; legal: 8 to 2147483647"},
    {"\"bf16\"", "\"bf17\"", "tensors[0].dtype is 'bf17'; legal: bf16, fp16"},
    {"\"dims\": [\"m\", \"k\"]", "\"dims\": []", "tensors[0].dims has 0 items; legal: 1 to 5"},
    {"\"dims\": [\"m\", \"k\"]", "\"dims\": \"m\"", "tensors[0].dims is no array"},
    {"[\"m\", \"k\"]", "[\"m\", \"q\"]", "tensors[0].dims[1] names no dim of the manifest: 'q'"},
    {"[\"m\", \"k\"]", "[\"m\", 0]", "tensors[0].dims[1] is 0; legal: 1 to"},
    {"[\"m\", \"k\"]", "[\"m\", null]", "tensors[0].dims[1] is no integer"},
    {"\"times\": 2", "\"times\": 0", "tensors[1].dims[0].times is 0"},
    {"\"read\"", "\"r\"", "tensors[0].access is 'r'; legal: read, write, read_write"},
    {"\"alignment\": 16", "\"alignment\": 8", "params[0] is of tensor 'a', whose alignment is 8"},
    {"\"stride_bytes_multiple\": 16", "\"stride_bytes_multiple\": 2",
     "params[0] is of tensor 'a', whose strides are multiples of 2 bytes; legal: of 16"},
    {"\"name\": \"pad\"", "\"name\": \"a\"", "tensors[1] repeats the name 'a'"},
    {"\"rule\": \"tiles\"", "\"rule\": \"persistent\"", "grid.tiles[1] has an axis"},
    {"\"rule\": \"tiles\"", "\"rule\": \"all\"", "grid.rule is 'all'; legal: tiles, persistent"},
    {"{\"dim\": \"n\", \"by\": 128}", "{\"dim\": \"n\", \"by\": 0}", "grid.tiles[0].by is 0"},
    {"\"axis\": 1", "\"axis\": 3", "grid.tiles[1].axis is 3; legal: 0 to 2"},
    {"{\"dim\": \"n\", \"by\": 128}", "{\"count\": 0}", "grid.tiles[0].count is 0; legal: 1 to"},
    {"{\"dim\": \"n\", \"by\": 128}", "{\"dim\": \"n\", \"count\": 16}",
     "grid.tiles[0] has a count beside dim, times, plus or by; legal: one of the two"},
    {"{\"dim\": \"n\", \"by\": 128}", "{\"by\": 128, \"count\": 16}",
     "grid.tiles[0] has a count beside dim, times, plus or by; legal: one of the two"},
    {"\"by\": 256, \"axis\": 1}", "\"by\": 256, \"axis\": 1}, {\"count\": 70000, \"axis\": 1}",
     "grid has more than 65535 blocks along axis 1 for the smallest dims already"},
    {"\"box\": [128, 64]", "\"box\": [128]", "params[0].box has 1 items; legal: 2"},
    {"\"box\": [128, 64]", "\"box\": [257, 64]", "params[0].box[0] is 257; legal: 1 to 256"},
    {"\"box\": [128, 64]", "\"box\": [128, 128]",
     "params[0] has an inner box of 256 bytes; legal: at most"},
    {"\"box\": [128, 64]", "\"box\": [128, 60]",
     "params[0] has an inner box of 120 bytes; legal: a multiple"},
    {"\"swizzle_bytes\": 128", "\"swizzle_bytes\": 128, \"rows_apart\": 4",
     "params[0] has rows 4 apart; legal: of a matrix, and whole 16 bytes of elements"},
    {"\"swizzle_bytes\": 128", "\"swizzle_bytes\": 128, \"rows_apart\": 33",
     "params[0].rows_apart is 33; legal: 1 to 32"},
    {"\"swizzle_bytes\": 128", "\"swizzle_bytes\": 128, \"period\": 196",
     "params[0].box has 2 items; legal: 3"},
    {"[128, 64], \"swizzle_bytes\": 128",
     "[32, 4, 64], \"swizzle_bytes\": 128, \"period\": 196, \"rows_apart\": 8",
     "params[0] has rows apart and a period; legal: one of the two"},
    {"[\"m\", \"n\"], \"access\": \"write\"}],"
     " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"n\", \"by\": 128},"
     "           {\"dim\": \"m\", \"by\": 256, \"axis\": 1}, {\"count\": 3, \"axis\": 2}]},"
     " \"params\": ["
     "  {\"kind\": \"tensor_map\", \"tensor\": \"a\", \"box\": [128, 64],",
     "[1, 1, 1, \"m\", \"n\"], \"access\": \"write\"}],"
     " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"n\", \"by\": 128},"
     "           {\"dim\": \"m\", \"by\": 256, \"axis\": 1}, {\"count\": 3, \"axis\": 2}]},"
     " \"params\": [{\"kind\": \"tensor_map\","
     " \"tensor\": \"d\", \"period\": 4, \"box\": [1, 1, 1, 1, 8, 64],",
     "params[0] has a period; legal: of a matrix' rows"},
    {"\"swizzle_bytes\": 128},",
     "\"swizzle_bytes\": 128}, {\"kind\": \"tensor_map\", \"tensor\": \"a\", \"box\": [8, 64], "
     "\"rows_apart\": 32},",
     "params has 33 tensor maps; legal: up to 32"},
    {"\"swizzle_bytes\": 128", "\"swizzle_bytes\": 96",
     "params[0].swizzle_bytes is 96; legal: 0, 32, 64, 128"},
    {"\"tensor\": \"d\"}", "\"tensor\": \"e\"}",
     "params[1].tensor names no tensor of the manifest: 'e'"},
    {"\"axis\": 0, \"type\"", "\"axis\": 2, \"type\"", "params[2].axis is 2; legal: 0 to 1"},
    {"\"type\": \"i64\"", "\"type\": \"f32\"",
     "params[2].type is 'f32'; legal: i32, u32, i64, u64"},
    {"\"type\": \"i64\"", "\"type\": \"i16\"", "params[2].type is 'i16'"},
    {"\"dim\": \"m\", \"type\"", "\"dim\": \"z\", \"type\"", "params[3].dim names no dim"},
    {"\"index\": 1", "\"index\": 3", "params[4].index is 3; legal: 0 to 2"},
    {"1.5", "\"x\"", "params[5].default is no number"},
    {"{\"kind\": \"workspace\", \"part\": \"marks\"}", "{\"kind\": \"texture\"}",
     "params[6].kind is 'texture'; legal: tensor_map"},
    {"{\"kind\": \"workspace\",", "{\"kind\": \"workspace\", \"x\": 1,",
     "params[6] has the unknown member 'x'"},
    {"{\"kind\": \"workspace\", \"part\": \"marks\"}", "7", "params[6]"},
    {"\"part\": \"marks\"", "\"part\": \"mark\"",
     "params[6].part names no part of the workspace: 'mark'"},
    {"\"bytes\": 1024", "\"bytes\": 0", "workspace[0].bytes is 0"},
    {"\"zero\": \"launch\"", "\"zero\": true",
     "workspace[0].zero is no text; legal: launch, first"},
    {"\"per\": \"sm\"", "\"per\": \"core\"", "workspace[1].per is 'core'; legal: launch, tile"},
    {"\"bytes\": 1024, \"zero\": \"launch\"",
     "\"bytes\": 1024},{\"name\": \"x\", \"bytes\": 1, \"zero\": \"first\"",
     "workspace[1] stands behind a part that is cleared less often"},
    {"\"name\": \"sums\"", "\"name\": \"marks\"", "workspace[1] repeats the name 'marks'"},
    {"\"by\": 128}}", "\"by\": 0}}", "dims[3].ceil.by is 0"},
    {"{\"dim\": \"k\", \"by\": 128}", "{\"dim\": \"blocks\", \"by\": 128}",
     "dims[3].ceil.dim names no dim of the manifest: 'blocks'"},
    {"\"by\": 128}}", "\"by\": 128}, \"value\": 2}", "dims[3] has the unknown member 'value'"},
    {"[\"alpha\"]", "[\"beta\"]", "ops[0].scalars[0] names no scalar of the manifest: 'beta'"},
    {"[\"pad\"]", "[\"pads\"]", "ops[1].tensors[0] names no tensor of the manifest: 'pads'"},
    {"196", "\"196\"", "ops[1].values.row_period is no number"},
    {"\"steps\"", "\"miles\"", "cost[0].unit is 'miles'; legal: tensor_flops"},
    {"\"amount\": 2", "\"amount\": 0", "cost[0].amount is 0"},
    {"[\"sms\"]", "[\"clock\"]", "varies_with[0] is 'clock'; legal: sms, splits"},
    {"\"dependent_launch\": true", "\"dependent_launch\": 1", "dependent_launch is"},
    {"\"offset\": 0", "\"offset\": -8", "barriers[0].offset is -8"},
    {"\"warps\": 12", "\"warps\": 33", "roles[0].warps is 33; legal: 1 to 32"},
    {"{\"dim\": \"n\", \"by\": 128}",
     "{\"dim\": \"n\", \"by\": 1, \"times\": 2147483647, \"plus\": 9}",
     "grid has more than 2^31 blocks for the smallest dims already"},
    {"{\"dim\": \"m\", \"by\": 256, \"axis\": 1}",
     "{\"dim\": \"m\", \"by\": 1, \"plus\": 65535, \"axis\": 1}",
     "grid has more than 65535 blocks along axis 1 for the smallest dims already"},
    {"{\"dim\": \"m\", \"by\": 256, \"axis\": 1}",
     "{\"dim\": \"k\", \"by\": 1, \"axis\": 2}, {\"dim\": \"k\", \"by\": 256, \"axis\": 2}",
     "grid has more than 65535 blocks along axis 2 for the smallest dims already"},
    {"\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"n\", \"by\": 128},"
     "           {\"dim\": \"m\", \"by\": 256, \"axis\": 1}, {\"count\": 3, \"axis\": 2}]",
     "\"rule\": \"persistent\", \"tiles\": [{\"count\": 1073741825}]",
     "grid has more than max_tiles tiles for the smallest dims already"},
    {"\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"n\", \"by\": 128},"
     "           {\"dim\": \"m\", \"by\": 256, \"axis\": 1}, {\"count\": 3, \"axis\": 2}]",
     "\"rule\": \"persistent\", \"max_tiles\": 60, \"tiles\": [{\"count\": 61}]",
     "grid has more than max_tiles tiles for the smallest dims already"},
    {"\"rule\": \"tiles\"", "\"rule\": 5", "grid.rule is no text; legal: tiles"},
};

static int parse_spoilt(const char *from, const char *to) {
    static char text[sizeof good + 512];
    const char *at = strstr(good, from);
    if (!at) fail_msg("'%s' is not in the good manifest", from);
    sprintf(text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    struct tmg_manifest *it = NULL;
    int status = tmg_manifest_parse(text, strlen(text), "bad", &it);
    tmg_manifest_free(it);
    return status;
}

static void test_bad(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        int status = parse_spoilt(bad[i].from, bad[i].to);
        if (status != TMAGEN_ERROR_MANIFEST) fail_msg("taken for good: %s", bad[i].words);
        if (!strstr(tmagen_error_last(), bad[i].words))
            fail_msg("said '%s', not '%s'", tmagen_error_last(), bad[i].words);
    }
}

// Elements of 4 and 6 bits, 16 of which get 16 bytes of shared memory.
static const struct {
    const char *dtype, *map, *words;
    int multiple;
} spread[] = {
    {"u8", "[64, 128], \"swizzle_bytes\": 128, \"spread\": 4", NULL, 32},
    {"u8", "[64, 128], \"spread\": 6", NULL, 64},
    {"e2m1", "[64, 128], \"swizzle_bytes\": 128, \"spread\": 4", NULL, 32},
    {"e3m2", "[64, 128], \"swizzle_bytes\": 128", NULL, 32},
    {"u8", "[64, 128], \"spread\": 5", "params[0] has spread 5; legal: 4, 6", 32},
    {"u8", "[64, 128], \"spread\": 8", "params[0].spread is 8; legal: 0 to 6", 32},
    {"e2m1", "[64, 128], \"spread\": 6", "spreads elements of 6 bits of a tensor of 4", 32},
    {"u8", "[64, 64], \"spread\": 4", "an inner box of 64 spread elements; legal: 128", 32},
    {"u8", "[64, 128], \"swizzle_bytes\": 64, \"spread\": 4", "at most the swizzle's 64", 32},
    {"u8", "[64, 128], \"spread\": 4", "whose address and strides are multiples of 32", 16},
    {"u8", "[64, 128], \"spread\": 4, \"rows_apart\": 16", "of rows apart", 32},
};

static void test_spread(void **state) {
    (void)state;
    char text[1024];
    for (size_t i = 0; i < sizeof spread / sizeof *spread; ++i) {
        struct tmg_manifest *it = NULL;
        int length = snprintf(
            text, sizeof text,
            "{\"tmagen_manifest\": 2, \"name\": \"k\", \"family\": \"f\", \"entry\": \"k\","
            " \"arch\": \"sm_100a\", \"source\": \"k.cu\", \"block\": [32, 1, 1], \"dims\": "
            "[{\"name\": \"m\"}],"
            " \"tensors\": [{\"name\": \"a\", \"dtype\": \"%s\", \"dims\": [64, 384], \"access\":"
            " \"read\", \"alignment\": %d, \"stride_bytes_multiple\": %d}], \"grid\": {\"rule\":"
            " \"tiles\", \"tiles\": [{\"dim\": \"m\", \"by\": 1}]}, \"params\": [{\"kind\":"
            " \"tensor_map\", \"tensor\": \"a\", \"box\": %s}]}",
            spread[i].dtype, spread[i].multiple, spread[i].multiple, spread[i].map);
        int status = tmg_manifest_parse(text, (size_t)length, "spread", &it);
        tmg_manifest_free(it);
        if (!spread[i].words && !status) continue;
        if (!spread[i].words || !status || !strstr(tmagen_error_last(), spread[i].words))
            fail_msg("%zu: %d, '%s'", i, status, tmagen_error_last());
    }
}

// Names in a manifest that has nothing of the kind: a refusal, and nothing read or written behind
// its rows (which AddressSanitizer sees, and a plain build by the room that one row has).
static void test_names_of_nothing(void **state) {
    (void)state;
    static const char head[] =
        "{\"tmagen_manifest\": 2, \"name\": \"k\", \"family\": \"f\", \"entry\": \"k\","
        " \"arch\": \"sm_90a\", \"source\": \"k.cu\", \"block\": [32, 1, 1],"
        " \"grid\": {\"rule\": \"tiles\", \"tiles\": ";
    static const struct {
        const char *rest, *words;
    } named[] = {
        {"[{\"dim\": \"m\"}]}}", "grid.tiles[0].dim names no dim of the manifest: 'm'"},
        {"[{\"count\": 1}]}, \"params\": [{\"kind\": \"dim\", \"dim\": \"m\"}]}",
         "params[0].dim names no dim of the manifest: 'm'"},
        {"[{\"count\": 1}]}, \"params\": [{\"kind\": \"tensor_map\", \"tensor\": \"a\"}]}",
         "params[0].tensor names no tensor of the manifest: 'a'"},
        {"[{\"count\": 1}]}, \"params\": [{\"kind\": \"tensor_map\", \"part\": \"w\"}]}",
         "params[0].part names no part of the workspace: 'w'"},
        {"[{\"count\": 1}]}, \"params\": [{\"kind\": \"stride\", \"part\": \"w\"}]}",
         "params[0].part names no part of the workspace: 'w'"},
        {"[{\"count\": 1}]}, \"before\": [{\"entry\": \"b\", \"grid\": {\"rule\": \"tiles\","
         " \"tiles\": [{\"dim\": \"m\"}]}}]}",
         "before[0].grid.tiles[0].dim names no dim of the manifest: 'm'"},
    };
    char text[1024];
    struct tmg_manifest *it = NULL;
    for (size_t i = 0; i < sizeof named / sizeof *named; ++i) {
        const int length = snprintf(text, sizeof text, "%s%s", head, named[i].rest);
        const int status = tmg_manifest_parse(text, (size_t)length, "nothing", &it);
        assert_int_equal(status, TMAGEN_ERROR_MANIFEST);
        if (!strstr(tmagen_error_last(), named[i].words))
            fail_msg("said '%s', not '%s'", tmagen_error_last(), named[i].words);
    }
    const int length = snprintf(text, sizeof text, "%s[{\"count\": 1}]}}", head);
    assert_int_equal(tmg_manifest_parse(text, (size_t)length, "empty", &it), TMAGEN_OK);
    assert_true((const char *)it->tensors - (const char *)it->dims >= (long)sizeof *it->dims);
    assert_true((const char *)it->params - (const char *)it->tensors >= (long)sizeof *it->tensors);
    assert_true((const char *)it->ops - (const char *)it->parts >= (long)sizeof *it->parts);
    tmg_manifest_free(it);
}

// Cut short at every byte, and with pieces of itself copied elsewhere: never a crash.
static void test_mutilated(void **state) {
    (void)state;
    static char text[sizeof good];
    struct tmg_manifest *it;
    size_t length = strlen(good);
    for (size_t cut = 0; cut < length; ++cut)
        assert_int_equal(tmg_manifest_parse(good, cut, "cut", &it), TMAGEN_ERROR_MANIFEST);
    srand(1);
    for (int round = 0; round < 20000; ++round) {
        memcpy(text, good, sizeof good);
        for (int edits = rand() % 4 + 1; edits > 0; --edits) {
            size_t bytes = (size_t)rand() % 12 + 1;
            memmove(text + (size_t)rand() % (length - bytes),
                    good + (size_t)rand() % (length - bytes), bytes);
        }
        it = NULL;
        tmg_manifest_parse(text, length, "mutilated", &it);
        tmg_manifest_free(it);
    }
}

static void test_many(void **state) {
    (void)state;
    static char text[1 << 17];
    struct tmg_manifest *it;
    char *at =
        text + sprintf(text,
                       "{\"tmagen_manifest\": 2, \"name\": \"k\", \"family\": \"f\", \"entry\": "
                       "\"k\", \"arch\": \"sm_90a\", \"source\": \"k.cu\", \"dims\": [");
    for (int i = 0; i < 33; ++i) at += sprintf(at, "%s{\"name\": \"d%d\"}", i ? "," : "", i);
    strcpy(at, "]}");
    assert_int_equal(tmg_manifest_parse(text, strlen(text), "many", &it), TMAGEN_ERROR_MANIFEST);
    assert_non_null(strstr(tmagen_error_last(), "dims has 33 items; legal: 0 to 32"));
    memset(text, '[', sizeof text - 1);
    assert_int_equal(tmg_manifest_parse(text, sizeof text - 1, "deep", &it), TMAGEN_ERROR_MANIFEST);
}

static void test_no_file(void **state) {
    (void)state;
    struct tmg_manifest *it;
    assert_int_equal(tmg_manifest_read("/nonexistent/k.json", &it), TMAGEN_ERROR_FILE);
    assert_non_null(strstr(tmagen_error_last(), "/nonexistent/k.json: No such file"));
    assert_int_equal(tmg_manifest_read("/dev/zero", &it), TMAGEN_ERROR_FILE);
    assert_int_equal(tmg_manifest_read("/", &it), TMAGEN_ERROR_FILE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_names_of_nothing),
        cmocka_unit_test(test_mutilated),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_members_of_a_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
