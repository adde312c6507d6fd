// Opens bundles and takes kernels, sets and entries out of them.
// Nothing in a file is believed: all of the index is checked when it is opened, from a copy that
// nobody else can change, and a payload by its digest before it is first used.
#include "runtime/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/arch.h"
#include "runtime/error.h"
#include "runtime/kernel.h"
#include "runtime/sized.h"

enum { CUBINS_FIRST = 1 << 24 };  // more than any rank of an architecture

struct tmagen_bundle {
    const uint8_t *data;
    size_t bytes;
    int file;      // -1: the memory is the caller's
    char *origin;  // for messages
    atomic_int holders;
    struct tmg_bundle_header header;
    struct tmg_bundle_row *rows;
    const char *texts;
    _Atomic(unsigned char) *intact;  // by rows: the digest was found right
};

static const char *const kinds[] = {[TMG_BUNDLE_CUBIN] = "cubin",
                                    [TMG_BUNDLE_MANIFEST] = "manifest",
                                    [TMG_BUNDLE_PTX] = "ptx",
                                    [TMG_BUNDLE_TABLE] = "table"};

static const char *text_of(const tmagen_bundle *bundle, uint32_t offset) {
    return bundle->texts + offset;
}

// ---- Checking the index

void tmg_bundle_digest(const struct tmg_bundle_header *header, const void *index,
                       uint8_t digest[TMG_DIGEST_BYTES]) {
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, header, offsetof(struct tmg_bundle_header, digest));
    SHA256_Update(&context, index, header->index_bytes);
    SHA256_Final(digest, &context);
}

int tmg_bundle_is_name(const char *text) {
    static const char legal[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+";
    const size_t length = strspn(text, legal);
    return length && length <= TMG_BUNDLE_NAME && !text[length] && *text != '.' && *text != '-';
}

static const char *check_header(const struct tmg_bundle_header *header, uint64_t bytes) {
    if (memcmp(header->magic, TMG_BUNDLE_MAGIC, sizeof header->magic)) return "it is no bundle";
    if (header->version != TMG_BUNDLE_VERSION) return "it is a bundle of another version";
    if (header->file_bytes != bytes)
        return header->file_bytes > bytes ? "it is truncated" : "there are bytes after its end";
    if (header->index_bytes > bytes - sizeof *header ||
        header->index_bytes / sizeof(struct tmg_bundle_row) < header->row_count)
        return "its index is larger than it is";
    return NULL;
}

static const char *check_row(const tmagen_bundle *bundle, const struct tmg_bundle_row *row,
                             uint64_t text_bytes) {
    if (row->kind < TMG_BUNDLE_CUBIN || row->kind > TMG_BUNDLE_TABLE)
        return "an entry is of no kind";
    if (row->name >= text_bytes || row->arch >= text_bytes || row->compiler >= text_bytes)
        return "an entry's text is not there";
    if (!tmg_bundle_is_name(text_of(bundle, row->name))) return "an entry has no legal name";
    const char *arch = text_of(bundle, row->arch);
    if (row->kind == TMG_BUNDLE_TABLE ? *arch : !tmg_bundle_is_name(arch))
        return "an entry has no legal architecture";
    if (strlen(text_of(bundle, row->compiler)) > TMG_BUNDLE_NAME || row->reserved[0] ||
        row->reserved[1])
        return "an entry's row is damaged";
    return NULL;
}

// By name, kind and architecture.
static int compare_rows(const tmagen_bundle *bundle, const struct tmg_bundle_row *a,
                        const struct tmg_bundle_row *b) {
    const int names = strcmp(text_of(bundle, a->name), text_of(bundle, b->name));
    if (names) return names;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return strcmp(text_of(bundle, a->arch), text_of(bundle, b->arch));
}

static const char *check_rows(const tmagen_bundle *bundle, uint64_t text_bytes) {
    const char *fault = NULL;
    uint64_t at = tmg_bundle_first(bundle->header.index_bytes);
    for (uint32_t i = 0; i < bundle->header.row_count; ++i) {
        const struct tmg_bundle_row *row = &bundle->rows[i];
        if ((fault = check_row(bundle, row, text_bytes))) return fault;
        if (i && compare_rows(bundle, row - 1, row) >= 0) return "its rows are not in order";
        if (row->offset != at || row->bytes >= bundle->bytes || at >= bundle->bytes)
            return "an entry does not lie where it must";
        at = tmg_bundle_next(at + row->bytes);
    }
    return at == bundle->bytes ? NULL : "its size is not that of its entries";
}

// Whether the copied index is what the header says of it, and all rows are sound.
static const char *check_index(tmagen_bundle *bundle) {
    const struct tmg_bundle_header *header = &bundle->header;
    const uint64_t row_bytes = header->row_count * (uint64_t)sizeof *bundle->rows;
    const uint64_t text_bytes = header->index_bytes - row_bytes;
    uint8_t digest[TMG_DIGEST_BYTES];
    tmg_bundle_digest(header, bundle->rows, digest);
    if (memcmp(digest, header->digest, sizeof digest)) return "the digest of its index is wrong";
    bundle->texts = (const char *)bundle->rows + row_bytes;
    if (!text_bytes || bundle->texts[text_bytes - 1]) return "its texts have no end";
    if (header->tool >= text_bytes || strlen(text_of(bundle, header->tool)) > TMG_BUNDLE_NAME)
        return "its header is damaged";
    return check_rows(bundle, text_bytes);
}

static int fail_bundle(const tmagen_bundle *bundle, const char *fault) {
    return tmg_fail(TMAGEN_ERROR_BUNDLE, "%s: %s", bundle->origin, fault);
}

static int read_index(tmagen_bundle *bundle) {
    struct tmg_bundle_header *header = &bundle->header;
    if (bundle->bytes < sizeof *header) return fail_bundle(bundle, "it is truncated");
    memcpy(header, bundle->data, sizeof *header);
    const char *fault = check_header(header, bundle->bytes);
    if (fault) return fail_bundle(bundle, fault);
    bundle->rows = malloc(header->index_bytes + 1);
    bundle->intact = calloc(header->row_count + 1, sizeof *bundle->intact);
    if (!bundle->rows || !bundle->intact) return tmg_fail_memory();
    memcpy(bundle->rows, bundle->data + sizeof *header, header->index_bytes);
    fault = check_index(bundle);
    return fault ? fail_bundle(bundle, fault) : TMAGEN_OK;
}

// ---- Opening and closing

static int map_file(tmagen_bundle *bundle, const char *path) {
    struct stat about;
    bundle->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (bundle->file < 0 || fstat(bundle->file, &about))
        return tmg_fail(TMAGEN_ERROR_FILE, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode)) return tmg_fail(TMAGEN_ERROR_FILE, "%s: is no plain file", path);
    if (!about.st_size) return fail_bundle(bundle, "it is truncated");
    const size_t bytes = (size_t)about.st_size;
    void *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, bundle->file, 0);
    if (data == MAP_FAILED) return tmg_fail(TMAGEN_ERROR_FILE, "%s: %s", path, strerror(errno));
    bundle->data = data;
    bundle->bytes = bytes;
    return TMAGEN_OK;
}

// [path], or else [data] of [bytes] bytes.
static int open_bundle(const char *path, const void *data, size_t bytes, tmagen_bundle **opened) {
    tmagen_bundle *bundle = calloc(1, sizeof *bundle);
    if (!bundle) return tmg_fail_memory();
    *bundle = (tmagen_bundle){.data = data, .bytes = bytes, .file = -1, .holders = 1};
    bundle->origin = strdup(path ? path : "the bundle in memory");
    int status = bundle->origin ? TMAGEN_OK : tmg_fail_memory();
    if (!status && path) status = map_file(bundle, path);
    if (!status) status = read_index(bundle);
    if (status)
        tmagen_bundle_close(bundle);
    else
        *opened = bundle;
    return status;
}

int tmagen_bundle_open(const char *path, tmagen_bundle **bundle) {
    if (!path || !*path || !bundle)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the bundle's path or the result is missing");
    return open_bundle(path, NULL, 0, bundle);
}

int tmagen_bundle_from_memory(const void *data, size_t bytes, tmagen_bundle **bundle) {
    if (!data || !bundle)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the bundle's bytes or the result are missing");
    return open_bundle(NULL, data, bytes, bundle);
}

void tmg_bundle_hold(tmagen_bundle *bundle) { atomic_fetch_add(&bundle->holders, 1); }

void tmagen_bundle_close(tmagen_bundle *bundle) {
    if (!bundle || atomic_fetch_sub(&bundle->holders, 1) > 1) return;
    if (bundle->file >= 0 && bundle->data) munmap((void *)bundle->data, bundle->bytes);
    if (bundle->file >= 0) close(bundle->file);
    free((void *)bundle->intact);
    free(bundle->rows);
    free(bundle->origin);
    free(bundle);
}

// ---- Entries

// The first row whose name is not before [name].
static uint32_t first_row(const tmagen_bundle *bundle, const char *name) {
    uint32_t low = 0, high = bundle->header.row_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (strcmp(text_of(bundle, bundle->rows[middle].name), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int is_of(const tmagen_bundle *bundle, uint32_t row, const char *name) {
    return row < bundle->header.row_count && !strcmp(text_of(bundle, bundle->rows[row].name), name);
}

// NULL where there is none.
static const struct tmg_bundle_row *find_row(const tmagen_bundle *bundle, enum tmg_bundle_kind kind,
                                             const char *name, const char *arch) {
    for (uint32_t i = first_row(bundle, name); is_of(bundle, i, name); ++i)
        if (bundle->rows[i].kind == kind && !strcmp(text_of(bundle, bundle->rows[i].arch), arch))
            return &bundle->rows[i];
    return NULL;
}

// A file that was cut short since would kill the process at the first look behind its end.
static int check_whole(const tmagen_bundle *bundle) {
    struct stat about;
    if (bundle->file < 0) return TMAGEN_OK;
    if (fstat(bundle->file, &about) || (uint64_t)about.st_size < bundle->bytes)
        return fail_bundle(bundle, "it was cut short after it was opened");
    return TMAGEN_OK;
}

static const char *check_payload(const tmagen_bundle *bundle, const struct tmg_bundle_row *row) {
    const uint8_t *data = bundle->data + row->offset;
    uint8_t digest[TMG_DIGEST_BYTES];
    tmg_digest(data, row->bytes, digest);
    if (memcmp(digest, row->digest, sizeof digest)) return "its digest is wrong";
    const uint64_t end = tmg_bundle_next(row->offset + row->bytes) - row->offset;
    for (uint64_t i = row->bytes; i < end; ++i)
        if (data[i]) return "there are bytes behind its end";
    return NULL;
}

static int fail_entry(const tmagen_bundle *bundle, const struct tmg_bundle_row *row,
                      const char *fault) {
    return tmg_fail(TMAGEN_ERROR_BUNDLE, "%s: the %s of %s: %s", bundle->origin, kinds[row->kind],
                    text_of(bundle, row->name), fault);
}

// What [row] holds, once its digest was found right.
static int get_payload(tmagen_bundle *bundle, const struct tmg_bundle_row *row, const char **data) {
    _Atomic(unsigned char) *intact = &bundle->intact[row - bundle->rows];
    const int status = check_whole(bundle);
    if (status) return status;
    if (!atomic_load_explicit(intact, memory_order_acquire)) {
        const char *fault = check_payload(bundle, row);
        if (fault) return fail_entry(bundle, row, fault);
        atomic_store_explicit(intact, 1, memory_order_release);
    }
    *data = (const char *)bundle->data + row->offset;
    return TMAGEN_OK;
}

// ---- The code for a device

// How well [device] is served by [row]: 0: not at all. Code made for it goes before PTX, which the
// driver compiles; of either what is for the latest architecture.
static int rank_code(const tmagen_bundle *bundle, const struct tmg_bundle_row *row,
                     const tmagen_device *device) {
    const char *arch = text_of(bundle, row->arch), *has = device->info.arch;
    const int rank = tmg_arch_rank(arch), ptx = row->kind == TMG_BUNDLE_PTX;
    if (device->backend->kind == TMAGEN_PTX) return ptx ? 1 + tmg_arch_runs(arch, has) : 0;
    if (row->kind == TMG_BUNDLE_CUBIN) return tmg_arch_runs(arch, has) ? CUBINS_FIRST + rank : 0;
    return ptx && tmg_arch_compiles(arch, has) ? rank : 0;
}

static int fail_device(const tmagen_bundle *bundle, const char *name, const tmagen_device *device) {
    char list[256] = "";
    size_t length = 0;
    for (uint32_t i = first_row(bundle, name); is_of(bundle, i, name); ++i)
        if (bundle->rows[i].kind != TMG_BUNDLE_MANIFEST && length < sizeof list)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%s of %s",
                                       length ? ", " : "", kinds[bundle->rows[i].kind],
                                       text_of(bundle, bundle->rows[i].arch));
    return tmg_fail(TMAGEN_ERROR_NO_DEVICE, "%s: %s is there as %s; this device, %s, needs %s %s",
                    bundle->origin, name, list, device->info.name,
                    device->backend->kind == TMAGEN_PTX ? "the ptx that --ptx adds, of"
                                                        : "a cubin of",
                    device->info.arch);
}

// The code of [name] that [device] takes, and its manifest.
static int find_kernel(const tmagen_bundle *bundle, const tmagen_device *device, const char *name,
                       const struct tmg_bundle_row **code, const struct tmg_bundle_row **manifest) {
    int best = 0, there = 0;
    for (uint32_t i = first_row(bundle, name); is_of(bundle, i, name); ++i) {
        const struct tmg_bundle_row *row = &bundle->rows[i];
        const int rank = rank_code(bundle, row, device);
        if (rank > best) *code = row, best = rank;
        there |= row->kind == TMG_BUNDLE_CUBIN || row->kind == TMG_BUNDLE_PTX;
    }
    if (!there)
        return tmg_fail(TMAGEN_ERROR_MISS, "%s: has no kernel '%.127s'", bundle->origin, name);
    if (!best) return fail_device(bundle, name, device);
    *manifest = find_row(bundle, TMG_BUNDLE_MANIFEST, name, text_of(bundle, (*code)->arch));
    return *manifest ? TMAGEN_OK : fail_entry(bundle, *code, "there is no manifest for it");
}

int tmg_bundle_manifest(tmagen_bundle *bundle, const tmagen_device *device, const char *name,
                        const char **text, size_t *bytes) {
    const struct tmg_bundle_row *code, *manifest;
    int status = find_kernel(bundle, device, name, &code, &manifest);
    if (!status) status = get_payload(bundle, manifest, text);
    if (!status) *bytes = manifest->bytes;
    return status;
}

int tmg_bundle_table(tmagen_bundle *bundle, const char *name, const char **text, size_t *bytes) {
    const struct tmg_bundle_row *row = find_row(bundle, TMG_BUNDLE_TABLE, name, "");
    if (!row) return tmg_fail(TMAGEN_ERROR_MISS, "%s: has no table '%.127s'", bundle->origin, name);
    *bytes = row->bytes;
    return get_payload(bundle, row, text);
}

static void describe_code(const tmagen_bundle *bundle, const struct tmg_bundle_row *row,
                          tmagen_code *code) {
    code->bytes = row->bytes;
    code->resources = row->resources;
    code->hit = 1;
    tmg_hex(row->key, sizeof row->key, code->key);
    snprintf(code->compiler, sizeof code->compiler, "%s", text_of(bundle, row->compiler));
}

int tmagen_bundle_load(tmagen_bundle *bundle, tmagen_device *device, const char *name,
                       tmagen_kernel **kernel) {
    const struct tmg_bundle_row *code, *manifest;
    tmagen_code made = {.log = ""};
    tmagen_load_options options = {.code = &made};
    const char *data = NULL;
    if (!bundle || !device || !name || !*name || !kernel)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT,
                        "the bundle, the device, the kernel's name or the result is missing");
    int status = tmg_device_check(device);
    if (!status) status = find_kernel(bundle, device, name, &code, &manifest);
    if (!status) status = get_payload(bundle, manifest, &options.manifest_text);
    if (!status) status = get_payload(bundle, code, &data);
    if (status) return status;
    options.manifest_bytes = manifest->bytes;
    made.data = data;
    describe_code(bundle, code, &made);
    return tmagen_kernel_load(device, name, &options, kernel);
}

// ---- Looking through

int tmagen_bundle_verify(tmagen_bundle *bundle) {
    if (!bundle) return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the bundle is missing");
    int status = check_whole(bundle);
    const uint64_t end = sizeof bundle->header + bundle->header.index_bytes;
    for (uint64_t i = end; i < tmg_bundle_first(bundle->header.index_bytes) && !status; ++i)
        if (bundle->data[i]) status = fail_bundle(bundle, "there are bytes behind its index");
    for (uint32_t i = 0; i < bundle->header.row_count && !status; ++i) {
        const char *fault = check_payload(bundle, &bundle->rows[i]);
        if (fault) status = fail_entry(bundle, &bundle->rows[i], fault);
    }
    return status;
}

static void describe_entry(const tmagen_bundle *bundle, const struct tmg_bundle_row *row,
                           tmagen_bundle_entry *entry) {
    *entry = (tmagen_bundle_entry){.name = text_of(bundle, row->name),
                                   .what = kinds[row->kind],
                                   .arch = text_of(bundle, row->arch),
                                   .compiler = text_of(bundle, row->compiler),
                                   .version = text_of(bundle, bundle->header.tool),
                                   .resources = row->resources,
                                   .bytes = row->bytes,
                                   .data = bundle->data + row->offset};
    tmg_hex(row->digest, sizeof row->digest, entry->sha256);
    if (*entry->compiler) tmg_hex(row->key, sizeof row->key, entry->key);
}

int tmagen_bundle_list_sized(tmagen_bundle *bundle,
                             int (*visit)(const tmagen_bundle_entry *entry, void *context),
                             void *context, size_t entry_size) {
    tmagen_bundle_entry entry;
    if (!bundle || !visit)
        return tmg_fail(TMAGEN_ERROR_ARGUMENT, "the bundle or the visitor is missing");
    int status = tmg_check_size("tmagen_bundle_entry", entry_size, sizeof entry);
    tmagen_bundle_entry *room = status ? NULL : malloc(entry_size);
    if (!status && !room) status = tmg_fail_memory();
    for (uint32_t i = 0; i < bundle->header.row_count && !status; ++i) {
        describe_entry(bundle, &bundle->rows[i], &entry);
        status = tmg_give_struct("tmagen_bundle_entry", &entry, sizeof entry, room, entry_size,
                                 sizeof entry);
        if (!status) status = visit(room, context);
    }
    free(room);
    return status;
}
