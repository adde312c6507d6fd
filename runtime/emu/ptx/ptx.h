// PTX text as a syntax tree: what lex.c to body.c produce and decode/ consumes.
// Names are resolved to registers and variables here, because PTX scopes end with the parse.
#ifndef TMG_EMU_PTX_H
#define TMG_EMU_PTX_H

#include "runtime/arch.h"
#include "runtime/emu/emu.h"

#include <setjmp.h>

// ---- limit.c: how long something may take, from when it begins ----

struct emu_limit {
    struct emu_budget budget;  // nothing in it is 0, but for cancel
    double deadline;
};

// NULL: a budget of defaults.
struct emu_limit emu_limit_start(const struct emu_budget *budget);
// With [steps] done: is the budget spent? Then says what of it, into [why].
bool emu_limit_spent(const struct emu_limit *limit, uint64_t steps, char *why, size_t size);

// ---- types.c: an arena, in which everything of a module lives and dies together ----

struct emu_arena {
    struct emu_arena_block *blocks;
    size_t used, capacity;
    uint64_t room;  // bytes that may still be asked of the system
    jmp_buf *fail;
};

// Where arenas and the lexer leave to, setjmp gives which it was.
enum { PTX_WRONG = 1, PTX_NO_MEMORY, PTX_NO_ROOM };

// Zeroed memory aligned to 16; never NULL (leaves through arena->fail where there is none).
void *emu_arena_alloc(struct emu_arena *arena, size_t bytes);
char *emu_arena_text(struct emu_arena *arena, const char *text, size_t length);
void emu_arena_free(struct emu_arena *arena);

// ---- lex.c: tokens ----

enum ptx_token_kind {
    PTX_END,
    PTX_NAME,       // foo, %r1, $L__BB0_1, _
    PTX_DIRECTIVE,  // .reg, .shared::cluster: text without the dot
    PTX_INTEGER,
    PTX_FLOAT32,  // 0f3F800000
    PTX_FLOAT64,  // 0d..., 1.5
    PTX_STRING,
    PTX_PUNCT
};

struct ptx_token {
    enum ptx_token_kind kind;
    const char *at;
    unsigned length;
    unsigned line, column;
    uint64_t value;  // of a number, as bits
    char punct;
};

struct ptx_lexer {
    const char *name, *at, *end, *line_start;
    unsigned line;
    struct ptx_token token;  // the one looked at
    const struct emu_limit *limit;
    uint32_t looks;  // at the clock, but for most
    struct emu_error *error;
    jmp_buf *fail;
};

void ptx_lex_open(struct ptx_lexer *lexer, const char *name, const char *text, size_t length);
void ptx_lex_next(struct ptx_lexer *lexer);
// Writes "file:line:column: error: MESSAGE" and leaves by longjmp.
_Noreturn void ptx_lex_fail(struct ptx_lexer *lexer, unsigned line, unsigned column,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));
// Before the next step of reading, at [line]: fails where the budget is spent.
void ptx_lex_look(struct ptx_lexer *lexer, unsigned line);
// Writes the error of a memory that is out, where it was that: [how] setjmp returned.
void ptx_lex_failed(const struct ptx_lexer *lexer, int how);

// ---- types.c ----

enum ptx_type {
    T_NONE,
    T_B8,
    T_U8,
    T_S8,
    T_B16,
    T_U16,
    T_S16,
    T_F16,
    T_BF16,
    T_B32,
    T_U32,
    T_S32,
    T_F32,
    T_TF32,
    T_F16X2,
    T_BF16X2,
    T_U16X2,
    T_S16X2,
    T_B64,
    T_U64,
    T_S64,
    T_F64,
    T_F32X2,
    T_B128,
    T_PRED,
    T_B1,
    T_E4M3,
    T_E5M2,
    T_E4M3X2,
    T_E5M2X2,
    T_E4M3X4,
    T_E5M2X4,
    T_E2M3,
    T_E3M2,
    T_E2M1,
    T_E2M3X2,
    T_E3M2X2,
    T_E2M1X2,
    T_E2M3X4,
    T_E3M2X4,
    T_E2M1X4,
    T_UE8M0,
    T_UE8M0X2,
    T_S2F6X2,
    T_U4,
    T_S4,
    T_U2,
    T_S2,
    T_COUNT
};

// Name as in PTX ("u32") and size in bytes (sub-byte types: 1).
const char *ptx_type_name(enum ptx_type type);
unsigned ptx_type_bytes(enum ptx_type type);
// T_NONE if [text] names no type.
enum ptx_type ptx_type_find(const char *text, size_t length);

// ---- symbols ----

enum ptx_space {
    SPACE_GENERIC,
    SPACE_GLOBAL,
    SPACE_SHARED,
    SPACE_LOCAL,
    SPACE_PARAM,
    SPACE_CONST,
    SPACE_REG
};

enum ptx_symbol_kind { SYM_REGISTER, SYM_VARIABLE, SYM_FUNCTION, SYM_LABEL };

struct ptx_symbol {
    struct ptx_symbol *next;  // of those whose names look alike, see names.c
    uint32_t scope, hash;
    char *name;
    enum ptx_symbol_kind kind;
    enum ptx_type type;
    unsigned line;
    // registers: %r<8> is one symbol of count 8; slot of the function's registers (or predicates)
    uint32_t slot, count;  // slot: from the function's first
    bool ranged;
    unsigned vector;  // .reg .v4: elements
    // variables
    enum ptx_space space;
    uint64_t bytes, align;
    // in the module's image (.global, .const), the parameters (of_entry), what the function has of
    // a thread's memory (.local, .param); .shared: of the program decoded last, see reach.c
    uint64_t offset;
    struct ptx_symbol *next_shared;  // .shared variables by their order in the file
    bool used;                       // .shared: by the program decoded last
    bool external;                   // extern .shared: starts where dynamic shared memory starts
    bool unsized;
    bool of_entry;  // .param: of the launch, not of a thread
    // labels
    uint32_t pc;
    bool defined;
    struct ptx_symbol **table;  // .branchtargets
    uint32_t table_count;
    struct ptx_function *function;
};

// ---- statements ----

enum ptx_operand_kind {
    OPERAND_SLOT,     // register, by slot
    OPERAND_PRED,     // predicate register
    OPERAND_SPECIAL,  // %tid.x: name
    OPERAND_INT,
    OPERAND_F32,
    OPERAND_F64,
    OPERAND_SYMBOL,   // variable's or function's address, + offset
    OPERAND_NAME,     // not declared yet: a label or a function
    OPERAND_ADDRESS,  // [list[0] + offset], or [list[0], {coordinates}, ...]
    OPERAND_VECTOR,   // {list}
    OPERAND_SINK,     // _
    OPERAND_PAIR      // p|q
};

struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negated;        // !p
    enum ptx_type type;  // of a register
    uint32_t slot;
    uint64_t value;  // number as bits
    int64_t offset;
    struct ptx_symbol *symbol;
    char *name;
    struct ptx_operand *list;
    uint32_t count;
    unsigned line, column;
};

// Labels are local to their braces, as inline assembly repeats them; the innermost one is meant.
struct ptx_label_scope {
    struct ptx_label_scope *parent;
    uint32_t number;
};

enum { PTX_WORDS_MAX = 20, PTX_REGISTERS_MAX = 1 << 18 };

struct ptx_word {
    const char *text;
    uint32_t length;
};

// A .loc; what was inlined has the call's .loc as parent.
struct ptx_loc {
    unsigned file, line, column;
    const struct ptx_loc *parent, *next;  // next: an earlier one whose place looks alike
};

struct ptx_statement {
    struct ptx_word opcode;
    struct ptx_word words[PTX_WORDS_MAX];  // the modifiers, without dots
    uint32_t word_count;
    bool guarded, guard_negated;
    uint32_t guard;  // predicate slot of the function
    struct ptx_operand *operands;
    uint32_t operand_count;
    unsigned line, column;
    const struct ptx_loc *loc;
    struct ptx_label_scope *scope;
};

struct ptx_function {
    struct ptx_function *next;
    char *name;
    char *title;  // the name as people wrote it, for reports
    bool entry, defined;
    unsigned line;
    struct ptx_symbol **params, **returns;
    uint32_t param_count, return_count;
    uint64_t param_bytes;  // of an entry's parameters
    // a warp's registers and predicates, and a thread's memory, that the function needs
    uint32_t slot_count, pred_count;
    uint64_t local_bytes, local_align;
    uint32_t number;  // from 1 by the order in the file: what its address is made of
    bool address_taken;
    struct ptx_statement *statements;
    uint32_t statement_count, statement_capacity;
    // directives of an entry, 0 = not given
    unsigned maxntid[3], reqntid[3], cluster[3], max_cluster;  // 0: not given
    bool explicit_cluster;
    uint32_t index;  // in the program decoded last
};

struct ptx_file_name {
    unsigned number;
    char *name;
};

struct ptx_global_data {
    struct ptx_global_data *next;
    struct ptx_symbol *symbol;
    uint8_t *bytes;  // initial contents, symbol->bytes long, or NULL
    struct ptx_relocation *relocations;
};

struct ptx_relocation {
    struct ptx_relocation *next;
    uint64_t at;
    struct ptx_symbol *symbol;
    int64_t offset;
};

struct ptx_names {
    struct ptx_symbol **lists;
    uint32_t size, count;  // size: a power of two
};

struct ptx_tree {
    struct emu_arena arena;
    char *name;
    unsigned version_major, version_minor;
    const struct tmg_arch *arch;  // of .target; of the emulated device where the file names none
    struct ptx_function *functions;
    struct ptx_names names;
    uint32_t scope_count;  // opened so far; the module's is 0
    struct ptx_file_name *files;
    uint32_t file_count, file_capacity;
    uint32_t function_count;
    struct ptx_symbol *shared, *last_shared;  // by their order in the file
    struct ptx_global_data *globals;
    uint64_t global_bytes;
};

// ---- names.c ----

// Enters [symbol] by its scope and name; of two alike the later one is found.
void ptx_names_add(struct emu_arena *arena, struct ptx_names *names, struct ptx_symbol *symbol);
// What [name] is in [scope], or NULL. [element] of a range of registers called so; < 0: no range.
struct ptx_symbol *ptx_names_find(const struct ptx_names *names, uint32_t scope, const char *name,
                                  size_t length, int64_t element);

// ---- parse.c ----

// Parses a whole file; tree->arena owns all. Leaves by lexer->fail on the first error.
void ptx_parse(struct ptx_lexer *lexer, struct ptx_tree *tree);

// ---- between the files of the parser ----

struct ptx_scope {
    uint32_t number;
    struct ptx_symbol *last;  // declared in it
};

struct ptx_parser {
    struct ptx_lexer *lexer;
    struct ptx_tree *tree;
    struct ptx_function *function;
    struct ptx_scope *scopes;  // innermost last; [0] is the module's
    uint32_t scope_count, scope_capacity;
    struct ptx_label_scope *labels;  // innermost
    const struct ptx_loc *loc;       // the latest
    const struct ptx_loc **locs;     // all so far, see loc_list()
};

// ---- expect.c ----

bool ptx_token_is(const struct ptx_token *token, const char *text);
bool ptx_accept(struct ptx_parser *parser, char punct);
void ptx_expect(struct ptx_parser *parser, char punct);
bool ptx_accept_directive(struct ptx_parser *parser, const char *text);
uint64_t ptx_expect_integer(struct ptx_parser *parser, const char *what);
char *ptx_expect_name(struct ptx_parser *parser, const char *what);
// Skips to behind the next [punct]; an error at the end of the file.
void ptx_skip_past(struct ptx_parser *parser, char punct);
// The error at the token looked at: "expected WHAT, found ...".
_Noreturn void ptx_expected(struct ptx_parser *parser, const char *what);

// ---- variable.c ----

void ptx_scope_open(struct ptx_parser *parser);
struct ptx_symbol *ptx_scope_find(struct ptx_parser *parser, const char *name, size_t length,
                                  uint32_t *index);
struct ptx_symbol *ptx_scope_add(struct ptx_parser *parser, const char *name, size_t length,
                                 enum ptx_symbol_kind kind);
void ptx_parse_variable(struct ptx_parser *parser, enum ptx_space space, bool external);

// ---- body.c ----

void ptx_parse_body(struct ptx_parser *parser);

#endif
