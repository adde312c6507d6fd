/* libtmagen: load and launch the kernels that tmagen generates. This is its interface, and so are
 * tmagen_signature.h (what a kernel takes) and tmagen_cache.h (the cache's care), included here.
 * It needs no CUDA header: driver and compiler are found at run time. Errors are values. */
#ifndef TMAGEN_H
#define TMAGEN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TMAGEN_API __attribute__((visibility("default")))
#else
#define TMAGEN_API
#endif

/* The library's version, as "0.1.0". */
TMAGEN_API const char *tmagen_version(void);

enum {
    TMAGEN_MAX_RANK = 5,  /* dimensions of a tensor; the limit of the hardware's tensor maps */
    TMAGEN_KEY_CHARS = 65 /* a key in hexadecimal and its zero */
};

/* ---- Structs that grow ----
 * Every struct that a caller fills or has filled may get members at its end, and caller and library
 * may be of different versions. So the functions that take one are told its size by the caller:
 * those named here pass sizeof to one that ends in _sized, which is what is exported, and what
 * other languages call. A library newer than the caller sees zeros where the caller has nothing,
 * and writes no further than the caller has room; an older one refuses members that it does not
 * know unless they are zero. tmagen_resources and tmagen_extent, which stand inside others, do not
 * grow. */

/* ---- Threads, and forks ----
 * Every function may be called from any thread, at the same time as any other and as itself, on the
 * same handles too, but for these:
 * - tmagen_device_close(), tmagen_kernel_unload(), tmagen_set_close(), tmagen_bundle_close(),
 *   tmagen_code_free(): no other call has their handle then or later. What else is on the device
 *   does not matter: kernels are unloaded while others are loaded and launched. A kernel's launches
 *   must be over.
 * - tmagen_device_reports(): no launch on its device, as long as the text is read.
 * - tmagen_error_last(), tmagen_warning_last(): of the calling thread, as long as it calls nothing.
 * - all read the environment: nobody may change it meanwhile.
 * Launches on one "emu" run one after the other. tmagen_device_cancel() alone may be called from
 * signal handlers. After a fork the child opens devices of its own: what was opened before is
 * refused with TMAGEN_ERROR_DEVICE, and can only be closed; CUDA serves no child of a process that
 * had opened "cuda", whose driver does not live through a fork. */

/* ---- Errors ----
 * Every function that can fail returns TMAGEN_OK or one of the negative codes below and leaves the
 * sentence in the thread's tmagen_error_last(). Out-parameters are untouched on failure. */
enum {
    TMAGEN_OK = 0,
    TMAGEN_ERROR_ARGUMENT = -1,    /* the caller's argument breaks a rule that the message names */
    TMAGEN_ERROR_MEMORY = -2,      /* host or device memory is exhausted */
    TMAGEN_ERROR_NO_DRIVER = -3,   /* no CUDA driver, or one that is too old */
    TMAGEN_ERROR_NO_DEVICE = -4,   /* no such device, or one of another architecture */
    TMAGEN_ERROR_NO_COMPILER = -5, /* NVRTC is needed and was not found */
    TMAGEN_ERROR_COMPILE = -6,     /* NVRTC refused the source; the message holds its log */
    TMAGEN_ERROR_MISS = -7,        /* not in the cache, and compiling was forbidden */
    TMAGEN_ERROR_MANIFEST = -8,    /* the manifest is not one that this library can trust */
    TMAGEN_ERROR_FILE = -9,        /* a file could not be read or written */
    TMAGEN_ERROR_DEVICE = -10,     /* the driver or the emulator reported a failure */
    TMAGEN_ERROR_BUNDLE = -11      /* the bundle is damaged, or of another version */
};

/* The message of this thread's latest failed call; "" when none failed. Valid until the next call
 * of the library in this thread. */
TMAGEN_API const char *tmagen_error_last(void);

/* A short name of [code], as "no compiler". Never NULL. */
TMAGEN_API const char *tmagen_error_name(int code);

/* What went less than well in this thread's latest load or compile although it succeeded (a cache
 * directory that cannot be written, say); "" when nothing did. The library never prints: callers
 * do. */
TMAGEN_API const char *tmagen_warning_last(void);

/* ---- Devices ---- */
typedef struct tmagen_device tmagen_device;
typedef uint64_t tmagen_address; /* an address in a device's memory */

typedef struct tmagen_device_info {
    const char *backend; /* "cuda" or "emu"; static */
    char name[128];      /* "NVIDIA H200" */
    char arch[16];       /* "sm_90" */
    int sms;             /* streaming multiprocessors */
    int clock_khz;       /* highest SM clock */
    int memory_clock_khz, memory_bus_bits;
    int shared_memory_per_block; /* bytes, with opt-in */
    int shared_memory_per_sm;
    int driver_version; /* 13000 for 13.0; 0 where there is no driver */
    int64_t l2_bytes;
    int64_t memory_bytes;
} tmagen_device_info;

/* Opens [name]: "cuda" or "cuda:N" (the driver's device N), or "emu" (kernels run on this CPU and
 * are checked). On "cuda" the device's primary context is retained, which any other CUDA user of
 * the process shares. On "emu:N" the first launch's warps and copies are ordered by seed N, the
 * next one's by N + 1 and so on; "emu" is "emu:0". */
TMAGEN_API int tmagen_device_open(const char *name, tmagen_device **device);

/* Closes [device], which may be NULL. Kernels and sets not closed by then are refused from then
 * on, and can only be closed. */
TMAGEN_API void tmagen_device_close(tmagen_device *device);

TMAGEN_API int tmagen_device_get_info_sized(const tmagen_device *device, tmagen_device_info *info,
                                            size_t info_size);
static inline int tmagen_device_get_info(const tmagen_device *device, tmagen_device_info *info) {
    return tmagen_device_get_info_sized(device, info, sizeof *info);
}

/* Blocks until all work of the device's context is done; reports failures of earlier launches. */
TMAGEN_API int tmagen_device_synchronize(tmagen_device *device);

/* What the emulator found in its latest launch: reports of several lines, each ended by an empty
 * one. "" when it found nothing, and always on other devices or NULL. The launch failed if this is
 * not empty; its message is the beginning of this. Valid until the device's next launch. */
TMAGEN_API const char *tmagen_device_reports(tmagen_device *device);

/* What a launch on "emu" may take. Where that does not suffice it ends with a report of what each
 * warp was doing. 0 is a generous default of each. */
typedef struct tmagen_budget {
    uint64_t steps;        /* instructions of a warp, of the whole grid: 10 billion */
    double seconds;        /* on the clock: 1200 */
    uint64_t memory_bytes; /* registers, local and shared memory of what runs at once: 4 GB */
    uint64_t output_bytes; /* that the kernel prints: 64 MB */
} tmagen_budget;

/* Of the launches from now on; on other devices it changes nothing. */
TMAGEN_API int tmagen_device_set_budget_sized(tmagen_device *device, const tmagen_budget *budget,
                                              size_t budget_size);
static inline int tmagen_device_set_budget(tmagen_device *device, const tmagen_budget *budget) {
    return tmagen_device_set_budget_sized(device, budget, sizeof *budget);
}

/* Ends the launch that runs on "emu", or the next one, as if its budget were spent; from another
 * thread or a signal handler. Nothing on other devices. */
TMAGEN_API void tmagen_device_cancel(tmagen_device *device);

/* Device memory, for programs that have no allocator of their own. Copies and fills are done when
 * they return, but do not wait for launches on streams. [bytes] may be 0: then nothing is
 * allocated, and *address is 0. */
TMAGEN_API int tmagen_memory_alloc(tmagen_device *device, size_t bytes, tmagen_address *address);
TMAGEN_API void tmagen_memory_free(tmagen_device *device, tmagen_address address);
TMAGEN_API int tmagen_memory_upload(tmagen_device *device, tmagen_address to, const void *from,
                                    size_t bytes);
TMAGEN_API int tmagen_memory_download(tmagen_device *device, void *to, tmagen_address from,
                                      size_t bytes);
TMAGEN_API int tmagen_memory_fill(tmagen_device *device, tmagen_address to, uint8_t byte,
                                  size_t bytes);

/* ---- Compiling, through the cache ---- */
typedef enum tmagen_mode {
    TMAGEN_COMPILE_ON_MISS = 0,
    TMAGEN_FAIL_ON_MISS = 1, /* for production: TMAGEN_ERROR_MISS instead of a compile */
    TMAGEN_NO_CACHE = 2      /* compile always, neither read nor write the cache */
} tmagen_mode;

typedef enum tmagen_kind {
    TMAGEN_CUBIN = 0, /* machine code, for the driver */
    TMAGEN_PTX = 1,   /* text, for the emulator and for reading */
    /* the cubin, and in the cache its PTX as well, which the same compile gives */
    TMAGEN_CUBIN_AND_PTX = 2
} tmagen_kind;

typedef struct tmagen_compile_options {
    tmagen_kind kind;
    tmagen_mode mode;
    const char *arch; /* "sm_90a" */
    const char *name; /* the source's file name in messages and line information; no folder */
    /* NULL: $TMAGEN_CACHE, else $XDG_CACHE_HOME/tmagen, else ~/.cache/tmagen */
    const char *cache_dir;
} tmagen_compile_options;

/* What the compiler said of a kernel. -1 where it did not say. */
typedef struct tmagen_resources {
    int registers;   /* per thread */
    int stack_bytes; /* local memory per thread, spills included */
    int spill_store_bytes, spill_load_bytes;
    int shared_bytes; /* static shared memory */
    int barriers;     /* named barriers used */
} tmagen_resources;

typedef struct tmagen_code {
    const void *data; /* cubin, or PTX text; PTX ends in a zero that is not counted */
    size_t bytes;
    tmagen_resources resources; /* of the source's largest entry */
    const char *log;            /* the compiler's warnings, a line each; "" for none */
    char key[TMAGEN_KEY_CHARS];
    char compiler[64]; /* "nvrtc 13.0 65be0db342ad" */
    int hit;           /* 1: from the cache */
    double compile_ms; /* what the compile took, whenever it was done */
    double elapsed_ms; /* what this call took */
    void *owner;       /* private: what data and log point into */
} tmagen_code;

/* Compiles [source] ([bytes] long), or takes the result from the cache. Needs no device, and on a
 * hit no NVRTC: where none is installed, or compiling is forbidden, an entry made by any NVRTC for
 * this source serves if there is none by the installed one.
 * tmagen_code_free() gives back what [code] holds, which may be NULL. */
TMAGEN_API int tmagen_compile_sized(const char *source, size_t bytes,
                                    const tmagen_compile_options *options, size_t options_size,
                                    tmagen_code *code, size_t code_size);
static inline int tmagen_compile(const char *source, size_t bytes,
                                 const tmagen_compile_options *options, tmagen_code *code) {
    return tmagen_compile_sized(source, bytes, options, sizeof *options, code, sizeof *code);
}
TMAGEN_API void tmagen_code_free_sized(tmagen_code *code, size_t code_size);
static inline void tmagen_code_free(tmagen_code *code) {
    tmagen_code_free_sized(code, sizeof *code);
}

/* Where NVRTC was found and which it is: [text] gets one line. Fails with the list of places. */
TMAGEN_API int tmagen_compiler_describe(char *text, size_t size);

/* ---- Kernels ---- */
typedef struct tmagen_kernel tmagen_kernel;

/* Where a line of a generated source comes from; [file] is NULL where it comes from nowhere. */
typedef struct tmagen_source_line {
    const char *file;
    int line;
} tmagen_source_line;

typedef struct tmagen_load_options {
    tmagen_mode mode;
    const char *directory; /* where names are looked up; NULL: $TMAGEN_KERNELS, else "out" */
    const char *cache_dir; /* as in tmagen_compile_options */
    /* Not NULL: manifest and source themselves; the name is then only for messages. Nothing is kept
     * of them. */
    const char *manifest_text;
    const char *source_text;
    /* NULL, or where each line of the source comes from, for the emulator's reports. The files'
     * names are not copied: they must outlive the kernel. */
    const tmagen_source_line *lines;
    size_t line_count;
    /* The texts' lengths; 0: they end in a zero. */
    size_t manifest_bytes, source_bytes;
    /* Not NULL, beside manifest_text: what the source was compiled to, as by tmagen_compile(). It
     * is taken as it is: no source is needed, neither cache nor compiler is asked. A cubin or, for
     * "emu" and for the driver's own compiler, PTX; either is copied. Of its members only data and
     * bytes are needed; key, compiler and resources are shown by tmagen_kernel_get_info(). */
    const tmagen_code *code;
} tmagen_load_options;

/* The sizes of the options, of the items of their list and of their code, 16 bits each. */
#define TMAGEN_LOAD_SIZES                                                                 \
    ((uint64_t)sizeof(tmagen_load_options) | (uint64_t)sizeof(tmagen_source_line) << 16 | \
     (uint64_t)sizeof(tmagen_code) << 32)

/* Loads the kernel [name]: a path that ends in ".json", or a name that is looked up as
 * DIRECTORY/NAME.json. [options] may be NULL. The kernel belongs to the caller, and [device] must
 * outlive it. */
TMAGEN_API int tmagen_kernel_load_sized(tmagen_device *device, const char *name,
                                        const tmagen_load_options *options, uint64_t sizes,
                                        tmagen_kernel **kernel);
static inline int tmagen_kernel_load(tmagen_device *device, const char *name,
                                     const tmagen_load_options *options, tmagen_kernel **kernel) {
    return tmagen_kernel_load_sized(device, name, options, TMAGEN_LOAD_SIZES, kernel);
}
TMAGEN_API void tmagen_kernel_unload(tmagen_kernel *kernel);

typedef struct tmagen_kernel_info {
    const char *name; /* lives as long as the kernel */
    tmagen_resources resources;
    int block_threads, cluster_blocks;
    int dynamic_shared_bytes;
    int blocks_per_sm; /* resident at once; 0 where the device cannot say */
    char key[TMAGEN_KEY_CHARS];
    char compiler[64];
    int hit;
    double compile_ms; /* 0 on a hit */
    double load_ms;    /* manifest, key and cache, without compile and without the driver */
    double module_ms;  /* the driver's own module load */
} tmagen_kernel_info;

TMAGEN_API int tmagen_kernel_get_info_sized(const tmagen_kernel *kernel, tmagen_kernel_info *info,
                                            size_t info_size);
static inline int tmagen_kernel_get_info(const tmagen_kernel *kernel, tmagen_kernel_info *info) {
    return tmagen_kernel_get_info_sized(kernel, info, sizeof *info);
}

/* ---- Launching ---- */
typedef struct tmagen_tensor {
    const char *name;                 /* as in the manifest */
    tmagen_address data;              /* may be 0 only when the tensor has no element */
    int rank;                         /* 0: the manifest's dims, from the launch's [dims] */
    int64_t dims[TMAGEN_MAX_RANK];    /* outermost first */
    int64_t strides[TMAGEN_MAX_RANK]; /* in elements; all 0: contiguous. The last must be 1 */
    /* NULL, or what the caller takes the elements and their order for, by the names that
     * tmagen_tensor_info has: then a launch checks that they are the kernel's. */
    const char *dtype, *layout;
} tmagen_tensor;

typedef struct tmagen_dim {
    const char *name;
    int64_t value; /* 0 is legal, and then the launch does nothing, successfully */
} tmagen_dim;

typedef struct tmagen_scalar {
    const char *name;
    double value;
} tmagen_scalar;

enum {
    TMAGEN_LAUNCH_OVERLAP = 1 /* may start while the stream's previous kernel drains (programmatic
                                 dependent launch); only for kernels that wait by griddepcontrol,
                                 as their manifest says (dependent_launch) */
};

/* Every dynamic dim of the manifest must follow from a tensor's dims or be named in [dims]. */
typedef struct tmagen_launch {
    const tmagen_tensor *tensors;
    size_t tensor_count;
    const tmagen_dim *dims;
    size_t dim_count;
    const tmagen_scalar *scalars; /* those not named take the manifest's default */
    size_t scalar_count;
    tmagen_address workspace;
    size_t workspace_bytes;
    unsigned flags; /* TMAGEN_LAUNCH_* */
    /* How many SMs a persistent kernel's blocks are for; 0: all of the device. Where the bits of
     * the results depend on it (the manifest says so), the same number gives the same bits. */
    int sms;
    int splits; /* of a tile's work, where the kernel can split it; 0: the manifest's default */
} tmagen_launch;

/* The sizes of a launch and of the items of its lists, 16 bits each, for the _sized functions. */
#define TMAGEN_LAUNCH_SIZES                                                    \
    ((uint64_t)sizeof(tmagen_launch) | (uint64_t)sizeof(tmagen_tensor) << 16 | \
     (uint64_t)sizeof(tmagen_dim) << 32 | (uint64_t)sizeof(tmagen_scalar) << 48)

/* Launches [kernel] on [stream] (a CUstream or cudaStream_t; NULL: the default stream), with
 * tensors by name. Safe from any thread; capturable in a CUDA graph. The first launch with given
 * addresses and shapes checks them and encodes the tensor maps; later ones neither allocate nor
 * lock. */
TMAGEN_API int tmagen_kernel_launch_sized(tmagen_kernel *kernel, void *stream,
                                          const tmagen_launch *launch, uint64_t sizes);
static inline int tmagen_kernel_launch(tmagen_kernel *kernel, void *stream,
                                       const tmagen_launch *launch) {
    return tmagen_kernel_launch_sized(kernel, stream, launch, TMAGEN_LAUNCH_SIZES);
}

/* The bytes of workspace that [launch] needs, whose own workspace is ignored. Mostly 0. One
 * workspace, the largest of all shapes', serves all launches of a stream: it belongs to one kernel
 * and one stream, and whoever else writes to it clears it. */
TMAGEN_API int tmagen_kernel_workspace_sized(tmagen_kernel *kernel, const tmagen_launch *launch,
                                             uint64_t sizes, size_t *bytes);
static inline int tmagen_kernel_workspace(tmagen_kernel *kernel, const tmagen_launch *launch,
                                          size_t *bytes) {
    return tmagen_kernel_workspace_sized(kernel, launch, TMAGEN_LAUNCH_SIZES, bytes);
}

/* What [launch], which must be over, found out on the device: TMAGEN_ERROR_ARGUMENT where sizes in
 * its tensors, as those of groups, cannot be, with the first of them; then it has computed nothing.
 * TMAGEN_OK else, and for kernels that have no such word. */
TMAGEN_API int tmagen_kernel_status_sized(tmagen_kernel *kernel, const tmagen_launch *launch,
                                          uint64_t sizes);
static inline int tmagen_kernel_status(tmagen_kernel *kernel, const tmagen_launch *launch) {
    return tmagen_kernel_status_sized(kernel, launch, TMAGEN_LAUNCH_SIZES);
}

/* ---- Sets: the best kernel for each shape ----
 * A set is a dispatch table (`tmagen gen TABLE.yaml` makes OUT/TABLE.json) and its kernels, which
 * are launched alike. What a launch is given follows from its shape, strides, alignment and
 * workspace: the table's tuned entry, else what the model of the kernels' time says. */
typedef struct tmagen_set tmagen_set;

enum {
    TMAGEN_SET_COMPILE = 1 /* a launch may compile a kernel that the cache does not have; else it
                              takes the best of those that are there */
};

typedef struct tmagen_set_kernel { /* a kernel whose texts are in memory */
    const char *name;
    const char *manifest_text, *source_text;
    const tmagen_source_line *lines; /* as in tmagen_load_options, and so are those below */
    size_t line_count;
    size_t manifest_bytes, source_bytes;
    const tmagen_code *code; /* then source_text may be NULL */
} tmagen_set_kernel;

typedef struct tmagen_set_options {
    unsigned flags;        /* TMAGEN_SET_* */
    const char *directory; /* of the table and its kernels; NULL: $TMAGEN_KERNELS, else "out" */
    const char *cache_dir; /* as in tmagen_compile_options */
    /* Not NULL: the table itself, and its kernels below; the name is then only for messages. They
     * must outlive the set. */
    const char *table_text;
    const tmagen_set_kernel *kernels;
    size_t kernel_count;
} tmagen_set_options;

#define TMAGEN_SET_SIZES                                                                \
    ((uint64_t)sizeof(tmagen_set_options) | (uint64_t)sizeof(tmagen_set_kernel) << 16 | \
     (uint64_t)sizeof(tmagen_code) << 32)

/* Opens the table [name]: a path that ends in ".json", beside which its kernels lie, or a name that
 * is looked up as DIRECTORY/NAME.json. [options] may be NULL. Reads all manifests and no kernel:
 * each is loaded when a launch first takes it. tmagen_warning_last() says where the table was made
 * for another GPU or by another tmagen; it serves all the same. [device] must outlive the set.
 * $TMAGEN_PICK, "KERNEL" or "KERNEL/SPLITS", is what all launches take, for experiments. */
TMAGEN_API int tmagen_set_open_sized(tmagen_device *device, const char *name,
                                     const tmagen_set_options *options, uint64_t sizes,
                                     tmagen_set **set);
static inline int tmagen_set_open(tmagen_device *device, const char *name,
                                  const tmagen_set_options *options, tmagen_set **set) {
    return tmagen_set_open_sized(device, name, options, TMAGEN_SET_SIZES, set);
}
TMAGEN_API void tmagen_set_close(tmagen_set *set);

/* Loads [kernel], or all of them (NULL), and compiles what the cache does not have: before the
 * first launch, not on its way. Fails with the first that cannot be had; the others are loaded. */
TMAGEN_API int tmagen_set_load(tmagen_set *set, const char *kernel);

/* Launches the kernel that is best for [launch], as tmagen_kernel_launch(). Where [launch] has no
 * workspace, or too little, kernels that need more are not taken. TMAGEN_ERROR_ARGUMENT where
 * nothing serves it: the message has each kernel's reason, and what would be served. For a shape
 * seen before, choosing neither allocates nor locks. */
TMAGEN_API int tmagen_set_launch_sized(tmagen_set *set, void *stream, const tmagen_launch *launch,
                                       uint64_t sizes);
static inline int tmagen_set_launch(tmagen_set *set, void *stream, const tmagen_launch *launch) {
    return tmagen_set_launch_sized(set, stream, launch, TMAGEN_LAUNCH_SIZES);
}

/* The bytes of workspace with which [launch] gets the best kernel, which is loaded; its own
 * workspace is ignored. One workspace, the largest of all shapes', serves all launches of a stream:
 * it belongs to one set and one stream, and whoever else writes to it clears it. */
TMAGEN_API int tmagen_set_workspace_sized(tmagen_set *set, const tmagen_launch *launch,
                                          uint64_t sizes, size_t *bytes);
static inline int tmagen_set_workspace(tmagen_set *set, const tmagen_launch *launch,
                                       size_t *bytes) {
    return tmagen_set_workspace_sized(set, launch, TMAGEN_LAUNCH_SIZES, bytes);
}

enum { /* why a choice stands where it does */
       TMAGEN_BY_MODEL = 1,
       TMAGEN_BY_TUNING = 2, /* measured for this shape */
       TMAGEN_BY_PIN = 3,
       TMAGEN_BY_ENVIRONMENT = 4 /* $TMAGEN_PICK */
};

typedef struct tmagen_choice {
    const char *kernel; /* lives as long as the set */
    int splits;
    int why;           /* TMAGEN_BY_* */
    int loaded;        /* 1: it is; 0: not yet; -1: it could not be, and is passed over */
    double us;         /* by the model; infinite for a kernel that has none */
    double tuned_us;   /* as measured for the table; 0 where it was not */
    const char *bound; /* what limits it by the model, as "DRAM"; static */
    size_t workspace_bytes;
} tmagen_choice;

/* Ranks what can run [launch] with as much workspace as is needed, the first to be taken first, and
 * writes at most [room] choices. Loads nothing. *count is 0 where a size is 0. */
TMAGEN_API int tmagen_set_rank_sized(tmagen_set *set, const tmagen_launch *launch, uint64_t sizes,
                                     tmagen_choice *choices, size_t choice_size, size_t room,
                                     size_t *count);
static inline int tmagen_set_rank(tmagen_set *set, const tmagen_launch *launch,
                                  tmagen_choice *choices, size_t room, size_t *count) {
    return tmagen_set_rank_sized(set, launch, TMAGEN_LAUNCH_SIZES, choices, sizeof *choices, room,
                                 count);
}

/* Makes launches of the sizes of [launch], or all (NULL), take [choice], "KERNEL" or
 * "KERNEL/SPLITS", and no other: where it cannot run one, that is refused. NULL lets go. */
TMAGEN_API int tmagen_set_pin_sized(tmagen_set *set, const tmagen_launch *launch, uint64_t sizes,
                                    const char *choice);
static inline int tmagen_set_pin(tmagen_set *set, const tmagen_launch *launch, const char *choice) {
    return tmagen_set_pin_sized(set, launch, TMAGEN_LAUNCH_SIZES, choice);
}

#ifdef __cplusplus
}
#endif

#include "tmagen_bundle.h"
#include "tmagen_cache.h"
#include "tmagen_signature.h"

#endif
