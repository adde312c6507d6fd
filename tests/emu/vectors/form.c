// From rows to forms: chooses alternatives, gives inputs and results their registers.
// The text of a form is its identity: what it is given and what was recorded hang on a key of it.
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emu/vectors/vectors.h"

void text_add(struct program_lines *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (text->length + (size_t)length + 1 > text->capacity) {
        text->capacity = 2 * text->capacity + (size_t)length + 256;
        text->data = realloc(text->data, text->capacity);
        if (!text->data) abort();
    }
    va_start(arguments, format);
    vsnprintf(text->data + text->length, text->capacity - text->length, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

static _Noreturn void reject(const char *text, const char *why) {
    fprintf(stderr, "vectors: %s: in the form %s\n", why, text);
    exit(2);
}

static uint64_t key_of(const char *text) {
    uint64_t key = UINT64_C(0xcbf29ce484222325);
    for (; *text; ++text) key = (key ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return key;
}

// ---- Alternatives

struct expansion {
    const struct vector_table *table;
    const struct vector_row *row;
    struct forms *forms;
};

static void translate(struct form *form, size_t number);

static void add_form(const struct expansion *expansion, const char *text) {
    struct forms *forms = expansion->forms;
    forms->list = realloc(forms->list, (forms->count + 1) * sizeof *forms->list);
    if (!forms->list) abort();
    struct form *form = &forms->list[forms->count];
    *form = (struct form){.table = expansion->table, .row = expansion->row, .text = strdup(text)};
    form->key = key_of(text);
    translate(form, forms->count++);
}

// Adds a form for each way to choose in [rest]; [chosen] is what stands before it.
static void expand(const struct expansion *expansion, const char *chosen, const char *rest) {
    const char *open = strchr(rest, '<'), *close = open ? strchr(open, '>') : NULL;
    char whole[4096];
    if (!open) {
        snprintf(whole, sizeof whole, "%s%s", chosen, rest);
        add_form(expansion, whole);
        return;
    }
    if (!close) reject(rest, "'<' without '>'");
    for (const char *from = open + 1; from <= close;) {
        size_t length = strcspn(from, "|>");
        int written = snprintf(whole, sizeof whole, "%s%.*s%.*s", chosen, (int)(open - rest), rest,
                               (int)length, from);
        if (written >= (int)sizeof whole) reject(rest, "too long");
        expand(expansion, whole, close + 1);
        from += length + 1;
    }
}

// ---- Marks

static size_t add_slot(const struct form *form, char *slots, size_t *count, char letter) {
    if (!class_of(letter)) reject(form->text, "a class that there is not");
    if (*count == SLOTS_MAX) reject(form->text, "too many slots");
    slots[*count] = letter;
    return (*count)++;
}

static void add_register(struct form *form, struct program_lines *body, char mark, char letter) {
    size_t slot;
    if (mark == '$') {
        slot = add_slot(form, form->in, &form->in_count, letter);
        text_add(body, "a%zu", slot);
        return;
    }
    slot = add_slot(form, form->out, &form->out_count, letter);
    text_add(body, "r%zu", slot);
}

// '$', '=' or '+' and what follows. A '+' is an input that is moved to the result at the start.
static const char *translate_mark(struct form *form, struct program_lines *body,
                                  struct program_lines *start, const char *at) {
    char mark = *at++;
    long count = 1;
    bool list = *at == '{';
    if (list) count = strtol(at + 1, (char **)(uintptr_t)&at, 10);
    char letter = *at++;
    if (list) text_add(body, "{");
    for (long i = 0; i < count; ++i) {
        if (i) text_add(body, ", ");
        if (mark == '+') {
            size_t in = add_slot(form, form->in, &form->in_count, letter);
            text_add(start, "mov%s r%zu, a%zu;\n", class_of(letter)->register_type, form->out_count,
                     in);
        }
        add_register(form, body, mark, letter);
    }
    if (!list) return at;
    if (*at != '}') reject(form->text, "no '}' behind a list");
    text_add(body, "}");
    return at + 1;
}

struct block_copy {
    bool global, fill;
    unsigned at, bytes;
    char letter;
};

// fill and dump: each thread moves every [threads]th word. The last statement's ';' is the text's.
static void translate_copy(struct form *form, struct program_lines *body,
                           const struct block_copy *copy) {
    unsigned step = 4 * form->table->threads;
    const char *space = copy->global ? "global" : "shared", *base = copy->global ? "g4" : "s4";
    if (copy->bytes % step) reject(form->text, "not a whole number of words a thread");
    for (unsigned at = 0; at < copy->bytes; at += step) {
        if (at) text_add(body, ";\n");
        if (copy->fill) {
            text_add(body, "st.%s.b32 [%s+%u], ", space, base, copy->at + at);
            add_register(form, body, '$', copy->letter);
        } else {
            text_add(body, "ld.%s.b32 ", space);
            add_register(form, body, '=', 'i');
            text_add(body, ", [%s+%u]", base, copy->at + at);
        }
    }
}

// Whether [at] starts a copy; *end is then behind it.
static bool parse_copy(const char *at, struct block_copy *copy, const char **end) {
    int length = 0;
    *copy = (struct block_copy){.global = *at == 'g'};
    const char *word = at + copy->global;
    if (sscanf(word, "fill(%u,%u,%c)%n", &copy->at, &copy->bytes, &copy->letter, &length) == 3 &&
        length)
        copy->fill = true;
    else if (sscanf(word, "dump(%u,%u)%n", &copy->at, &copy->bytes, &length) != 2 || !length)
        return false;
    *end = word + length;
    return true;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

static void translate(struct form *form, size_t number) {
    struct program_lines body = {0}, start = {0};
    const char *end;
    struct block_copy copy;
    text_add(&start, "%s", "");
    text_add(&body, "%s", "");
    const char *begin = strncmp(form->text, "map(", 4) ? form->text : strchr(form->text, ')') + 1;
    for (const char *at = begin; *at; at = end) {
        bool word_starts = at == form->text || !is_word(at[-1]);
        end = at + 1;
        if (*at == '$' || *at == '=' || *at == '+') {
            bool mark = isalpha((unsigned char)at[1]) || at[1] == '{';
            if (mark)
                end = translate_mark(form, &body, &start, at);
            else
                text_add(&body, "%c", *at);
        } else if (word_starts && parse_copy(at, &copy, &end)) {
            translate_copy(form, &body, &copy);
        } else if (*at == '#') {
            text_add(&body, "%zu", number);
        } else {
            text_add(&body, "%c%s", *at, *at == ';' ? "\n" : "");
        }
    }
    text_add(&start, "%s", body.data);
    free(body.data);
    form->body = start.data;
}

struct forms forms_of(const struct vector_table *table) {
    struct forms forms = {0};
    for (size_t i = 0; i < table->row_count; ++i)
        expand(&(struct expansion){table, &table->rows[i], &forms}, "", table->rows[i].text);
    return forms;
}

void forms_free(struct forms *forms) {
    for (size_t i = 0; i < forms->count; ++i) {
        free(forms->list[i].text);
        free(forms->list[i].body);
    }
    free(forms->list);
    *forms = (struct forms){0};
}
