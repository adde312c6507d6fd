// Fuzzes dispatch tables: any bytes become a table within its bounds, or an error; and a table that
// is taken, with one manifest for all of its kernels, chooses what it has or refuses in words.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/choose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char manifest[] =
    "{\"tmagen_manifest\": 2, \"name\": \"%s\", \"family\": \"%s\", \"entry\": \"e\","
    " \"arch\": \"sm_90a\", \"source\": \"e.cu\", \"block\": [32, 1, 1],"
    " \"dims\": [{\"name\": \"m\"}, {\"name\": \"n\", \"multiple_of\": 8}, {\"name\": \"k\"}],"
    " \"tensors\": [{\"name\": \"a\", \"dtype\": \"bf16\", \"dims\": [\"m\", \"k\"],"
    "   \"access\": \"read\", \"stride_bytes_multiple\": 16}],"
    " \"grid\": {\"rule\": \"persistent\", \"tiles\": [{\"dim\": \"m\", \"by\": 64}],"
    "   \"splits\": {\"default\": 1, \"most\": 16}},"
    " \"cost\": [{\"unit\": \"tensor_flops\", \"per\": \"tile\", \"amount\": 500},"
    "  {\"unit\": \"steps\", \"per\": \"tile\", \"amount\": 1, \"ahead\": 4}],"
    " \"params\": [{\"kind\": \"stride\", \"tensor\": \"a\", \"axis\": 0, \"type\": \"i64\"},"
    "  {\"kind\": \"splits\", \"type\": \"i32\"}]}";

static int take_all(struct tmg_table *table) {
    char text[sizeof manifest + 2 * TMG_MAX_NAME];
    for (unsigned i = 0; i < table->kernel_count; ++i) {
        const int length =
            snprintf(text, sizeof text, manifest, table->kernels[i].name, table->family);
        if (tmg_table_take(table, i, text, (size_t)length)) return -1;
    }
    return tmg_table_finish(table);
}

static void choose(const struct tmg_table *table, const int64_t *shape) {
    const tmagen_tensor a = {.name = "a", .data = 0x10000};
    const tmagen_dim dims[] = {{"m", shape[0]}, {"n", shape[1]}, {"k", shape[2]}};
    const tmagen_launch launch = {.tensors = &a, .tensor_count = 1, .dims = dims, .dim_count = 3};
    const struct tmg_question question = {.table = table,
                                          .launch = &launch,
                                          .capacity = {.sms = table->sms},
                                          .kernel = -1,
                                          .workspace = -1};
    struct tmg_choice choices[TMG_CHOICES];
    unsigned count;
    if (tmg_choose(&question, choices, &count)) return;
    if (count > TMG_CHOICES) abort();
    for (unsigned i = 0; i < count; ++i)
        if (choices[i].kernel < 0 || choices[i].kernel >= (int)table->kernel_count ||
            choices[i].splits < 1 || choices[i].splits > 16)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int64_t shapes[][3] = {{64, 64, 64}, {1, 8, 3}, {5, 7, 8}, {0, 8, 8}};
    struct tmg_table *table = NULL;
    if (tmg_table_parse((const char *)data, size, "fuzz", &table)) return 0;
    if (!take_all(table))
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) choose(table, shapes[i]);
    tmg_table_free(table);
    return 0;
}
