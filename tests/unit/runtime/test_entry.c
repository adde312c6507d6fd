// Cache entries as bytes: what is written is read back, and nothing damaged is taken for whole.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "runtime/entry.h"

static const struct tmg_entry sample = {
    .request = {.kind = "cubin",
                .arch = "sm_90a",
                .name = "k.cu",
                .options = "--x",
                .source = "the source, that is",
                .source_bytes = 19},
    .compiler = "build-id 00",
    .info = {.resources = {40, 0, 0, 0, 16, 1}, .compile_us = 123456, .compiler = "nvrtc 13.0 00"},
    .log = "a warning",
    .code = "\177ELF\0\1\2",
    .code_bytes = 7};

static uint8_t *stored(size_t *bytes) {
    *bytes = tmg_entry_size(&sample);
    uint8_t *data = malloc(*bytes);
    assert_non_null(data);
    tmg_entry_write(&sample, data);
    return data;
}

static void test_round_trip(void **state) {
    (void)state;
    size_t bytes;
    uint8_t *data = stored(&bytes);
    struct tmg_entry entry;
    assert_null(tmg_entry_parse(data, bytes, &entry));
    assert_true(tmg_entry_matches(&entry, &sample.request));
    assert_string_equal(entry.compiler, sample.compiler);
    assert_string_equal(entry.log, sample.log);
    assert_int_equal(entry.code_bytes, sample.code_bytes);
    assert_memory_equal(entry.code, sample.code, sample.code_bytes);
    assert_memory_equal(&entry.info, &sample.info, sizeof entry.info);
    char own[TMAGEN_KEY_CHARS], key[TMAGEN_KEY_CHARS];
    tmg_entry_key(&entry, own);
    tmg_request_key(&sample.request, sample.compiler, key);
    assert_string_equal(own, key);
    free(data);
}

static void test_head_alone(void **state) {
    (void)state;
    size_t bytes;
    uint8_t *data = stored(&bytes);
    struct tmg_entry entry;
    assert_null(tmg_entry_parse_head(data, bytes < 512 ? bytes : 512, bytes, &entry));
    assert_string_equal(entry.request.name, "k.cu");
    assert_int_equal(entry.info.resources.registers, 40);
    assert_non_null(tmg_entry_parse_head(data, 100, bytes, &entry));
    assert_non_null(tmg_entry_parse_head(data, 512, bytes + 1, &entry));
    free(data);
}

// Copies to blocks of the exact size, so that the sanitizer sees any read beyond.
static const char *parse_copy(const uint8_t *data, size_t bytes, struct tmg_entry *entry,
                              uint8_t **copy) {
    *copy = malloc(bytes ? bytes : 1);
    assert_non_null(*copy);
    memcpy(*copy, data, bytes);
    return tmg_entry_parse(*copy, bytes, entry);
}

static void test_truncated(void **state) {
    (void)state;
    size_t bytes;
    uint8_t *data = stored(&bytes), *copy;
    struct tmg_entry entry;
    for (size_t length = 0; length < bytes; ++length) {
        assert_non_null(parse_copy(data, length, &entry, &copy));
        assert_int_equal(!tmg_entry_parse_head(copy, length, length, &entry), 0);
        free(copy);
    }
    free(data);
}

// Every single bit flipped: either a fault, or, in the padding and the source, a whole entry that
// is still compared with what was asked for.
static void test_flipped(void **state) {
    (void)state;
    size_t bytes, survivors = 0;
    uint8_t *data = stored(&bytes), *copy;
    struct tmg_entry entry;
    for (size_t bit = 0; bit < bytes * 8; ++bit) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (!parse_copy(data, bytes, &entry, &copy)) {
            ++survivors;
            assert_memory_equal(entry.code, sample.code, sample.code_bytes);
            assert_string_equal(entry.compiler, sample.compiler);
            int source_is_whole = !memcmp(entry.request.source, sample.request.source, 19);
            assert_int_equal(tmg_entry_matches(&entry, &sample.request), source_is_whole);
        }
        free(copy);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(survivors < bytes * 8 / 3);
    free(data);
}

static void test_other_requests_do_not_match(void **state) {
    (void)state;
    struct tmg_request others[] = {sample.request, sample.request, sample.request,
                                   sample.request, sample.request, sample.request};
    others[0].kind = "ptx";
    others[1].arch = "sm_100a";
    others[2].name = "l.cu";
    others[3].options = "";
    others[4].source = "the source, that iz";
    others[5].source_bytes = 18;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        assert_false(tmg_entry_matches(&sample, &others[i]));
}

static void test_no_entry_at_all(void **state) {
    (void)state;
    struct tmg_entry entry;
    uint8_t noise[600];
    for (unsigned round = 0; round < 2000; ++round) {
        for (size_t i = 0; i < sizeof noise; ++i) noise[i] = (uint8_t)(rand() >> 7);
        if (round % 2) memcpy(noise, "tmagen\n\1", 8);
        assert_non_null(tmg_entry_parse(noise, sizeof noise, &entry));
        assert_non_null(tmg_entry_parse_head(noise, sizeof noise, sizeof noise, &entry));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_head_alone),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_flipped),
        cmocka_unit_test(test_other_requests_do_not_match),
        cmocka_unit_test(test_no_entry_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
