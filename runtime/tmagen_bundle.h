/* Bundles: kernels, compiled, with their manifests and dispatch tables, in one file. Included by
 * tmagen.h. `tmagen bundle SPECS... -o kernels.tmb` makes one. */
#ifndef TMAGEN_BUNDLE_H
#define TMAGEN_BUNDLE_H

#include "tmagen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Loading from a bundle compiles nothing, and asks neither NVRTC nor the cache nor any other file.
 * A bundle may be used by any number of threads at once. What is loaded from it stays valid after
 * it is closed. */
typedef struct tmagen_bundle tmagen_bundle;

/* Maps the file [path] and checks its index by its digest. TMAGEN_ERROR_BUNDLE where it is damaged,
 * or no bundle of this version. The file may be replaced by rename() while it is open, and must not
 * be written to. */
TMAGEN_API int tmagen_bundle_open(const char *path, tmagen_bundle **bundle);

/* The same of [bytes] bytes at [data], as linked from what --object made:
 *     extern const unsigned char tmagen_bundle_kernels[];
 *     extern const size_t tmagen_bundle_kernels_bytes;
 * They are not copied: they must outlive the bundle and the sets opened from it. */
TMAGEN_API int tmagen_bundle_from_memory(const void *data, size_t bytes, tmagen_bundle **bundle);

/* Closes [bundle], which may be NULL. Sets that were opened from it keep what they need. */
TMAGEN_API void tmagen_bundle_close(tmagen_bundle *bundle);

/* Loads the kernel [name] as tmagen_kernel_load() does, in the code that is best for [device]: a
 * cubin for it, else PTX that its driver can compile; on "emu" PTX. Code and manifest are checked
 * by their digests when they are first used. TMAGEN_ERROR_MISS where the bundle has no such kernel,
 * _NO_DEVICE where it has no code for this device, _BUNDLE where what it has is damaged. */
TMAGEN_API int tmagen_bundle_load(tmagen_bundle *bundle, tmagen_device *device, const char *name,
                                  tmagen_kernel **kernel);

/* Opens the dispatch table [name] as tmagen_set_open() does, and checks its digest. What it and its
 * manifests say is read when the set is first used, which takes some 12 ms; what is wrong with that
 * is said then. A kernel is loaded from the bundle when a launch first takes it, or by
 * tmagen_set_load(). */
TMAGEN_API int tmagen_bundle_open_set(tmagen_bundle *bundle, tmagen_device *device,
                                      const char *name, tmagen_set **set);

typedef struct tmagen_bundle_entry {
    const char *name;    /* of the kernel or the table: 1 to 127 letters, digits and any of _.-+ */
    const char *what;    /* "cubin", "manifest", "ptx" or "table" */
    const char *arch;    /* "sm_90a"; "" of tables */
    const char *version; /* of the tmagen that wrote the bundle */
    const void *data;    /* a zero follows */
    uint64_t bytes;
    char sha256[TMAGEN_KEY_CHARS];
    /* Of code: the cache's key, what compiled it, and what it uses. "" of manifests and tables. */
    char key[TMAGEN_KEY_CHARS];
    const char *compiler;
    tmagen_resources resources;
} tmagen_bundle_entry;

/* Calls [visit] for each entry, by name, until it returns non-zero, which is returned. Checks no
 * digest. What an entry points to is the bundle's. */
TMAGEN_API int tmagen_bundle_list_sized(tmagen_bundle *bundle,
                                        int (*visit)(const tmagen_bundle_entry *entry,
                                                     void *context),
                                        void *context, size_t entry_size);
static inline int tmagen_bundle_list(tmagen_bundle *bundle,
                                     int (*visit)(const tmagen_bundle_entry *entry, void *context),
                                     void *context) {
    return tmagen_bundle_list_sized(bundle, visit, context, sizeof(tmagen_bundle_entry));
}

/* Checks every byte: TMAGEN_ERROR_BUNDLE names the first entry that is damaged. */
TMAGEN_API int tmagen_bundle_verify(tmagen_bundle *bundle);

#ifdef __cplusplus
}
#endif

#endif
