// The shipped bf16 table with all its kernels, as out/ has them.
#pragma once
#include <stdio.h>
#include <stdlib.h>

#include "runtime/table.h"
#include "runtime/whole_file.h"

static inline char *read_out(const char *name, size_t *bytes) {
    enum { MAX_BYTES = 1 << 20, PATH_BYTES = 256 };
    char path[PATH_BYTES], *text;
    snprintf(path, sizeof path, "out/%s.json", name);
    assert_int_equal(tmg_file_read(path, MAX_BYTES, &text, bytes), TMAGEN_OK);
    return text;
}

static inline struct tmg_table *open_shipped(void) {
    struct tmg_table *table;
    size_t bytes;
    char *text = read_out("gemm_bf16_h200", &bytes);
    assert_int_equal(tmg_table_parse(text, bytes, "t", &table), TMAGEN_OK);
    free(text);
    for (unsigned i = 0; i < table->kernel_count; ++i) {
        text = read_out(table->kernels[i].name, &bytes);
        assert_int_equal(tmg_table_take(table, i, text, bytes), TMAGEN_OK);
        free(text);
    }
    assert_int_equal(tmg_table_finish(table), TMAGEN_OK);
    return table;
}
