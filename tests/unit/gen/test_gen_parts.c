// The small parts of the generator: texts with origins, near words, files, occupancy.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "gen/file.h"
#include "gen/alloc.h"
#include "measure/numbers.h"
#include "measure/occupancy.h"
#include "runtime/arch.h"
#include "gen/suggest.h"
#include "gen/text.h"

static void add_line(struct text *t, const char *line, int number) {
    text_add(t, line, strlen(line));
    text_end_line(t, (tmagen_source_line){.file = "f", .line = number});
}

static void test_blank_lines_collapse(void **state) {
    (void)state;
    static const char *const lines[] = {"", "  ", "a  ", "", " ", "", "b", "", ""};
    struct text t = {0};
    for (int i = 0; i < 9; i++) add_line(&t, lines[i], i + 1);
    text_trim(&t);
    assert_string_equal(t.data, "a\n\nb\n");
    assert_int_equal(t.len, 5);
    assert_int_equal(t.line_count, 3);
    assert_int_equal(t.lines[0].line, 3);
    assert_int_equal(t.lines[2].line, 7);
    text_free(&t);
}

static void test_append_keeps_origins(void **state) {
    (void)state;
    struct text a = {0}, b = {0};
    add_line(&a, "a", 1);
    add_line(&b, "b", 9);
    text_append(&a, &b);
    text_append(&a, &(struct text){0});
    assert_string_equal(a.data, "a\nb\n");
    assert_int_equal(a.lines[1].line, 9);
    text_free(&a);
    text_free(&b);
}

static const char *nearest(const char *word) {
    static const char *const words[] = {"stages", "tile", "cluster", "m", "n", "registers"};
    struct suggest s = suggest_start(word);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) suggest_offer(&s, words[i]);
    return s.best ? s.best : "none";
}

static void test_near_words(void **state) {
    (void)state;
    assert_string_equal(nearest("stagse"), "stages");
    assert_string_equal(nearest("stage"), "stages");
    assert_string_equal(nearest("tiles"), "tile");
    assert_string_equal(nearest("clutser"), "cluster");
    assert_string_equal(nearest("tiel"), "tile");  // a swap is one mistake
    assert_string_equal(nearest("regs"), "none");
    assert_string_equal(nearest("q"), "none");
    assert_string_equal(nearest("completely"), "none");
    assert_string_equal(nearest(""), "none");
    char *long_word = mem_alloc(1000);
    memset(long_word, 'x', 999);
    long_word[999] = 0;
    assert_string_equal(nearest(long_word), "none");
    free(long_word);
}

static void test_occupancy(void **state) {
    (void)state;
    static const struct {
        const char *arch;
        int threads, registers, shared, blocks;
        const char *limit;
    } rows[] = {
        {"sm_90a", 384, 168, 230400, 1, "shared memory"},
        {"sm_90a", 128, 24, 0, 16, "threads"},
        {"sm_90a", 1024, 32, 0, 2, "registers"},
        {"sm_90a", 32, 16, 0, 32, "CTAs"},
        {"sm_90a", 128, 255, 0, 2, "registers"},
        {"sm_90a", 128, 32, 100000, 2, "shared memory"},
        {"sm_90", 128, 32, 232448, 1, "shared memory"},
        {"sm_100a", 256, 64, 1024, 4, "registers"},
        {"sm_90a", 1024, 128, 0, 0, "registers"},
        {"sm_12", 128, 32, 0, -1, ""},
        {"", 128, 32, 0, -1, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct occupancy o =
            occupancy_of(rows[i].arch, rows[i].threads, rows[i].registers, rows[i].shared);
        assert_int_equal(o.blocks, rows[i].blocks);
        assert_string_equal(o.limit, rows[i].limit);
    }
}

static int64_t field(lua_State *lua, const char *name) {
    lua_getfield(lua, -1, name);
    int64_t value = lua_tointeger(lua, -1);
    lua_pop(lua, 1);
    return value;
}

// The table of architectures in C and the one that plans compute with agree on those in both.
static void test_archs(void **state) {
    (void)state;
    lua_State *lua = luaL_newstate();
    int rows = 0;
    luaL_openlibs(lua);
    assert_int_equal(luaL_dofile(lua, "templates/lib/archs.lua"), LUA_OK);
    for (lua_pushnil(lua); lua_next(lua, -2); lua_pop(lua, 1)) {
        const struct tmg_arch *arch = tmg_arch_find(lua_tostring(lua, -2));
        if (arch) {
            rows++;
            assert_int_equal(field(lua, "sms"), arch->sms);
            assert_int_equal(field(lua, "shared_memory"), arch->shared_per_block);
            assert_int_equal(field(lua, "sm_shared_memory"), arch->shared_per_sm);
            assert_int_equal(field(lua, "sm_threads"), 32 * arch->warps_per_sm);
            assert_int_equal(field(lua, "sm_ctas"), arch->blocks_per_sm);
            assert_int_equal(field(lua, "registers"), TMG_SM_REGISTERS);
            assert_int_equal(field(lua, "threads"), TMG_BLOCK_THREADS);
            assert_int_equal(field(lua, "reserved_shared_memory"), TMG_BLOCK_RESERVE);
        }
    }
    assert_true(rows >= 4);
    lua_close(lua);
}

// Every type that templates know is one that manifests and references know, or stored as one, with
// as many bits and the same 1.
static void test_dtypes(void **state) {
    (void)state;
    lua_State *lua = luaL_newstate();
    int rows = 0;
    luaL_openlibs(lua);
    assert_int_equal(luaL_dofile(lua, "templates/lib/dtypes.lua"), LUA_OK);
    for (lua_pushnil(lua); lua_next(lua, -2); lua_pop(lua, 1)) {
        if (!lua_istable(lua, -1)) continue;
        rows++;
        const int dtype = tmg_dtype_find(lua_tostring(lua, -2));
        lua_getfield(lua, -1, "stored");
        const int stored = lua_isnil(lua, -1) ? dtype : tmg_dtype_find(lua_tostring(lua, -1));
        lua_pop(lua, 1);
        assert_in_range(dtype, 0, TMG_DTYPES - 1);
        assert_in_range(stored, 0, TMG_DTYPES_OF_HOST - 1);
        assert_int_equal(field(lua, "bits"), tmg_dtypes[dtype].bits);
        uint64_t one = 0;
        if (stored == dtype) num_encode(dtype, 1, &one);
        if (field(lua, "one_bits")) assert_int_equal(field(lua, "one_bits"), one);
    }
    assert_true(rows >= 7);
    lua_close(lua);
}

// A float's bits are its exponent, its mantissa and at most a sign.
static void test_dtype_bits(void **state) {
    (void)state;
    for (int i = 0; i < TMG_DTYPES; i++) {
        const struct tmg_dtype *row = &tmg_dtypes[i];
        assert_int_equal(tmg_dtype_find(row->name), i);
        if (row->kind != TMG_KIND_FLOAT) continue;
        const int sign = (int)row->bits - row->exponent_bits - row->mantissa_bits;
        assert_int_equal(sign, i == TMG_DTYPE_UE8M0 ? 0 : 1);
    }
    assert_int_equal(tmg_dtype_find("fp12"), -1);
}

static char folder[] = "/tmp/tmagen-parts-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char *command = mem_format("rm -rf %s", folder);
    int status = system(command);
    free(command);
    return status;
}

static void holds(const char *path, const char *expected) {
    const char *why;
    struct file_bytes bytes = file_read(path, 1000, &why);
    assert_non_null(bytes.data);
    assert_string_equal(bytes.data, expected);
    free(bytes.data);
}

static void test_files_appear_whole(void **state) {
    (void)state;
    char *path = mem_format("%s/a", folder);
    struct file_pending file;
    assert_null(file_prepare(path, "one", 3, &file));
    assert_false(file_exists(path));
    assert_null(file_commit(&file));
    holds(path, "one");
    assert_null(file_prepare(path, "two", 3, &file));
    holds(path, "one");
    file_abandon(&file);
    holds(path, "one");
    assert_null(file_prepare(path, "one", 3, &file));
    assert_null(file.path);  // nothing to do
    assert_null(file_commit(&file));
    free(path);
}

static void test_files_that_cannot_be(void **state) {
    (void)state;
    struct file_pending file;
    const char *why;
    char *below_file = mem_format("%s/a/b", folder), *fifo = mem_format("%s/fifo", folder);
    char *taken = mem_format("%s/c.%ld.0.tmp", folder, (long)getpid());
    char *path = mem_format("%s/c", folder);
    assert_non_null(file_prepare(below_file, "x", 1, &file));
    assert_null(file.path);
    assert_non_null(file_make_folder(below_file));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_null(file_read(fifo, 10, &why).data);  // and does not wait for a writer
    assert_string_equal(why, "it is no regular file");
    assert_null(file_read(folder, 10, &why).data);
    assert_string_equal(why, "it is a folder");
    assert_int_equal(mkdir(taken, 0700), 0);
    assert_null(file_prepare(path, "x", 1, &file));  // a killed process left that name taken
    assert_null(file_commit(&file));
    assert_true(file_exists(taken));  // not ours, so not removed
    free(below_file);
    free(fifo);
    free(taken);
    free(path);
}

static void test_read_limit(void **state) {
    (void)state;
    const char *why;
    char *path = mem_format("%s/a", folder);
    assert_null(file_read(path, 2, &why).data);
    assert_string_equal(why, "the file is too large");
    struct file_bytes bytes = file_read(path, 3, &why);
    assert_int_equal(bytes.len, 3);
    free(bytes.data);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blank_lines_collapse),
        cmocka_unit_test(test_append_keeps_origins),
        cmocka_unit_test(test_near_words),
        cmocka_unit_test(test_occupancy),
        cmocka_unit_test(test_archs),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_dtype_bits),
        cmocka_unit_test(test_files_appear_whole),
        cmocka_unit_test(test_files_that_cannot_be),
        cmocka_unit_test(test_read_limit),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
