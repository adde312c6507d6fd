/* A part of libtmagen's interface, which tmagen.h includes: what a kernel takes. */
#ifndef TMAGEN_SIGNATURE_H
#define TMAGEN_SIGNATURE_H

#include "tmagen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The signature of a kernel, or of a set, whose kernels have one in common: what a binding needs to
 * check arguments, make outputs and show help, without reading manifests. It and all texts that it
 * gives live as long as the kernel or set that it is of. NULL for NULL, and for a set from a bundle
 * whose table cannot be read; tmagen_error_last() says why. */
typedef struct tmagen_signature tmagen_signature;

TMAGEN_API const tmagen_signature *tmagen_kernel_signature(const tmagen_kernel *kernel);
TMAGEN_API const tmagen_signature *tmagen_set_signature(const tmagen_set *set);

typedef struct tmagen_signature_info {
    const char *name, *family, *arch; /* "gemm_256x128", "gemm", "sm_90a" */
    const char *source_sha256;        /* "" where the manifest has none */
    unsigned dim_count, tensor_count, scalar_count, op_count, role_count;
    int splits, max_splits; /* of a tile's work: where a launch does not say, and at most */
    int dependent_launch;   /* 1: TMAGEN_LAUNCH_OVERLAP is legal */
    int varies_with_sms;    /* 1: the bits of the results depend on the launch's sms, */
    int varies_with_splits; /* or splits */
} tmagen_signature_info;

/* A size: (plus + times * the [dim]th dim) / by, rounded up; plus alone where dim is -1. */
typedef struct tmagen_extent {
    int dim;
    int32_t times, plus, by;
} tmagen_extent;

typedef struct tmagen_dim_info {
    const char *name;
    int64_t value;       /* that it always has; -1: any that is legal */
    int64_t multiple_of; /* 1: any */
    int64_t most;
    int derived; /* 1: it is [rule], of a dim before it, and need not be given */
    tmagen_extent rule;
} tmagen_dim_info;

typedef struct tmagen_tensor_info {
    const char *name;
    const char *dtype;  /* "bf16", "fp16", "fp32", "e4m3", "i32", ...: runtime/README.md has all */
    const char *layout; /* "rows": outermost dim first, elements of the last beside each other */
    int bits;           /* of an element */
    int rank;
    tmagen_extent dims[TMAGEN_MAX_RANK]; /* outermost first */
    int reads, writes;                   /* what the kernel does with it: 0 or 1 each */
    int64_t alignment;                   /* of the address, in bytes */
    int64_t stride_bytes_multiple;       /* of every stride but the last, in bytes */
    int takes_gaps;                      /* 0: strides must be those of a tensor without gaps */
} tmagen_tensor_info;

typedef struct tmagen_scalar_info {
    const char *name, *type; /* i32 u32 i64 u64 f32 f64 */
    int has_default;
    double value; /* the default */
} tmagen_scalar_info;

/* A step of the epilogue, in their order. */
typedef struct tmagen_op_info {
    const char *name;
    unsigned tensor_count, scalar_count;
    const char *tensors[4], *scalars[4];
} tmagen_op_info;

/* What some of a block's warps do; none of a set's. */
typedef struct tmagen_role_info {
    const char *name;
    int first_warp, warps;
} tmagen_role_info;

TMAGEN_API int tmagen_signature_get_info_sized(const tmagen_signature *signature,
                                               tmagen_signature_info *info, size_t info_size);
static inline int tmagen_signature_get_info(const tmagen_signature *signature,
                                            tmagen_signature_info *info) {
    return tmagen_signature_get_info_sized(signature, info, sizeof *info);
}

/* The [index]th, from 0, of as many as tmagen_signature_info counts. */
TMAGEN_API int tmagen_signature_get_dim_sized(const tmagen_signature *signature, unsigned index,
                                              tmagen_dim_info *info, size_t info_size);
static inline int tmagen_signature_get_dim(const tmagen_signature *signature, unsigned index,
                                           tmagen_dim_info *info) {
    return tmagen_signature_get_dim_sized(signature, index, info, sizeof *info);
}
TMAGEN_API int tmagen_signature_get_tensor_sized(const tmagen_signature *signature, unsigned index,
                                                 tmagen_tensor_info *info, size_t info_size);
static inline int tmagen_signature_get_tensor(const tmagen_signature *signature, unsigned index,
                                              tmagen_tensor_info *info) {
    return tmagen_signature_get_tensor_sized(signature, index, info, sizeof *info);
}
TMAGEN_API int tmagen_signature_get_scalar_sized(const tmagen_signature *signature, unsigned index,
                                                 tmagen_scalar_info *info, size_t info_size);
static inline int tmagen_signature_get_scalar(const tmagen_signature *signature, unsigned index,
                                              tmagen_scalar_info *info) {
    return tmagen_signature_get_scalar_sized(signature, index, info, sizeof *info);
}
TMAGEN_API int tmagen_signature_get_op_sized(const tmagen_signature *signature, unsigned index,
                                             tmagen_op_info *info, size_t info_size);
static inline int tmagen_signature_get_op(const tmagen_signature *signature, unsigned index,
                                          tmagen_op_info *info) {
    return tmagen_signature_get_op_sized(signature, index, info, sizeof *info);
}
TMAGEN_API int tmagen_signature_get_role_sized(const tmagen_signature *signature, unsigned index,
                                               tmagen_role_info *info, size_t info_size);
static inline int tmagen_signature_get_role(const tmagen_signature *signature, unsigned index,
                                            tmagen_role_info *info) {
    return tmagen_signature_get_role_sized(signature, index, info, sizeof *info);
}

/* The tensors of [launch] with all that follows from it, in the signature's order, the first [room]
 * of them: dims, strides, dtype and layout. Those that it does not name or whose address is 0 are
 * of the sizes that follow from the rest, without gaps: as they are to be allocated. Fails as a
 * launch would. */
TMAGEN_API int tmagen_signature_resolve_sized(const tmagen_signature *signature,
                                              const tmagen_launch *launch, uint64_t sizes,
                                              tmagen_tensor *tensors, size_t room);
static inline int tmagen_signature_resolve(const tmagen_signature *signature,
                                           const tmagen_launch *launch, tmagen_tensor *tensors,
                                           size_t room) {
    return tmagen_signature_resolve_sized(signature, launch, TMAGEN_LAUNCH_SIZES, tensors, room);
}

#ifdef __cplusplus
}
#endif

#endif
