// The letters of a row's operands: what stands there, how wide it is, and whether it is written.
// One table for all who read them: what matches, what becomes slots, what a pending wgmma forbids.
#include "runtime/emu/decode/decode.h"

#define K(kind)     (1u << OPERAND_##kind)
#define DESTINATION (K(SLOT) | K(SINK))
#define SOURCE      (K(SLOT) | K(SPECIAL) | K(INT) | K(F32) | K(F64) | K(SYMBOL) | K(NAME))

// A missing row is a letter that means nothing; its entry has no kinds.
static const struct emu_letter letters[128] = {
    // as wide as the first type, as the second, as twice the first
    ['d'] = {LETTER_VALUE, WIDTH_FIRST, DESTINATION, .written = true},
    ['a'] = {LETTER_VALUE, WIDTH_FIRST, SOURCE, .written = false},
    ['e'] = {LETTER_VALUE, WIDTH_SECOND, DESTINATION, .written = true},
    ['f'] = {LETTER_VALUE, WIDTH_SECOND, SOURCE, .written = false},
    ['w'] = {LETTER_VALUE, WIDTH_DOUBLE, DESTINATION, .written = true},
    ['x'] = {LETTER_VALUE, WIDTH_DOUBLE, SOURCE, .written = false},
    // 32 bits, 64 bits, any number of them
    ['I'] = {LETTER_VALUE, WIDTH_32, DESTINATION, .written = true},
    ['i'] = {LETTER_VALUE, WIDTH_32, SOURCE, .written = false},
    ['J'] = {LETTER_VALUE, WIDTH_64, DESTINATION, .written = true},
    ['j'] = {LETTER_VALUE, WIDTH_64, SOURCE, .written = false},
    ['r'] = {LETTER_VALUE, WIDTH_ANY, DESTINATION, .written = true},
    ['s'] = {LETTER_VALUE, WIDTH_ANY, SOURCE, .written = false},
    ['n'] = {LETTER_NUMBER, WIDTH_ANY, K(INT), .written = false},
    // predicates, alone, as p|q, and behind a register
    ['P'] = {LETTER_PREDICATE, WIDTH_ANY, K(PRED) | K(SINK), .written = true},
    ['p'] = {LETTER_PREDICATE, WIDTH_ANY, K(PRED) | K(INT), .written = false},
    ['Q'] = {LETTER_PREDICATES, WIDTH_ANY, K(PRED) | K(PAIR), .written = true},
    ['X'] = {LETTER_WITH_PREDICATE, WIDTH_32, DESTINATION | K(PAIR), .written = true},
    // lists, or a single register in their place
    ['V'] = {LETTER_LIST, WIDTH_ANY, K(VECTOR) | SOURCE | K(SINK), .written = true},
    ['v'] = {LETTER_LIST, WIDTH_ANY, K(VECTOR) | SOURCE | K(SINK), .written = false},
    ['U'] = {LETTER_LIST, WIDTH_ANY, K(VECTOR), .written = true},
    ['u'] = {LETTER_LIST, WIDTH_ANY, K(VECTOR), .written = false},
    // addresses
    ['m'] = {LETTER_ADDRESS, WIDTH_ANY, K(ADDRESS), .written = false},
    ['T'] = {LETTER_TENSOR, WIDTH_ANY, K(ADDRESS), .written = false},
    // control
    ['l'] = {LETTER_LABEL, WIDTH_ANY, K(NAME), .written = false},
    ['L'] = {LETTER_LABELS, WIDTH_ANY, K(NAME), .written = false},
    ['N'] = {LETTER_PROTOTYPE, WIDTH_ANY, K(NAME), .written = false},
    ['F'] = {LETTER_FUNCTION, WIDTH_ANY, K(SYMBOL), .written = false},
    ['A'] = {LETTER_PARAMS, WIDTH_ANY, K(VECTOR), .written = false},
};

const struct emu_letter *emu_letter(char letter) { return &letters[letter & 127]; }
