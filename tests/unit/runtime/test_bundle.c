// Bundles: what is loaded from them, what of them is looked at when, and that nothing damaged or
// foreign gets in. The digests are made right again behind each lie, so that what is behind them is
// tried too.
#include <pthread.h>
#include <sys/mman.h>

#include "gen/pack.h"
#include "runtime/arch.h"
#include "tests/unit/runtime/set_fixture.h"
#include "tests/unit/runtime/steps.h"

static const tmagen_code compiled = {
    .resources = {.registers = 77, .stack_bytes = -1},
    .key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    .compiler = "nvrtc 13.0 65be0db342ad"};

static const char ptx_text[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry big(.param .u64 a, .param .u64 stride)\n{\nret;\n}\n";

static char *bytes;
static size_t byte_count;
static tmagen_bundle *bundle;

// ---- Making one

static struct pack_entry entry(enum tmg_bundle_kind kind, const char *name, const char *arch,
                               const char *data) {
    const int is_code = kind == TMG_BUNDLE_CUBIN || kind == TMG_BUNDLE_PTX;
    return (struct pack_entry){kind, name, arch, data, strlen(data), is_code ? &compiled : NULL};
}

// The four kernels of the set, the table, and the first kernel's PTX; from the last to the first
// with [backwards].
static char *make(int backwards, size_t *len) {
    struct pack_entry entries[2 * KERNELS + 2];
    const struct pack_entry *other;
    struct pack pack = {0};
    int count = 0;
    for (int i = 0; i < KERNELS; ++i) {
        entries[count++] = entry(TMG_BUNDLE_CUBIN, kernels[i].name, "sm_90a", kernels[i].name);
        entries[count++] =
            entry(TMG_BUNDLE_MANIFEST, kernels[i].name, "sm_90a", kernels[i].manifest_text);
    }
    entries[count++] = entry(TMG_BUNDLE_TABLE, "t", "", table_text);
    entries[count++] = entry(TMG_BUNDLE_PTX, "big", "sm_90a", ptx_text);
    for (int i = 0; i < count; ++i) pack_add(&pack, entries[backwards ? count - 1 - i : i]);
    char *made = pack_write(&pack, len, &other);
    assert_null(other);
    pack_free(&pack);
    return made;
}

static int make_bundle(void **state) {
    (void)state;
    setenv("TMAGEN_CACHE", "/nonexistent", 1);
    bytes = make(0, &byte_count);
    return tmagen_bundle_from_memory(bytes, byte_count, &bundle);
}

static int free_bundle(void **state) {
    (void)state;
    tmagen_bundle_close(bundle);
    free(bytes);
    return 0;
}

static void write_to(char path[4400], const char *data, size_t len) {
    snprintf(path, 4400, "%s/k.tmb", fresh_folder());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    fclose(file);
}

// A bundle of one kernel of [count] codes, each with a manifest.
static tmagen_bundle *of_archs(const struct pack_entry *codes, int count) {
    const struct pack_entry *other;
    struct pack pack = {0};
    tmagen_bundle *opened = NULL;
    size_t len;
    for (int i = 0; i < count; ++i) {
        pack_add(&pack, codes[i]);
        pack_add(&pack, entry(TMG_BUNDLE_MANIFEST, "big", codes[i].arch, kernels[0].manifest_text));
    }
    free(bytes);
    bytes = pack_write(&pack, &len, &other);
    assert_int_equal(tmagen_bundle_from_memory(bytes, len, &opened), TMAGEN_OK);
    pack_free(&pack);
    return opened;
}

static void assert_says(int status, int expected, const char *part) {
    if (status != expected || !strstr(tmagen_error_last(), part))
        fail_msg("%d, %s", status, tmagen_error_last());
}

// ---- Loading

static void test_a_kernel(void **state) {
    (void)state;
    tmagen_kernel *kernel = NULL;
    tmagen_kernel_info info;
    assert_int_equal(tmagen_bundle_load(bundle, device, "big", &kernel), TMAGEN_OK);
    assert_int_equal(tmagen_kernel_get_info(kernel, &info), TMAGEN_OK);
    assert_string_equal(info.key, compiled.key);
    assert_string_equal(info.compiler, compiled.compiler);
    assert_int_equal(info.hit, 1);
    tmagen_bundle_close(bundle);  // what was loaded stays
    bundle = NULL;
    const int before = fake->launches;
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &rows_of(100, 64, 0)->launch), TMAGEN_OK);
    assert_int_equal(fake->launches, before + 1);
    tmagen_kernel_unload(kernel);
}

static void test_a_file(void **state) {
    (void)state;
    char path[4400];
    tmagen_bundle *opened;
    tmagen_kernel *kernel;
    write_to(path, bytes, byte_count);
    assert_int_equal(tmagen_bundle_open(path, &opened), TMAGEN_OK);
    assert_int_equal(tmagen_bundle_verify(opened), TMAGEN_OK);
    assert_int_equal(tmagen_bundle_load(opened, device, "split", &kernel), TMAGEN_OK);
    tmagen_kernel_unload(kernel);
    assert_int_equal(truncate(path, 5000), 0);  // no SIGBUS
    assert_says(tmagen_bundle_load(opened, device, "split", &kernel), TMAGEN_ERROR_BUNDLE,
                "cut short after it was opened");
    assert_says(tmagen_bundle_verify(opened), TMAGEN_ERROR_BUNDLE, "cut short");
    tmagen_bundle_close(opened);
}

static void test_a_set(void **state) {
    (void)state;
    assert_int_equal(tmagen_bundle_open_set(bundle, device, "t", &set), TMAGEN_OK);
    tmagen_bundle_close(bundle);  // the set holds it
    bundle = NULL;
    assert_string_equal(taken(rows_of(100, 64, 0)), "small");
    assert_string_equal(taken(rows_of(2000, 64, 0)), "split/4");
    assert_string_equal(taken(rows_of(64, 64, 0)), "big");  // tuned
    assert_int_equal(tmagen_set_load(set, NULL), TMAGEN_OK);
    close_set(state);
}

static void test_the_emulator(void **state) {
    (void)state;
    tmagen_device *emu;
    tmagen_kernel *kernel;
    assert_int_equal(tmagen_device_open("emu", &emu), TMAGEN_OK);
    if (tmagen_bundle_load(bundle, emu, "big", &kernel)) fail_msg("%s", tmagen_error_last());
    tmagen_kernel_unload(kernel);
    assert_says(tmagen_bundle_load(bundle, emu, "small", &kernel), TMAGEN_ERROR_NO_DEVICE,
                "the bundle in memory: small is there as cubin of sm_90a; this device, ");
    tmagen_device_close(emu);
}

static void test_the_best_code(void **state) {
    (void)state;
    static const struct {
        const char *expected;  // the code, or what is said of none
        struct {
            enum tmg_bundle_kind kind;
            const char *arch;
        } codes[3];
    } cases[] = {
        {"cubin sm_90a",
         {{TMG_BUNDLE_CUBIN, "sm_90a"}, {TMG_BUNDLE_CUBIN, "sm_90"}, {TMG_BUNDLE_PTX, "sm_90a"}}},
        {"cubin sm_90", {{TMG_BUNDLE_CUBIN, "sm_90"}, {TMG_BUNDLE_PTX, "sm_90a"}}},
        {"ptx sm_80", {{TMG_BUNDLE_CUBIN, "sm_80"}, {TMG_BUNDLE_PTX, "sm_80"}}},
        {"ptx sm_89", {{TMG_BUNDLE_PTX, "sm_80"}, {TMG_BUNDLE_PTX, "sm_89"}}},
        {"big is there as cubin of sm_100a; this device, Fake H200, needs a cubin of sm_90",
         {{TMG_BUNDLE_CUBIN, "sm_100a"}}},
        {"ptx of sm_100", {{TMG_BUNDLE_PTX, "sm_100"}}},
        {"ptx of sm_80a", {{TMG_BUNDLE_PTX, "sm_80a"}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct pack_entry codes[3];
        char texts[3][32];
        tmagen_code made[3];
        int count = 0;
        for (; count < 3 && cases[i].codes[count].arch; ++count) {
            const char *arch = cases[i].codes[count].arch;
            const char *kind = cases[i].codes[count].kind == TMG_BUNDLE_PTX ? "ptx" : "cubin";
            snprintf(texts[count], sizeof texts[count], "%s %s", kind, arch);
            codes[count] = entry(cases[i].codes[count].kind, "big", arch, texts[count]);
            made[count] = compiled;
            snprintf(made[count].compiler, sizeof made[count].compiler, "%s", texts[count]);
            codes[count].code = &made[count];
        }
        tmagen_bundle *opened = of_archs(codes, count);
        tmagen_kernel *kernel = NULL;
        tmagen_kernel_info info = {0};
        const int status = tmagen_bundle_load(opened, device, "big", &kernel);
        if (!status) tmagen_kernel_get_info(kernel, &info);
        if (status ? status != TMAGEN_ERROR_NO_DEVICE ||
                         !strstr(tmagen_error_last(), cases[i].expected)
                   : strcmp(info.compiler, cases[i].expected))
            fail_msg("%s: %d %s %s", cases[i].expected, status, info.compiler, tmagen_error_last());
        tmagen_kernel_unload(kernel);
        tmagen_bundle_close(opened);
    }
}

static void *load_one(void *argument) {
    for (int i = 0; i < 50; ++i) {
        tmagen_kernel *kernel;
        if (tmagen_bundle_load(argument, device, kernels[i % KERNELS].name, &kernel)) return "load";
        tmagen_kernel_unload(kernel);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    void *wrong;
    for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, load_one, bundle);
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

static void test_wrong_calls(void **state) {
    (void)state;
    tmagen_bundle *opened = NULL;
    tmagen_kernel *kernel = NULL;
    tmagen_set *made = NULL;
    assert_int_equal(tmagen_bundle_open(NULL, &opened), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_bundle_open("", &opened), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_bundle_open("x", NULL), TMAGEN_ERROR_ARGUMENT);
    assert_says(tmagen_bundle_open("/no/such.tmb", &opened), TMAGEN_ERROR_FILE, "/no/such.tmb");
    assert_says(tmagen_bundle_open("/dev/zero", &opened), TMAGEN_ERROR_FILE, "no plain file");
    assert_says(tmagen_bundle_open("/proc/self/maps", &opened), TMAGEN_ERROR_BUNDLE, "truncated");
    assert_int_equal(tmagen_bundle_from_memory(NULL, 5, &opened), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_bundle_from_memory(bytes, 0, &opened), TMAGEN_ERROR_BUNDLE);
    assert_int_equal(tmagen_bundle_from_memory(bytes, byte_count, NULL), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_bundle_load(NULL, device, "big", &kernel), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_bundle_load(bundle, NULL, "big", &kernel), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_bundle_load(bundle, device, "", &kernel), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_bundle_load(bundle, device, "big", NULL), TMAGEN_ERROR_ARGUMENT);
    assert_says(tmagen_bundle_load(bundle, device, "bih", &kernel), TMAGEN_ERROR_MISS, "'bih'");
    assert_says(tmagen_bundle_load(bundle, device, "t", &kernel), TMAGEN_ERROR_MISS, "kernel 't'");
    assert_int_equal(tmagen_bundle_open_set(NULL, device, "t", &made), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_bundle_open_set(bundle, device, NULL, &made), TMAGEN_ERROR_ARGUMENT);
    assert_says(tmagen_bundle_open_set(bundle, device, "big", &made), TMAGEN_ERROR_MISS, "'big'");
    assert_int_equal(tmagen_bundle_list(NULL, NULL, NULL), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_bundle_list(bundle, NULL, NULL), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_bundle_verify(NULL), TMAGEN_ERROR_ARGUMENT);
    assert_null(opened);
    assert_null(kernel);
    assert_null(made);
    tmagen_bundle_close(NULL);
}

// ---- Looking through

static int collect(const tmagen_bundle_entry *entry, void *context) {
    FILE *out = context;
    assert_int_equal(strlen(entry->sha256), 64);
    assert_string_equal(entry->version, TMAGEN_VERSION);
    assert_int_equal(((const char *)entry->data)[entry->bytes], 0);
    fprintf(out, "%s %s %s %s|", entry->name, entry->what, entry->arch, entry->compiler);
    return !strcmp(entry->name, "split") ? 42 : 0;
}

static void test_the_list(void **state) {
    (void)state;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(tmagen_bundle_list(bundle, collect, out), 42);
    fclose(out);
    assert_string_equal(text, "any cubin sm_90a nvrtc 13.0 65be0db342ad|any manifest sm_90a |"
                              "big cubin sm_90a nvrtc 13.0 65be0db342ad|big manifest sm_90a |"
                              "big ptx sm_90a nvrtc 13.0 65be0db342ad|"
                              "small cubin sm_90a nvrtc 13.0 65be0db342ad|small manifest sm_90a |"
                              "split cubin sm_90a nvrtc 13.0 65be0db342ad|");
    free(text);
    assert_int_equal(tmagen_bundle_list_sized(bundle, collect, NULL, 8), TMAGEN_ERROR_ARGUMENT);
}

static void test_the_same_bytes(void **state) {
    (void)state;
    size_t len;
    char *other = make(1, &len);
    assert_int_equal(len, byte_count);
    assert_memory_equal(bytes, other, len);
    free(other);
}

// ---- What is looked at when

// A bundle whose payloads begin on a page of their own, and that page's place.
static tmagen_bundle *padded(char **memory, size_t *memory_bytes, size_t *pages_at) {
    enum { PAGE = 4096, MANY = 400 };
    static char names[MANY][16], texts[MANY][PAGE];
    const struct pack_entry *other;
    struct pack pack = {0};
    size_t len;
    for (int i = 0; i < MANY; ++i) {
        snprintf(names[i], sizeof names[i], "k%03d", i);
        memset(texts[i], 'x', PAGE - 1);
        pack_add(&pack, entry(TMG_BUNDLE_MANIFEST, names[i], "sm_90a", texts[i]));
    }
    char *made = pack_write(&pack, &len, &other);
    pack_free(&pack);
    const struct tmg_bundle_header *header = (const void *)made;
    *pages_at = (tmg_bundle_first(header->index_bytes) + PAGE - 1) / PAGE * PAGE;
    *memory_bytes = (len + PAGE - 1) / PAGE * PAGE;
    *memory = mmap(NULL, *memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(*memory, made, len);
    free(made);
    assert_int_equal(mprotect(*memory + *pages_at, *memory_bytes - *pages_at, PROT_NONE), 0);
    tmagen_bundle *opened = NULL;
    assert_int_equal(tmagen_bundle_from_memory(*memory, len, &opened), TMAGEN_OK);
    return opened;
}

static void open_again(void *argument) {
    tmagen_bundle *opened;
    (void)argument;
    if (tmagen_bundle_from_memory(bytes, byte_count, &opened)) _exit(2);
}

static void test_opening_reads_the_index_alone(void **state) {
    (void)state;
    char *memory;
    size_t size, at;
    tmagen_bundle *opened = padded(&memory, &size, &at);  // or it would have crashed
    tmagen_bundle_close(opened);
    munmap(memory, size);
    // ten entries: by SHA-NI or without, 1,500 bytes are hashed and ten rows checked
    const long steps = count_steps(open_again, NULL);
    if (steps < 0) skip();
    if (steps > 60000) fail_msg("opening took %ld instructions", steps);
}

// A table's digest is checked when its set is opened; manifests are looked at when it is used, and
// again where that failed.
static void test_a_set_is_read_when_it_is_used(void **state) {
    (void)state;
    char *table = memmem(bytes + 1500, byte_count - 1500, "Fake H200", 4);
    char *manifest = memmem(bytes + 1500, byte_count - 1500, "\"name\": \"small\"", 15);
    assert_non_null(table);
    assert_non_null(manifest);
    *table ^= 1;
    assert_says(tmagen_bundle_open_set(bundle, device, "t", &set), TMAGEN_ERROR_BUNDLE,
                "the table of t: its digest is wrong");
    *table ^= 1;
    *manifest ^= 1;
    assert_int_equal(tmagen_bundle_open_set(bundle, device, "t", &set), TMAGEN_OK);
    assert_says(tmagen_set_load(set, NULL), TMAGEN_ERROR_BUNDLE, "the manifest of small");
    *manifest ^= 1;
    assert_string_equal(taken(rows_of(100, 64, 0)), "small");
    close_set(state);
}

static void test_a_digest_is_checked_once(void **state) {
    (void)state;
    tmagen_kernel *kernel;
    char *cubin = memmem(bytes + 1500, byte_count - 1500, "split\0", 6);
    assert_non_null(cubin);
    cubin[1] ^= 1;
    assert_says(tmagen_bundle_load(bundle, device, "split", &kernel), TMAGEN_ERROR_BUNDLE,
                "the cubin of split: its digest is wrong");
    assert_int_equal(tmagen_bundle_load(bundle, device, "small", &kernel), TMAGEN_OK);
    tmagen_kernel_unload(kernel);
    assert_says(tmagen_bundle_verify(bundle), TMAGEN_ERROR_BUNDLE, "the cubin of split");
    cubin[1] ^= 1;
    assert_int_equal(tmagen_bundle_load(bundle, device, "split", &kernel), TMAGEN_OK);
    tmagen_kernel_unload(kernel);
    cubin[1] ^= 1;  // nobody looks any more: a second load hashes nothing
    assert_int_equal(tmagen_bundle_load(bundle, device, "split", &kernel), TMAGEN_OK);
    tmagen_kernel_unload(kernel);
}

// ---- Damage and lies

static int opens(const char *data, size_t len) {
    tmagen_bundle *opened = NULL;
    int status = tmagen_bundle_from_memory(data, len, &opened);
    if (!status) status = tmagen_bundle_verify(opened);
    tmagen_bundle_close(opened);
    return status;
}

static void test_every_byte_counts(void **state) {
    (void)state;
    for (size_t i = 0; i < byte_count; ++i) {
        bytes[i] ^= 0x10;
        if (opens(bytes, byte_count) != TMAGEN_ERROR_BUNDLE) fail_msg("byte %zu", i);
        bytes[i] ^= 0x10;
    }
    for (size_t len = 0; len < byte_count; ++len) {
        char *cut = malloc(len + 1);  // its end is watched by sanitizers
        memcpy(cut, bytes, len);
        if (opens(cut, len) != TMAGEN_ERROR_BUNDLE) fail_msg("length %zu", len);
        free(cut);
    }
    assert_int_equal(opens(bytes, byte_count), TMAGEN_OK);
}

// Opens the bundle with the digest of the index made right.
static int open_resealed(void) {
    struct tmg_bundle_header *header = (void *)bytes;
    if (header->index_bytes <= byte_count - sizeof *header)
        tmg_bundle_digest(header, bytes + sizeof *header, header->digest);
    return opens(bytes, byte_count);
}

#define LIE(change, part)                                        \
    do {                                                         \
        char *copy = malloc(byte_count);                         \
        memcpy(copy, bytes, byte_count);                         \
        change;                                                  \
        assert_says(open_resealed(), TMAGEN_ERROR_BUNDLE, part); \
        memcpy(bytes, copy, byte_count);                         \
        free(copy);                                              \
    } while (0)

// A table whose first kernel has the manifest of another, found out by whatever asks it first.
static void test_a_set_that_lies(void **state) {
    (void)state;
    struct pack pack = {0};
    const struct pack_entry *other;
    size_t len, count = 1;
    for (int i = 0; i < KERNELS; ++i) {
        const char *name = kernels[i].name, *manifest = kernels[i ? i : 1].manifest_text;
        pack_add(&pack, entry(TMG_BUNDLE_CUBIN, name, "sm_90a", name));
        pack_add(&pack, entry(TMG_BUNDLE_MANIFEST, name, "sm_90a", manifest));
    }
    pack_add(&pack, entry(TMG_BUNDLE_TABLE, "t", "", table_text));
    char *made = pack_write(&pack, &len, &other);
    tmagen_bundle *lying;
    tmagen_choice choice;
    size_t size = 7;
    const tmagen_launch launch = {0};
    assert_int_equal(tmagen_bundle_from_memory(made, len, &lying), TMAGEN_OK);
    for (int first = 0; first < 5; ++first) {
        static const char said[] = "big: its manifest is of 'small'";
        assert_int_equal(tmagen_bundle_open_set(lying, device, "t", &set), TMAGEN_OK);
        if (first == 0) assert_null(tmagen_set_signature(set));
        if (first == 1) assert_says(tmagen_set_load(set, "small"), TMAGEN_ERROR_MANIFEST, said);
        if (first == 2)
            assert_says(tmagen_set_pin(set, NULL, "small"), TMAGEN_ERROR_MANIFEST, said);
        if (first == 3)
            assert_says(tmagen_set_workspace(set, &launch, &size), TMAGEN_ERROR_MANIFEST, said);
        if (first == 4)
            assert_says(tmagen_set_rank(set, &launch, &choice, 1, &count), TMAGEN_ERROR_MANIFEST,
                        said);
        assert_says(tmagen_set_launch(set, NULL, &launch), TMAGEN_ERROR_MANIFEST, said);
        tmagen_set_close(set);
    }
    assert_int_equal(size, 7);
    assert_int_equal(count, 1);
    tmagen_bundle_close(lying);
    pack_free(&pack);
    free(made);
}

static void test_lies(void **state) {
    (void)state;
    struct tmg_bundle_header *header = (void *)bytes;
    struct tmg_bundle_row *rows = (void *)(bytes + sizeof *header);
    char *texts = (char *)(rows + header->row_count);
    char *name = texts + rows[0].name;
    const struct tmg_bundle_row first = rows[0];
    LIE(header->version = 2, "another version");
    LIE(header->row_count = UINT32_MAX, "its index is larger");
    LIE(header->row_count++, "");
    LIE(header->row_count--, "");
    LIE(header->row_count = 0, "its size is not that of its entries");
    LIE(header->index_bytes = UINT64_MAX, "its index is larger");
    LIE(header->index_bytes = byte_count, "its index is larger");
    LIE(header->index_bytes--, "its texts have no end");
    LIE(header->index_bytes += 64, "where it must");
    LIE(header->file_bytes = UINT64_MAX, "truncated");
    LIE(header->file_bytes -= 64, "bytes after its end");
    LIE(header->tool = UINT32_MAX, "its header is damaged");
    LIE(rows[0].offset = UINT64_MAX, "where it must");
    LIE(rows[0].offset += 64, "where it must");
    LIE(rows[1].offset = rows[0].offset, "where it must");
    LIE(rows[0].bytes = UINT64_MAX, "where it must");
    LIE(rows[0].bytes = UINT64_MAX - rows[0].offset, "where it must");
    LIE(rows[header->row_count - 1].bytes += 64, "its size is not that");
    LIE(rows[0].kind = 0, "of no kind");
    LIE(rows[0].kind = 5, "of no kind");
    LIE(rows[0].kind = TMG_BUNDLE_TABLE, "no legal architecture");
    LIE(rows[0].name = UINT32_MAX, "text is not there");
    LIE(rows[0].arch = header->index_bytes, "text is not there");
    LIE(rows[0].compiler = 1u << 31, "text is not there");
    LIE(rows[0].reserved[1] = 1, "row is damaged");
    LIE(name[0] = '/', "no legal name");
    LIE(name[0] = '.', "no legal name");
    LIE(name[0] = 0, "no legal name");
    LIE(name[0] = 'z', "not in order");
    LIE(name[1] = '\n', "no legal name");
    LIE((rows[0].kind = rows[1].kind, rows[1].kind = first.kind), "not in order");
    LIE(rows[1] = rows[0], "not in order");
    assert_int_equal(open_resealed(), TMAGEN_OK);
}

static void test_no_manifest(void **state) {
    (void)state;
    const struct pack_entry *other;
    struct pack pack = {0};
    tmagen_kernel *kernel;
    tmagen_bundle *opened;
    size_t len;
    pack_add(&pack, entry(TMG_BUNDLE_CUBIN, "big", "sm_90a", "x"));
    char *made = pack_write(&pack, &len, &other);
    assert_int_equal(tmagen_bundle_from_memory(made, len, &opened), TMAGEN_OK);
    assert_says(tmagen_bundle_load(opened, device, "big", &kernel), TMAGEN_ERROR_BUNDLE,
                "there is no manifest for it");
    tmagen_bundle_close(opened);
    free(made);
    pack_add(&pack, entry(TMG_BUNDLE_CUBIN, "big", "sm_90a", "y"));
    assert_null(pack_write(&pack, &len, &other));
    assert_string_equal(other->name, "big");
    pack_free(&pack);
}

static void test_what_runs_where(void **state) {
    (void)state;
    static const struct {
        const char *code, *gpu;
        int runs, compiles;
    } cases[] = {{"sm_90a", "sm_90", 1, 1},   {"sm_90a", "sm_100", 0, 0},
                 {"sm_90", "sm_90", 1, 1},    {"sm_90", "sm_100", 0, 1},
                 {"sm_80", "sm_86", 1, 1},    {"sm_86", "sm_80", 0, 0},
                 {"sm_80", "sm_90", 0, 1},    {"sm_100f", "sm_103", 1, 1},
                 {"sm_100f", "sm_120", 0, 0}, {"sm_103a", "sm_100", 0, 0},
                 {"x", "sm_90", 0, 0},        {"sm_90", "", 0, 0},
                 {"sm_", "sm_90", 0, 0},      {"sm_99999999999999999999", "sm_90", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        if (tmg_arch_runs(cases[i].code, cases[i].gpu) != cases[i].runs ||
            tmg_arch_compiles(cases[i].code, cases[i].gpu) != cases[i].compiles)
            fail_msg("%s on %s", cases[i].code, cases[i].gpu);
}

int main(void) {
    use_fake("TMAGEN_LIBCUDA", "cuda.so");
    use_fake("TMAGEN_NVRTC", "no_such.so");
#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_bundle, free_bundle)
    const struct CMUnitTest tests[] = {
        TEST(test_a_kernel),
        TEST(test_a_file),
        TEST(test_a_set),
        TEST(test_the_emulator),
        TEST(test_the_best_code),
        TEST(test_threads),
        TEST(test_wrong_calls),
        TEST(test_the_list),
        TEST(test_the_same_bytes),
        TEST(test_opening_reads_the_index_alone),
        TEST(test_a_set_is_read_when_it_is_used),
        TEST(test_a_digest_is_checked_once),
        TEST(test_every_byte_counts),
        TEST(test_a_set_that_lies),
        TEST(test_lies),
        TEST(test_no_manifest),
        TEST(test_what_runs_where),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
