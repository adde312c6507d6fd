// Keys: the same for the same content, another for every part that differs; and the compiler's
// identity.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include "runtime/elf_id.h"
#include "runtime/key.h"
#include "runtime/resources.h"
#include "tests/unit/fakes.h"

static struct tmg_request request(void) {
    return (struct tmg_request){.kind = "cubin",
                                .arch = "sm_90a",
                                .name = "k.cu",
                                .options = "-a -b",
                                .source = "source",
                                .source_bytes = 6};
}

static void key_of(const struct tmg_request *it, char key[TMAGEN_KEY_CHARS]) {
    tmg_request_key(it, "build-id 1", key);
}

// Worked out with another SHA-256. A change of this line is a change of every user's cache: then
// raise the "request 2" in key.c too.
static void test_key_is_what_it_was(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS];
    struct tmg_request it = request();
    key_of(&it, key);
    assert_string_equal(key, "4dbcc118a988973928023b498ebdf9447e7a93cf73465cdf0e7b9245874df091");
}

// A digest that is given stands for the source's own.
static void test_given_digest(void **state) {
    (void)state;
    char own[TMAGEN_KEY_CHARS], given[TMAGEN_KEY_CHARS], digest[TMAGEN_KEY_CHARS];
    struct tmg_request it = request();
    key_of(&it, own);
    tmg_digest_text(it.source, it.source_bytes, digest);
    it.source_sha256 = digest;
    key_of(&it, given);
    assert_string_equal(given, own);
    it.source = "sourcf";
    key_of(&it, given);
    assert_string_equal(given, own);
    digest[0] ^= 1;
    key_of(&it, given);
    assert_string_not_equal(given, own);
}

static void test_every_part_counts(void **state) {
    (void)state;
    struct tmg_request variants[] = {request(), request(), request(), request(),
                                     request(), request(), request(), request()};
    enum { COUNT = sizeof variants / sizeof *variants };
    variants[1].kind = "ptx";
    variants[2].arch = "sm_90";
    variants[3].name = "l.cu";
    variants[4].options = "-a  -b";
    variants[5].source = "sourcf";
    variants[6].source_bytes = 5;
    variants[7].arch = "sm_90ak.cu";  // the same bytes, cut elsewhere
    variants[7].name = "";
    char keys[COUNT][TMAGEN_KEY_CHARS];
    for (int i = 0; i < COUNT; ++i) {
        key_of(&variants[i], keys[i]);
        assert_int_equal(strspn(keys[i], "0123456789abcdef"), TMAGEN_KEY_CHARS - 1);
        for (int j = 0; j < i; ++j) assert_memory_not_equal(keys[i], keys[j], TMG_REQUEST_HEX);
    }
}

static void test_compiler_is_the_tail(void **state) {
    (void)state;
    struct tmg_request it = request();
    char one[TMAGEN_KEY_CHARS], two[TMAGEN_KEY_CHARS], none[TMAGEN_KEY_CHARS];
    tmg_request_key(&it, "build-id 1", one);
    tmg_request_key(&it, "build-id 2", two);
    tmg_request_key(&it, NULL, none);
    assert_memory_equal(one, two, TMG_REQUEST_HEX);
    assert_string_not_equal(one, two);
    assert_int_equal(strlen(none), TMG_REQUEST_HEX);
    assert_memory_equal(none, one, TMG_REQUEST_HEX);
}

// ---- The identity of a compiler

static void write_file(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

// An ELF file with nothing but a header, one note segment and a build id.
static size_t make_elf(uint8_t data[256]) {
    Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                         .e_phoff = sizeof(Elf64_Ehdr),
                         .e_phnum = 1};
    Elf64_Phdr segment = {
        .p_type = PT_NOTE, .p_offset = sizeof header + sizeof segment, .p_filesz = 20};
    Elf64_Nhdr note = {.n_namesz = 4, .n_descsz = 4, .n_type = NT_GNU_BUILD_ID};
    uint8_t *at = data;
    memcpy(at, &header, sizeof header);
    memcpy(at += sizeof header, &segment, sizeof segment);
    memcpy(at += sizeof segment, &note, sizeof note);
    memcpy(at += sizeof note, "GNU\0\xde\xad\xbe\xef", 8);
    return (size_t)(at + 8 - data);
}

static void test_build_id_is_read(void **state) {
    (void)state;
    uint8_t elf[256];
    char path[4200], id[72];
    snprintf(path, sizeof path, "%s/elf", fresh_folder());
    write_file(path, elf, make_elf(elf));
    assert_int_equal(tmg_elf_identify(path, id, sizeof id), 0);
    assert_string_equal(id, "build-id deadbeef");
    assert_int_not_equal(tmg_elf_identify("/nonexistent", id, sizeof id), 0);
}

// Whatever is damaged, there is an identity, and it is of the content.
static void test_any_file_has_an_identity(void **state) {
    (void)state;
    uint8_t elf[256];
    char path[4200], id[72], again[72];
    size_t bytes = make_elf(elf);
    snprintf(path, sizeof path, "%s/elf", fresh_folder());
    for (size_t at = 0; at < bytes; ++at) {
        elf[at] ^= 0xff;
        write_file(path, elf, bytes);
        assert_int_equal(tmg_elf_identify(path, id, sizeof id), 0);
        assert_int_equal(tmg_elf_identify(path, again, sizeof again), 0);
        assert_string_equal(id, again);
        write_file(path, elf, at);
        assert_int_equal(tmg_elf_identify(path, id, sizeof id), 0);
        assert_memory_equal(id, "head ", 5);
        elf[at] ^= 0xff;
    }
}

// ---- What the assembler says

static void test_resources_of_a_log(void **state) {
    (void)state;
    char log[] =
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
        "ptxas info    : Function properties for k\n"
        "ptxas         .     160 bytes stack frame, 24 bytes spill stores, 36 bytes spill loads\n"
        "ptxas info    : Used 168 registers, used 9 barriers, 256 bytes smem\n"
        "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async\n"
        "k.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n"
        "ptxas info    : Compile time = 40.856 ms\n";
    tmagen_resources it;
    tmg_resources_parse(log, &it);
    const tmagen_resources expected = {168, 160, 24, 36, 256, 9};
    assert_memory_equal(&it, &expected, sizeof it);
    tmg_resources_strip(log);
    assert_string_equal(
        log, "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async\n"
             "k.cu(3): warning #177-D: variable \"x\" was declared but never referenced");
}

static void test_resources_of_no_log(void **state) {
    (void)state;
    tmagen_resources it;
    tmg_resources_parse("", &it);
    assert_int_equal(it.registers, -1);
    assert_int_equal(it.shared_bytes, -1);
    tmg_resources_parse(" registers, 99999999999999999999 bytes smem", &it);
    assert_int_equal(it.registers, -1);
    tmg_resources_parse("ptxas info : Used 24 registers\nptxas info : Used 40 registers", &it);
    assert_int_equal(it.registers, 40);
    assert_int_equal(it.shared_bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_is_what_it_was), cmocka_unit_test(test_every_part_counts),
        cmocka_unit_test(test_given_digest),       cmocka_unit_test(test_compiler_is_the_tail),
        cmocka_unit_test(test_build_id_is_read),   cmocka_unit_test(test_any_file_has_an_identity),
        cmocka_unit_test(test_resources_of_a_log), cmocka_unit_test(test_resources_of_no_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
