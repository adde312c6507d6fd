// Decoded instructions: a dense array of small structs whose operands are slots of a warp's
// registers. Constants, symbol addresses and special registers have slots too, so that every
// source reads alike.
#ifndef TMG_EMU_DECODE_H
#define TMG_EMU_DECODE_H

#include "runtime/emu/ptx/ptx.h"

enum { EMU_LANES = 32 };

struct emu_warp;
struct emu_insn;

// What an instruction tells the step loop.
enum emu_step {
    EMU_NEXT,     // done; go on behind it
    EMU_JUMPED,   // done; it has set the pc (or ended the lanes) itself
    EMU_BLOCKED,  // not done; call it again when something has changed
    EMU_YIELD     // done, but polling: let others run first
};

// Executes [insn] for the lanes of [mask].
typedef enum emu_step emu_exec(struct emu_warp *warp, const struct emu_insn *insn, uint32_t mask);

// Flags: modifiers without a value.
enum {
    F_FTZ = 1u << 0,
    F_SAT = 1u << 1,
    F_SATFINITE = 1u << 2,
    F_RELU = 1u << 3,
    F_NAN = 1u << 4,
    F_XORSIGN = 1u << 5,
    F_TRANS = 1u << 6,
    F_NOINC = 1u << 7,
    F_NOCOMPLETE = 1u << 8,
    F_PARITY = 1u << 9,
    F_SHARED_CLUSTER = 1u << 10,  // .shared::cluster, address may name a peer
    F_CACHE_HINT = 1u << 11,      // .L2::cache_hint: one more operand
    F_MULTICAST = 1u << 12,
    F_READ = 1u << 13,
    F_ALIGNED = 1u << 14,
    F_CLOCK = 1u << 15,  // reads %clock and friends: refresh them first
    F_SHIFTAMT = 1u << 16,
    F_ABS = 1u << 17,
    F_REMOTE = 1u << 18,
    F_UNI = 1u << 19,
    F_SCALAR_MASK = 1u << 20,
    F_VOLATILE = 1u << 21,
    F_IGNORE_SRC = 1u << 22,
    F_CP_MASK = 1u << 23,
    F_PAIR = 1u << 24,    // .cta_group::2
    F_PACK = 1u << 25,    // .pack::16b, .unpack::16b
    F_BOUNDED = 1u << 26  // a comparison that compilers get wrong, see bounded.c
};

enum emu_sem { SEM_WEAK, SEM_RELAXED, SEM_ACQUIRE, SEM_RELEASE, SEM_ACQ_REL, SEM_SC, SEM_VOLATILE };
enum emu_scope { SCOPE_NONE, SCOPE_CTA, SCOPE_CLUSTER, SCOPE_GPU, SCOPE_SYS };
enum emu_cmp {
    CMP_EQ,
    CMP_NE,
    CMP_LT,
    CMP_LE,
    CMP_GT,
    CMP_GE,
    CMP_LO,
    CMP_LS,
    CMP_HI,
    CMP_HS,
    CMP_EQU,
    CMP_NEU,
    CMP_LTU,
    CMP_LEU,
    CMP_GTU,
    CMP_GEU,
    CMP_NUM,
    CMP_NAN
};
enum emu_word_op {
    WORD_NONE,
    WORD_AND,
    WORD_OR,
    WORD_XOR,
    WORD_ADD,
    WORD_MIN,
    WORD_MAX,
    WORD_INC,
    WORD_DEC,
    WORD_EXCH,
    WORD_CAS,
    WORD_POPC
};
enum emu_round {
    ROUND_NONE,
    ROUND_RN,
    ROUND_RZ,
    ROUND_RM,
    ROUND_RP,
    ROUND_RNA,
    ROUND_RNI,
    ROUND_RZI,
    ROUND_RMI,
    ROUND_RPI
};

// .kind and .scale_vectorsize of tcgen05.mma
enum emu_matrix_kind {
    MATRIX_F16,
    MATRIX_TF32,
    MATRIX_F8F6F4,
    MATRIX_I8,
    MATRIX_MXF8F6F4,
    MATRIX_MXF4,
    MATRIX_MXF4NVF4,
    MATRIX_KINDS
};
enum emu_scale_blocks { BLOCKS_NONE, BLOCKS_1X, BLOCKS_2X, BLOCKS_4X, BLOCKS_16, BLOCKS_32 };
// What is done to a collector buffer, in the lower bits; above them 0 for A's, 1 to 4 for b0 to b3.
enum emu_collector {
    COLLECT_UNSAID,
    COLLECT_FILL,
    COLLECT_USE,
    COLLECT_LASTUSE,
    COLLECT_DISCARD,
    COLLECT_BUFFER = 3  // a shift
};

enum { EMU_WIDE = 1u << 31 };     // in an operand entry of any width: the register has 64 bits
enum { EMU_NEGATED = 1u << 31 };  // in a predicate entry
enum { EMU_NO_PC = UINT32_MAX };

struct emu_insn {
    emu_exec *exec;
    const uint32_t *op;  // operand entries, in the order of the row's operand letters
    const struct emu_op *row;
    const struct emu_table *table;  // that the row is in
    uint32_t flags;
    uint32_t line;  // in the PTX
    const struct ptx_loc *loc;
    uint32_t guard;  // predicate; 0 is always true
    bool guard_negated;
    uint8_t type[4];  // enum ptx_type, in order of appearance
    uint8_t vector, space, sem, scope, cmp, word, round, dimensions, matrix, blocks, collector;
    uint16_t shape[3];                             // m, n, k of mma and wgmma
    uint32_t multiply_adds;                        // of a warp, of those
    uint32_t target;                               // of a branch
    const struct emu_function *function, *callee;  // that it is in, that it calls
    uint32_t join;  // where lanes that part here meet again, EMU_NO_PC if nowhere
};

// What an instruction is to those who do not execute it; most are nothing of this.
enum emu_fact {
    FACT_BRANCHES = 1u << 0,       // lanes go to its label, or on
    FACT_SELECTS = 1u << 1,        // lanes go to one label of its table each
    FACT_LEAVES = 1u << 2,         // lanes end, or go back to their caller
    FACT_TRAPS = 1u << 3,          // nobody goes on behind it
    FACT_CALLS = 1u << 4,          // lanes go through a function, and on
    FACT_TELLS = 1u << 5,          // other clusters may learn from it, whatever its modifiers
    FACT_UPDATES = 1u << 6,        // reads, changes and writes a word, in the space that it names
    FACT_ACCESSES = 1u << 7,       // loads or stores, in the space and as strongly as it says
    FACT_FENCES = 1u << 8,         // as far as its scope goes
    FACT_OWN_REGISTERS = 1u << 9,  // may touch registers that a wgmma in flight uses
    FACT_COPIES = 1u << 10,        // copies a register: between accumulators that is no use of them
    FACT_FENCES_REGISTERS = 1u << 11,  // registers written before it may be a wgmma's
    FACT_MULTIPLIES = 1u << 12,        // costs the m x n x k multiply-adds of its shape,
    FACT_WARPGROUP = 1u << 13          // of which each of four warps that meet does a part
};

// A row of an instruction table: one form of an instruction, and all that is known of it.
// [form]: its words; {.x} is optional, capitals are classes of words (form.c), {.X*} repeats.
// [operands]: a letter each, see letters.c. [aux]: for handlers that serve several rows.
struct emu_op {
    const char *form, *operands;
    emu_exec *exec;
    int aux;
    uint32_t facts;  // of enum emu_fact
    uint32_t needs;  // of the target, see runtime/arch.h
};

static inline bool emu_is(const struct emu_insn *insn, uint32_t facts) {
    return insn->row->facts & facts;
}

// Rows that one file handles. [ordinary]: they compute, and their number alone is of interest.
struct emu_table {
    const char *name;
    const struct emu_op *rows;  // the last has no form
    bool ordinary;
    uint32_t needs;  // of the target, by all its rows
    // What of a decoded instruction is illegal, as [text]; NULL: nothing.
    const char *(*wrong)(const struct emu_insn *insn, const struct ptx_statement *statement,
                         char *text, size_t size);
};

// ---- the address space: generic addresses are windows, .shared ones carry the CTA's rank ----

// What nobody has written is NaN in every format, so that it shows.
enum { EMU_SMEM_BLANK = 0xff };
// Of the bytes before a CTA's shared memory an H200 calls 288 used, and the words of cooperative
// groups, 32 bytes and 8 a warp, are as many. Each offset is 0 where a kernel asks for it alone.
enum { EMU_SMEM_RESERVED_0 = 0, EMU_SMEM_RESERVED_1 = 0, EMU_SMEM_RESERVED_END = 32 + 32 * 8 };
enum { EMU_SMEM_RESERVED = TMG_BLOCK_RESERVE, EMU_RANK_SHIFT = 24 };
#define EMU_WINDOW_MASK   (UINT64_C(0xff) << 40)
#define EMU_SHARED_WINDOW (UINT64_C(1) << 40)
#define EMU_LOCAL_WINDOW  (UINT64_C(2) << 40)
#define EMU_PARAM_WINDOW  (UINT64_C(3) << 40)

// ---- slots filled before a warp starts ----

enum emu_constant_kind {
    CONSTANT_BITS,    // value
    CONSTANT_SHARED,  // value in the shared memory of the CTA
    CONSTANT_IMAGE,   // value in the module's image
    CONSTANT_SPECIAL  // special register number value
};

struct emu_constant {
    enum emu_constant_kind kind;
    uint32_t slot;
    bool wide;
    uint64_t value;
    uint32_t next;  // number of one that looks alike, plus one; see constant_slot()
};

// ---- programs: an entry and the functions that it reaches, with what they need and no more ----

// A function in a program. The register file of a warp holds the registers of all functions side
// by side, as a thread's memory does their variables: a function has one frame.
struct emu_function {
    const struct ptx_function *source;
    uint32_t first_pc, end_pc;
    uint32_t first_slot, first_pred;
    uint64_t first_local;
    uint32_t return_slot;  // where each lane keeps its return pc
};

struct emu_program {
    struct emu_program *next;
    struct emu_arena arena;
    const struct emu_module *module;
    const struct emu_table *tables;
    struct emu_function *functions;  // the entry first
    uint32_t function_count;
    struct emu_insn *code;
    uint32_t code_count;
    struct emu_constant *constants;
    uint32_t constant_count, constant_capacity;
    uint32_t constant_slots;              // the first of them; behind the registers
    uint32_t slot_count, pred_count;      // of a warp, slots with the constants'
    uint64_t local_bytes;                 // of a thread
    int cta_group;                        // of its tcgen05 instructions; 0: it has none
    bool uses_reserved;                   // the 1024 bytes before its shared memory
    bool uses_environment;                // %envreg
    uint32_t static_end, dynamic_offset;  // of the variables and of dynamic shared memory
};

struct emu_module {
    struct ptx_tree tree;
    struct emu_program *programs;  // those launched so far
    uint64_t number;               // of all modules of the process, from 1
};

// ---- decode.c ----

// The program of [entry], made when it is first asked for from the rows of [tables], of which the
// last has none. NULL and *error: memory is out, or something that the program needs is not
// implemented or too large, or the budget does not reach.
struct emu_program *emu_program_of(struct emu_module *module, const struct emu_table *tables,
                                   struct ptx_function *entry, const struct emu_limit *limit,
                                   struct emu_error *error);
void emu_program_delete(struct emu_program *program);

// ---- reach.c ----

// Fills the program's functions from [entry] on, and lays out what they need.
void emu_reach(struct ptx_lexer *lexer, struct emu_program *program, struct ptx_function *entry);

// What a function's address is: the same in every program.
static inline uint64_t emu_function_address(const struct ptx_function *function) {
    return (uint64_t)function->number << 8;
}

// ---- between the files of decode ----

struct emu_decoder {
    struct ptx_lexer *lexer;
    struct emu_program *program;
    const struct emu_function *function;
    const struct ptx_statement *statement;
    uint32_t entries[1024];
    uint32_t entry_count;
    uint32_t *constants, constant_size;  // by what they are, see constant_slot()
};

// ---- letters.c: operands ----

enum emu_letter_kind {
    LETTER_NOTHING,
    LETTER_VALUE,           // a register, or what a slot may hold: an entry
    LETTER_NUMBER,          // an immediate; the entry is its value
    LETTER_PREDICATE,       // the entry carries EMU_NEGATED
    LETTER_PREDICATES,      // p or p|q: two entries
    LETTER_WITH_PREDICATE,  // a register or register|p: two entries
    LETTER_LIST,            // index of a count and as many entries in the same array
    LETTER_ADDRESS,         // [base + offset]: two entries
    LETTER_TENSOR,          // [tensor map, {coordinates}]: the map's slot and a list
    LETTER_LABEL,           // insn->target, no entry
    LETTER_LABELS,          // the name of a table: list of pcs
    LETTER_PROTOTYPE,       // of a call, unused
    LETTER_FUNCTION,        // insn->callee
    LETTER_PARAMS           // (.param variables): list of offsets, then as many sizes
};

// WIDTH_ANY: the entry carries EMU_WIDE.
enum emu_width { WIDTH_ANY, WIDTH_FIRST, WIDTH_SECOND, WIDTH_DOUBLE, WIDTH_32, WIDTH_64 };

struct emu_letter {
    enum emu_letter_kind kind;
    enum emu_width width;
    uint32_t takes;  // kinds of operands, a bit each
    bool written;
};

// The letter's row. '?' has none: what follows it may be missing, and its entry is EMU_NO_PC.
const struct emu_letter *emu_letter(char letter);
// How many entries one operand of [kind] has before the lists.
static inline unsigned emu_entries(enum emu_letter_kind kind) {
    switch (kind) {
    case LETTER_NOTHING:
    case LETTER_LABEL: return 0;
    case LETTER_PREDICATES:
    case LETTER_WITH_PREDICATE:
    case LETTER_ADDRESS:
    case LETTER_TENSOR: return 2;
    default: return 1;
    }
}

// ---- form.c ----

// Matches the statement's words, whose opcode is the row's, against row->form and fills [insn]'s
// modifiers.
bool emu_match_form(const struct emu_op *row, const struct ptx_statement *statement,
                    struct emu_insn *insn);

// ---- operands.c ----

// Whether the operands' kinds suit row->operands.
bool emu_match_operands(const struct emu_op *row, const struct ptx_statement *statement);
// Fills insn->op; fails with a message where a type doesn't fit.
void emu_decode_operands(struct emu_decoder *decoder, const struct emu_op *row,
                         struct emu_insn *insn);

// ---- cfg.c ----

// Fills insn->join for the function's divergent branches (cfg.c).
void emu_find_joins(struct emu_decoder *decoder);

// ---- bounded.c ----

// Marks the function's comparisons that ptxas compiles to others by F_BOUNDED; they get two entries
// more: what these compare with, and the pc of the min or max that bounds what is compared.
void emu_find_bounded(struct emu_decoder *decoder);

// Special registers.
enum emu_special {
    SPECIAL_TID,
    SPECIAL_NTID = SPECIAL_TID + 3,
    SPECIAL_CTAID = SPECIAL_NTID + 3,
    SPECIAL_NCTAID = SPECIAL_CTAID + 3,
    SPECIAL_CLUSTERID = SPECIAL_NCTAID + 3,
    SPECIAL_NCLUSTERID = SPECIAL_CLUSTERID + 3,
    SPECIAL_CLUSTER_CTAID = SPECIAL_NCLUSTERID + 3,
    SPECIAL_CLUSTER_NCTAID = SPECIAL_CLUSTER_CTAID + 3,
    SPECIAL_CLUSTER_CTARANK = SPECIAL_CLUSTER_NCTAID + 3,
    SPECIAL_CLUSTER_NCTARANK,
    SPECIAL_IS_EXPLICIT_CLUSTER,
    SPECIAL_LANEID,
    SPECIAL_WARPID,
    SPECIAL_NWARPID,
    SPECIAL_SMID,
    SPECIAL_NSMID,
    SPECIAL_GRIDID,
    SPECIAL_LANEMASK_EQ,
    SPECIAL_LANEMASK_LE,
    SPECIAL_LANEMASK_LT,
    SPECIAL_LANEMASK_GE,
    SPECIAL_LANEMASK_GT,
    SPECIAL_DYNAMIC_SMEM,
    SPECIAL_TOTAL_SMEM,
    SPECIAL_ZERO,
    SPECIAL_WARP_SIZE,
    SPECIAL_AGGREGATE_SMEM,
    SPECIAL_RESERVED_BEGIN,
    SPECIAL_RESERVED_END,
    SPECIAL_RESERVED_CAP,
    SPECIAL_RESERVED_0,
    SPECIAL_RESERVED_1,
    SPECIAL_ENVIRONMENT_0,
    SPECIAL_ENVIRONMENT_HIGH,  // %envreg1 and 2: the grid's workspace
    SPECIAL_ENVIRONMENT_LOW,
    SPECIAL_ENVIRONMENT_LAST = SPECIAL_ENVIRONMENT_0 + 31,
    SPECIAL_CLOCK,
    SPECIAL_CLOCK_HI,
    SPECIAL_CLOCK64,
    SPECIAL_GLOBALTIMER,
    SPECIAL_GLOBALTIMER_LO,
    SPECIAL_GLOBALTIMER_HI
};

#endif
