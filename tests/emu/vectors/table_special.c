// Special registers that say where shared memory lies and how much there is; PTX ISA 10.
// A program each, as asking for the reserved part may change it.
#include "tests/emu/vectors/vectors.h"

#define EXACTLY(text) \
    { text, {EXACT, 0}, NULL }

static const struct vector_row special_rows[] = {
    EXACTLY("mov.u32 =i, %reserved_smem_offset_<begin|end|cap|0|1>;"),
    EXACTLY("mov.u32 =i, %<total|aggr|dynamic>_smem_size;"),
    EXACTLY("mov.u32 =i, %total_smem_size; mov.u32 =i, %reserved_smem_offset_end; mov.u32 =i, sm;"),
    EXACTLY("mov.u32 =i, sm;"),
    EXACTLY("mov.u64 =l, %current_graph_exec;"),
    EXACTLY("mov.u32 =i, %<tid|ntid|ctaid|nctaid>.<x|y|z>;"),
    EXACTLY("mov.pred =p, %is_explicit_cluster;"),
};

const struct vector_table special_table = TABLE(special, 32, 2, 1, true, 0);
