// What the readers of a manifest's parts share: members of an object, and names of what stands
// earlier in the document. As in node.h, an error is kept and a harmless value returned.
#pragma once

#include "runtime/manifest.h"
#include "runtime/node.h"

int64_t tmg_member_integer(const struct tmg_node *object, const char *key, int64_t least,
                           int64_t most, int64_t fallback);
void tmg_member_name(const struct tmg_node *object, const char *key, char name[TMG_MAX_NAME]);
int tmg_member_choice(const struct tmg_node *object, const char *key, const char *const names[],
                      int fallback);

enum { TMG_MAX_THREADS = 1024, TMG_MAX_CLUSTER = 16, TMG_MAX_SHARED = 256 << 10 };

// The dim that [node] names; the tensor that the member "tensor" of [object] names.
int tmg_read_dim_name(const struct tmg_node *node, const struct tmg_manifest *manifest);
int tmg_member_tensor(const struct tmg_node *object, const struct tmg_manifest *manifest);

// The members dim, times, plus and by of [node].
struct tmg_extent tmg_read_product(const struct tmg_node *node,
                                   const struct tmg_manifest *manifest);
// An integer, a dim's name, or an object of those members.
struct tmg_extent tmg_read_extent(const struct tmg_node *node, const struct tmg_manifest *manifest);

// What [node] says of a tensor's elements, but its name: dtype, dims, stride_bytes_multiple.
void tmg_read_matrix(const struct tmg_node *node, const struct tmg_manifest *manifest,
                     struct tmg_tensor *tensor);

// The members block, cluster and shared_memory of [node].
void tmg_read_block(const struct tmg_node *node, struct tmg_manifest *manifest);

// A manifest of zeros with room for the rows that [value] has; NULL without memory.
struct tmg_manifest *tmg_manifest_room(const json_t *value);

// Grid, workspace, parameters, ops and cost of the document [root], whose dims and tensors are
// read (manifest_launch.c).
void tmg_read_launch(const struct tmg_node *root, struct tmg_manifest *manifest);
