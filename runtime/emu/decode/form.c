// Instruction forms: matches a statement's modifiers against a pattern like ld{.SEM}{.SPACE}.TYPE.
// The patterns are written as the PTX ISA writes its syntax, so a table row reads like the manual.
#include "runtime/emu/decode/decode.h"

#include <string.h>

enum form_field {
    FIELD_FLAG,
    FIELD_SPACE,
    FIELD_SEM,
    FIELD_SCOPE,
    FIELD_CMP,
    FIELD_WORD,
    FIELD_ROUND,
    FIELD_VECTOR,
    FIELD_DIMENSIONS,
    FIELD_MATRIX,
    FIELD_BLOCKS,
    FIELD_COLLECTOR,
    FIELD_NOTHING
};

// Words by class. A class FLAGS word sets its bit also where a pattern has it as a literal.
static const struct form_word {
    const char *class_, *text;
    enum form_field field;
    uint32_t value;
} words[] = {
    {"FLAG", "ftz", FIELD_FLAG, F_FTZ},
    {"FLAG", "sat", FIELD_FLAG, F_SAT},
    {"FLAG", "satfinite", FIELD_FLAG, F_SATFINITE},
    {"FLAG", "relu", FIELD_FLAG, F_RELU},
    {"FLAG", "NaN", FIELD_FLAG, F_NAN},
    {"FLAG", "abs", FIELD_FLAG, F_ABS},
    {"FLAG", "xorsign", FIELD_FLAG, F_XORSIGN},
    {"FLAG", "trans", FIELD_FLAG, F_TRANS},
    {"FLAG", "noinc", FIELD_FLAG, F_NOINC},
    {"FLAG", "noComplete", FIELD_FLAG, F_NOCOMPLETE},
    {"FLAG", "parity", FIELD_FLAG, F_PARITY},
    {"FLAG", "aligned", FIELD_FLAG, F_ALIGNED},
    {"FLAG", "multicast::cluster", FIELD_FLAG, F_MULTICAST},
    {"FLAG", "L2::cache_hint", FIELD_FLAG, F_CACHE_HINT},
    {"FLAG", "read", FIELD_FLAG, F_READ},
    {"FLAG", "shiftamt", FIELD_FLAG, F_SHIFTAMT},
    {"FLAG", "volatile", FIELD_FLAG, F_VOLATILE},
    {"FLAG", "uni", FIELD_FLAG, F_UNI},
    {"FLAG", "cp_mask", FIELD_FLAG, F_CP_MASK},
    {"FLAG", "pack::16b", FIELD_FLAG, F_PACK},
    {"FLAG", "unpack::16b", FIELD_FLAG, F_PACK},
    {"GROUP", "cta_group::1", FIELD_NOTHING, 0},
    {"GROUP", "cta_group::2", FIELD_FLAG, F_PAIR},
    {"KIND", "kind::f16", FIELD_MATRIX, MATRIX_F16},
    {"KIND", "kind::tf32", FIELD_MATRIX, MATRIX_TF32},
    {"KIND", "kind::f8f6f4", FIELD_MATRIX, MATRIX_F8F6F4},
    {"INTEGERS", "kind::i8", FIELD_MATRIX, MATRIX_I8},
    {"SCALED", "kind::mxf8f6f4", FIELD_MATRIX, MATRIX_MXF8F6F4},
    {"SCALED", "kind::mxf4", FIELD_MATRIX, MATRIX_MXF4},
    {"SCALED", "kind::mxf4nvf4", FIELD_MATRIX, MATRIX_MXF4NVF4},
    {"BLOCKS", "scale_vec::1X", FIELD_BLOCKS, BLOCKS_1X},
    {"BLOCKS", "scale_vec::2X", FIELD_BLOCKS, BLOCKS_2X},
    {"BLOCKS", "scale_vec::4X", FIELD_BLOCKS, BLOCKS_4X},
    {"BLOCKS", "block16", FIELD_BLOCKS, BLOCKS_16},
    {"BLOCKS", "block32", FIELD_BLOCKS, BLOCKS_32},
    {"COLLECT", "collector::a::fill", FIELD_COLLECTOR, COLLECT_FILL},
    {"COLLECT", "collector::a::use", FIELD_COLLECTOR, COLLECT_USE},
    {"COLLECT", "collector::a::lastuse", FIELD_COLLECTOR, COLLECT_LASTUSE},
    {"COLLECT", "collector::a::discard", FIELD_COLLECTOR, COLLECT_DISCARD},
    {"DISCARD", "collector::a::lastuse", FIELD_COLLECTOR, COLLECT_LASTUSE},
    {"DISCARD", "collector::a::discard", FIELD_COLLECTOR, COLLECT_DISCARD},
    {"RND", "rn", FIELD_ROUND, ROUND_RN},
    {"RND", "rz", FIELD_ROUND, ROUND_RZ},
    {"RND", "rm", FIELD_ROUND, ROUND_RM},
    {"RND", "rp", FIELD_ROUND, ROUND_RP},
    {"RNDI", "rni", FIELD_ROUND, ROUND_RNI},
    {"RNDI", "rzi", FIELD_ROUND, ROUND_RZI},
    {"RNDI", "rmi", FIELD_ROUND, ROUND_RMI},
    {"RNDI", "rpi", FIELD_ROUND, ROUND_RPI},
    {"RNDI", "rn", FIELD_ROUND, ROUND_RN},
    {"RNDI", "rz", FIELD_ROUND, ROUND_RZ},
    {"RNDI", "rm", FIELD_ROUND, ROUND_RM},
    {"RNDI", "rp", FIELD_ROUND, ROUND_RP},
    {"RNDI", "rna", FIELD_ROUND, ROUND_RNA},
    {"CMP", "eq", FIELD_CMP, CMP_EQ},
    {"CMP", "ne", FIELD_CMP, CMP_NE},
    {"CMP", "lt", FIELD_CMP, CMP_LT},
    {"CMP", "le", FIELD_CMP, CMP_LE},
    {"CMP", "gt", FIELD_CMP, CMP_GT},
    {"CMP", "ge", FIELD_CMP, CMP_GE},
    {"CMP", "lo", FIELD_CMP, CMP_LO},
    {"CMP", "ls", FIELD_CMP, CMP_LS},
    {"CMP", "hi", FIELD_CMP, CMP_HI},
    {"CMP", "hs", FIELD_CMP, CMP_HS},
    {"CMP", "equ", FIELD_CMP, CMP_EQU},
    {"CMP", "neu", FIELD_CMP, CMP_NEU},
    {"CMP", "ltu", FIELD_CMP, CMP_LTU},
    {"CMP", "leu", FIELD_CMP, CMP_LEU},
    {"CMP", "gtu", FIELD_CMP, CMP_GTU},
    {"CMP", "geu", FIELD_CMP, CMP_GEU},
    {"CMP", "num", FIELD_CMP, CMP_NUM},
    {"CMP", "nan", FIELD_CMP, CMP_NAN},
    {"BOOL", "and", FIELD_WORD, WORD_AND},
    {"BOOL", "or", FIELD_WORD, WORD_OR},
    {"BOOL", "xor", FIELD_WORD, WORD_XOR},
    {"ATOM", "and", FIELD_WORD, WORD_AND},
    {"ATOM", "or", FIELD_WORD, WORD_OR},
    {"ATOM", "xor", FIELD_WORD, WORD_XOR},
    {"ATOM", "add", FIELD_WORD, WORD_ADD},
    {"ATOM", "min", FIELD_WORD, WORD_MIN},
    {"ATOM", "max", FIELD_WORD, WORD_MAX},
    {"ATOM", "inc", FIELD_WORD, WORD_INC},
    {"ATOM", "dec", FIELD_WORD, WORD_DEC},
    {"ATOM", "exch", FIELD_WORD, WORD_EXCH},
    {"ATOM", "popc", FIELD_WORD, WORD_POPC},
    {"SPACE", "global", FIELD_SPACE, SPACE_GLOBAL},
    {"SPACE", "shared", FIELD_SPACE, SPACE_SHARED},
    {"SPACE", "shared::cta", FIELD_SPACE, SPACE_SHARED},
    {"SPACE", "shared::cluster", FIELD_SPACE, SPACE_SHARED | F_SHARED_CLUSTER},
    {"SPACE", "local", FIELD_SPACE, SPACE_LOCAL},
    {"SPACE", "param", FIELD_SPACE, SPACE_PARAM},
    {"SPACE", "param::entry", FIELD_SPACE, SPACE_PARAM},
    {"SPACE", "param::func", FIELD_SPACE, SPACE_PARAM},
    {"SPACE", "const", FIELD_SPACE, SPACE_CONST},
    {"SHARED", "shared", FIELD_SPACE, SPACE_SHARED},
    {"SHARED", "shared::cta", FIELD_SPACE, SPACE_SHARED},
    {"SHARED", "shared::cluster", FIELD_SPACE, SPACE_SHARED | F_SHARED_CLUSTER},
    {"SEM", "weak", FIELD_SEM, SEM_WEAK},
    {"SEM", "relaxed", FIELD_SEM, SEM_RELAXED},
    {"SEM", "acquire", FIELD_SEM, SEM_ACQUIRE},
    {"SEM", "release", FIELD_SEM, SEM_RELEASE},
    {"SEM", "acq_rel", FIELD_SEM, SEM_ACQ_REL},
    {"SEM", "sc", FIELD_SEM, SEM_SC},
    {"SEM", "volatile", FIELD_SEM, SEM_VOLATILE},
    {"SCOPE", "cta", FIELD_SCOPE, SCOPE_CTA},
    {"SCOPE", "cluster", FIELD_SCOPE, SCOPE_CLUSTER},
    {"SCOPE", "gpu", FIELD_SCOPE, SCOPE_GPU},
    {"SCOPE", "gl", FIELD_SCOPE, SCOPE_GPU},
    {"SCOPE", "sys", FIELD_SCOPE, SCOPE_SYS},
    {"VEC", "v2", FIELD_VECTOR, 2},
    {"VEC", "v4", FIELD_VECTOR, 4},
    {"VEC", "v8", FIELD_VECTOR, 8},
    {"DIM", "1d", FIELD_DIMENSIONS, 1},
    {"DIM", "2d", FIELD_DIMENSIONS, 2},
    {"DIM", "3d", FIELD_DIMENSIONS, 3},
    {"DIM", "4d", FIELD_DIMENSIONS, 4},
    {"DIM", "5d", FIELD_DIMENSIONS, 5},
    {"NUM", "x1", FIELD_VECTOR, 1},
    {"NUM", "x2", FIELD_VECTOR, 2},
    {"NUM", "x4", FIELD_VECTOR, 4},
    {"TWO", "x1", FIELD_VECTOR, 1},
    {"TWO", "x2", FIELD_VECTOR, 2},
    {"REPEAT", "x1", FIELD_VECTOR, 1},
    {"REPEAT", "x2", FIELD_VECTOR, 2},
    {"REPEAT", "x4", FIELD_VECTOR, 4},
    {"REPEAT", "x8", FIELD_VECTOR, 8},
    {"REPEAT", "x16", FIELD_VECTOR, 16},
    {"REPEAT", "x32", FIELD_VECTOR, 32},
    {"REPEAT", "x64", FIELD_VECTOR, 64},
    {"REPEAT", "x128", FIELD_VECTOR, 128},
    {"LEAST", "min", FIELD_WORD, WORD_MIN},
    {"LEAST", "max", FIELD_WORD, WORD_MAX},
    {"LAYOUT", "row", FIELD_NOTHING, 0},
    {"LAYOUT", "col", FIELD_NOTHING, 0},
    {"L1", "L1", FIELD_NOTHING, 0},
    {"L2", "L2", FIELD_NOTHING, 0},
    {"CACHE", "ca", FIELD_NOTHING, 0},
    {"CACHE", "cg", FIELD_NOTHING, 0},
    {"CACHE", "cs", FIELD_NOTHING, 0},
    {"CACHE", "lu", FIELD_NOTHING, 0},
    {"CACHE", "cv", FIELD_FLAG, F_VOLATILE},
    {"CACHE", "wb", FIELD_NOTHING, 0},
    {"CACHE", "wt", FIELD_NOTHING, 0},
    {"CACHE", "nc", FIELD_NOTHING, 0},
    {"CACHE", "L1::evict_normal", FIELD_NOTHING, 0},
    {"CACHE", "L1::evict_unchanged", FIELD_NOTHING, 0},
    {"CACHE", "L1::evict_first", FIELD_NOTHING, 0},
    {"CACHE", "L1::evict_last", FIELD_NOTHING, 0},
    {"CACHE", "L1::no_allocate", FIELD_NOTHING, 0},
    {"CACHE", "L2::evict_normal", FIELD_NOTHING, 0},
    {"CACHE", "L2::evict_first", FIELD_NOTHING, 0},
    {"CACHE", "L2::evict_last", FIELD_NOTHING, 0},
    {"CACHE", "L2::evict_unchanged", FIELD_NOTHING, 0},
    {"CACHE", "L2::64B", FIELD_NOTHING, 0},
    {"CACHE", "L2::128B", FIELD_NOTHING, 0},
    {"CACHE", "L2::256B", FIELD_NOTHING, 0},
    {"CACHE", "unified", FIELD_NOTHING, 0},
};

// Classes of types, so that one row serves those that differ in name only.
static const struct {
    const char *class_, *list;
} type_classes[] = {
    {"I16", " u16 s16 b16 "},           {"I32", " u32 s32 b32 "},
    {"I64", " u64 s64 b64 "},           {"B8", " b8 u8 s8 "},
    {"B16", " b16 u16 s16 f16 bf16 "},  {"B32", " b32 u32 s32 f32 f16x2 bf16x2 "},
    {"B64", " b64 u64 s64 f64 f32x2 "},
};

static bool in_type_class(const char *class_, size_t length, const char *text) {
    char word[24];

    if (length == 4 && memcmp(class_, "TYPE", 4) == 0) return true;
    if (strlen(text) > sizeof word - 3) return false;
    snprintf(word, sizeof word, " %s ", text);
    for (size_t i = 0; i < sizeof type_classes / sizeof *type_classes; i++)
        if (strlen(type_classes[i].class_) == length &&
            memcmp(type_classes[i].class_, class_, length) == 0)
            return strstr(type_classes[i].list, word) != NULL;
    return false;
}

static void set_field(struct emu_insn *insn, const struct form_word *word) {
    switch (word->field) {
    case FIELD_FLAG: insn->flags |= word->value; break;
    case FIELD_SPACE:
        insn->space = word->value & 0xff;
        insn->flags |= word->value & F_SHARED_CLUSTER;
        break;
    case FIELD_SEM: insn->sem = (uint8_t)word->value; break;
    case FIELD_SCOPE: insn->scope = (uint8_t)word->value; break;
    case FIELD_CMP: insn->cmp = (uint8_t)word->value; break;
    case FIELD_WORD: insn->word = (uint8_t)word->value; break;
    case FIELD_ROUND: insn->round = (uint8_t)word->value; break;
    case FIELD_VECTOR: insn->vector = (uint8_t)word->value; break;
    case FIELD_DIMENSIONS: insn->dimensions = (uint8_t)word->value; break;
    case FIELD_MATRIX: insn->matrix = (uint8_t)word->value; break;
    case FIELD_BLOCKS: insn->blocks = (uint8_t)word->value; break;
    case FIELD_COLLECTOR: insn->collector = (uint8_t)word->value; break;
    case FIELD_NOTHING: break;
    }
}

static void add_type(struct emu_insn *insn, const char *text) {
    enum ptx_type type = ptx_type_find(text, strlen(text));

    for (int i = 0; type != T_NONE && i < 4; i++)
        if (insn->type[i] == T_NONE) {
            insn->type[i] = (uint8_t)type;
            return;
        }
}

// .collector::b0::fill ... .collector::b3::discard, of .ws
static bool match_collector(const char *text, struct emu_insn *insn) {
    static const char *const what[] = {"fill", "use", "lastuse", "discard"};

    if (strncmp(text, "collector::b", 12) != 0 || text[12] < '0' || text[12] > '3' ||
        strncmp(text + 13, "::", 2) != 0)
        return false;
    for (unsigned i = 0; i < sizeof what / sizeof *what; i++)
        if (strcmp(text + 15, what[i]) == 0) {
            unsigned buffer = 1 + (unsigned)(text[12] - '0');
            insn->collector = (uint8_t)(buffer << COLLECT_BUFFER | (COLLECT_FILL + i));
            return true;
        }
    return false;
}

// .m64n128k16: three numbers
static bool match_shape(const char *text, struct emu_insn *insn) {
    unsigned m, n, k;
    int used = 0;

    if (sscanf(text, "m%3un%3uk%3u%n", &m, &n, &k, &used) != 3 || text[used] != '\0') return false;
    insn->shape[0] = (uint16_t)m;
    insn->shape[1] = (uint16_t)n;
    insn->shape[2] = (uint16_t)k;
    return true;
}

// One word against one pattern element (a class or a literal).
static bool match_word(const char *element, size_t length, const char *text,
                       struct emu_insn *insn) {
    if (*element < 'A' || *element > 'Z' || (length > 2 && memchr(element, ':', length) != NULL)) {
        if (strlen(text) != length || memcmp(element, text, length) != 0) return false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (words[i].field == FIELD_FLAG && strcmp(words[i].text, text) == 0)
                set_field(insn, &words[i]);
        add_type(insn, text);
        return true;
    }
    if (length == 3 && memcmp(element, "NaN", 3) == 0) {
        if (strcmp(text, "NaN") != 0) return false;
        insn->flags |= F_NAN;
        return true;
    }
    if (length == 5 && memcmp(element, "SHAPE", 5) == 0) return match_shape(text, insn);
    if (length == 4 && memcmp(element, "HINT", 4) == 0) return match_collector(text, insn);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].class_) == length && memcmp(words[i].class_, element, length) == 0 &&
            strcmp(words[i].text, text) == 0) {
            set_field(insn, &words[i]);
            return true;
        }
    if (ptx_type_find(text, strlen(text)) == T_NONE || !in_type_class(element, length, text))
        return false;
    add_type(insn, text);
    return true;
}

bool emu_match_form(const struct emu_op *row, const struct ptx_statement *statement,
                    struct emu_insn *insn) {
    const char *at = row->form + statement->opcode.length;
    uint32_t word = 0;

    while (*at != '\0') {
        bool optional = *at == '{';
        const char *element = at + (optional ? 2 : 1);
        size_t length = strcspn(element, ".{}*");
        bool repeats = element[length] == '*';
        bool matched = word < statement->word_count &&
                       match_word(element, length, statement->words[word].text, insn);
        word += matched;
        if (!matched && !optional) return false;
        if (!matched || !repeats) {
            at = element + length + repeats;
            if (optional) at++;
        }
    }
    return word == statement->word_count;
}
