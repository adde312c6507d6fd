// Splits templates/ptx into items, finds the identifiers each defines, and closes over their uses.
// Text is enough for that: items are separated by blank lines and start in the first column.
#include "gen/prelude.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_SIZE = 4096 };

struct item {
    const char *begin, *end;           // without the blank lines around it
    const tmagen_source_line *origin;  // of its lines
    bool wanted, tight;                // tight: one line, which stands close to others of its kind
    size_t file;
};

struct name {
    const char *text;
    size_t len;
    size_t item;
    struct name *next;
};

struct ptx {
    struct text *files;
    size_t file_count, file_capacity;
    struct item *items;
    size_t count, capacity;
    struct name *names[HASH_SIZE];
    struct arena arena;
    struct item **todo;  // wanted, but not yet searched; as long as items
    size_t todo_count;
    bool several;       // places that files come from
    struct diag *diag;  // while files are read
};

struct identifier {
    const char *text;
    size_t len;
};

// Of an identifier; every character of the prelude is asked for.
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool word_is(struct identifier word, const char *text) {
    return word.len == strlen(text) && !memcmp(word.text, text, word.len);
}

// Steps over a comment or a quoted text at [at]; returns [at] where there is none.
static const char *skip_text(const char *at, const char *end) {
    if (end - at > 1 && at[0] == '/' && (at[1] == '/' || at[1] == '*')) {
        const char *stop = at[1] == '/' ? memchr(at, '\n', (size_t)(end - at))
                                        : memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
        return !stop ? end : at[1] == '/' ? stop : stop + 2;
    }
    if (*at != '"' && *at != '\'') return at;
    const char *stop = at + 1;
    for (; stop < end && *stop != *at && *stop != '\n'; stop++)
        if (*stop == '\\') stop++;
    return stop < end ? stop + 1 : end;
}

// The next identifier of CUDA code in [*at, end); len 0: there is none. *at moves past it.
static struct identifier next_word(const char **at, const char *end) {
    const char *p = *at;
    while (p < end) {
        if (!is_letter(*p)) {
            const char *skipped = skip_text(p, end);
            p = skipped > p ? skipped : p + 1;
        } else {
            const char *begin = p;
            while (p < end && is_letter(*p)) p++;
            if (isdigit((unsigned char)*begin)) continue;
            *at = p;
            return (struct identifier){.text = begin, .len = (size_t)(p - begin)};
        }
    }
    *at = end;
    return (struct identifier){.text = end};
}

static unsigned hash(struct identifier word) {
    unsigned h = 2166136261u;
    for (size_t i = 0; i < word.len; i++) h = (h ^ (unsigned char)word.text[i]) * 16777619u;
    return h % HASH_SIZE;
}

// The item that defines [word] already; NULL: none does. Functions of one name and several types
// count too: a source would get all of them where it means one.
static const struct item *defined(const struct ptx *ptx, struct identifier word) {
    for (const struct name *name = ptx->names[hash(word)]; name; name = name->next)
        if (name->len == word.len && !memcmp(name->text, word.text, word.len) &&
            name->item < ptx->count)
            return &ptx->items[name->item];
    return NULL;
}

static size_t lines_in(const char *at, const char *end) {
    size_t lines = 0;
    for (; (at = memchr(at, '\n', (size_t)(end - at))); at++) lines++;
    return lines;
}

static struct diag_place place_in(const struct item *item, const char *at) {
    const size_t line = lines_in(item->begin, at);
    return (struct diag_place){.file = item->origin[line].file, .line = item->origin[line].line};
}

static void refuse(struct ptx *ptx, const struct item *item, const struct item *first,
                   struct identifier word) {
    const struct diag_place here = place_in(item, word.text), there = place_in(first, first->begin);
    const bool namesakes = !strcmp(here.file, there.file);
    diag_error(ptx->diag, here, "a name of its own", "%.*s is defined already, at %s:%d%s",
               (int)word.len, word.text, there.file, there.line,
               namesakes && item->file != first->file ? " of the program's own" : "");
}

static void define(struct ptx *ptx, const struct item *item, struct identifier word) {
    if (!word.len) return;
    const struct item *first = defined(ptx, word);
    if (first) refuse(ptx, item, first, word);
    struct name *name = arena_alloc(&ptx->arena, sizeof *name);
    unsigned h = hash(word);
    *name = (struct name){
        .text = word.text, .len = word.len, .item = ptx->count, .next = ptx->names[h]};
    ptx->names[h] = name;
}

// The last identifier before the first of [stops] in [at, end), parentheses of alignas left out.
static struct identifier last_before(const char *at, const char *end, const char *stops) {
    struct identifier last = {.text = end};
    for (;;) {
        const char *before = at;
        struct identifier word = next_word(&at, end);
        for (const char *p = before; p < word.text; p++)
            if (strchr(stops, *p) && last.len) return last;
        if (!word.len) return last;
        if (word_is(word, "alignas") || word_is(word, "__attribute__")) {
            const char *close = memchr(at, ')', (size_t)(end - at));
            at = close ? close + 1 : end;
        } else {
            last = word;
        }
    }
}

// Where the code behind "template <...>" begins.
static const char *after_template(const char *at, const char *end) {
    int open = 0;
    for (; at < end; at++) {
        open += *at == '<';
        if (*at == '>' && --open == 0) return at + 1;
    }
    return end;
}

// Defines what a declaration that begins at [at] in the first column names.
static void define_declaration(struct ptx *ptx, const struct item *item, const char *at) {
    const char *end = item->end;
    static const struct {
        const char *first, *stops;  // the name is the last word before one of these
    } forms[] = {
        {"using", "="},       {"struct", "{:;"},       {"union", "{:;"},    {"enum", "{:;"},
        {"constexpr", "=[{"}, {"__device__", "(=[;{"}, {"static", "(=[;{"}, {"inline", "(=[;{"},
    };
    struct identifier first = next_word(&at, end);
    while (word_is(first, "template")) {
        at = after_template(at, end);
        first = next_word(&at, end);
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (word_is(first, forms[i].first))
            return define(ptx, item, last_before(at, end, forms[i].stops));
}

// Defines what the declarations of an item name.
static void define_all(struct ptx *ptx, const struct item *item) {
    for (const char *at = item->begin; at < item->end;) {
        const char *newline = memchr(at, '\n', (size_t)(item->end - at));
        if (is_letter(*at)) define_declaration(ptx, item, at);
        at = newline ? newline + 1 : item->end;
    }
}

// True where another file has the very same item, as in a copy of all templates.
static bool is_copy(const struct ptx *ptx, const char *begin, const char *end) {
    const size_t len = (size_t)(end - begin);
    for (size_t i = 0; i < ptx->count; i++) {
        const struct item *item = &ptx->items[i];
        if (item->file != ptx->file_count && (size_t)(item->end - item->begin) == len &&
            !memcmp(item->begin, begin, len))
            return true;
    }
    return false;
}

static void add_item(struct ptx *ptx, const char *begin, const char *end,
                     const tmagen_source_line *origin) {
    if (ptx->several && is_copy(ptx, begin, end)) return;
    struct item item = {.begin = begin, .end = end, .origin = origin, .file = ptx->file_count};
    define_all(ptx, &item);
    item.tight = memchr(begin, '\n', (size_t)(end - begin)) == end - 1;
    MEM_PUSH(ptx->items, ptx->count, ptx->capacity, item);
}

// Where the item that begins at [at] ends: before a blank line after which a new one begins.
static const char *item_end(const char *at, const char *end) {
    for (; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
        if (at + 1 < end && at[1] != '\n') continue;
        if (at + 2 >= end || (!isspace((unsigned char)at[2]) && at[2] != '}')) return at + 1;
    }
    return end;
}

static void split(struct ptx *ptx, const struct text *text) {
    const char *at = text->data, *end = at + text->len;
    const tmagen_source_line *origin = text->lines;
    while (at < end) {
        const char *stop = item_end(at, end);
        add_item(ptx, at, stop, origin);
        origin += lines_in(at, stop);
        for (at = stop; at < end && *at == '\n'; at++) origin++;
    }
}

// A file without directives as a text with origins.
static struct text plain_text(struct store_file file) {
    struct text text = {0};
    const char *at = file.text, *end = file.text + file.len;
    for (int line = 1; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        text_add(&text, at, (size_t)(stop - at));
        text_end_line(&text, (tmagen_source_line){.file = file.name, .line = line});
        at = newline ? newline + 1 : end;
    }
    text_trim(&text);
    return text;
}

// expand(file): a file of loops, with nothing of a spec in its environment
static int expand(lua_State *L) {
    const struct store_file *file = lua_touserdata(L, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, SANDBOX_FAMILY);
    template_run_file(L, *file, "templates/ptx", -1);
    return 1;
}

static bool expanded_text(struct script *s, struct store_file file, struct text *text) {
    lua_State *L = script_lua(s);
    lua_pushcfunction(L, expand);
    lua_pushlightuserdata(L, &file);
    if (!script_call(s, 1, 1)) return false;
    struct text *result = template_text(L, -1);
    *text = *result;
    *result = (struct text){0};
    lua_pop(L, 1);
    return true;
}

static bool ends_with(const char *text, const char *end) {
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && !strcmp(text + len - end_len, end);
}

// Reads the file [path] of one place of the search, where there is one.
static bool load_file(struct ptx *ptx, struct script *s, const char *path, size_t place) {
    const char *why;
    struct text text = {0};
    struct store_file file = store_find_at(script_store(s), place, path, &why);
    if (why)
        diag_error(ptx->diag, (struct diag_place){.file = path}, NULL, "cannot read it: %s", why);
    if (!file.text) return !why;
    script_know_file(s, file);
    if (!ends_with(path, ".in"))
        text = plain_text(file);
    else if (!expanded_text(s, file, &text))
        return false;
    split(ptx, &text);  // the items point into the text's bytes, which stay
    MEM_PUSH(ptx->files, ptx->file_count, ptx->file_capacity, text);
    return true;
}

// Those of all places: a file of the user's adds to ours of the same name.
static bool load_files(struct ptx *ptx, struct script *s, const char *path) {
    bool good = true;
    for (size_t place = store_places(script_store(s)); place-- > 0;)
        good &= load_file(ptx, s, path, place);
    return good;
}

// types.cuh first, the others by name.
struct ptx *ptx_load(struct script *s) {
    static const char TYPES[] = "templates/ptx/types.cuh";
    struct ptx *ptx = mem_zero(sizeof *ptx);
    ptx->diag = script_diag(s);
    ptx->several = store_places(script_store(s)) > 1;
    size_t errors = diag_errors(ptx->diag);
    char **paths = store_list(script_store(s), "templates/ptx");
    bool good = true;
    for (size_t i = 0; paths[i]; i++)
        if (!strcmp(paths[i], TYPES)) good &= load_files(ptx, s, paths[i]);
    for (size_t i = 0; paths[i]; i++) {
        bool item_file = ends_with(paths[i], ".cuh") || ends_with(paths[i], ".cuh.in");
        if (item_file && strcmp(paths[i], TYPES) != 0) good &= load_files(ptx, s, paths[i]);
    }
    store_list_free(paths);
    ptx->todo = mem_alloc(ptx->count * sizeof *ptx->todo);
    if (good && diag_errors(ptx->diag) == errors) return ptx;
    ptx_free(ptx);
    return NULL;
}

void ptx_free(struct ptx *ptx) {
    if (!ptx) return;
    for (size_t i = 0; i < ptx->file_count; i++) text_free(&ptx->files[i]);
    free(ptx->files);
    free(ptx->items);
    free(ptx->todo);
    arena_free(&ptx->arena);
    free(ptx);
}

// Marks the items that define what [at, end) names, and puts them on the list.
static void want(struct ptx *ptx, const char *at, const char *end) {
    for (;;) {
        struct identifier word = next_word(&at, end);
        if (!word.len) return;
        for (struct name *name = ptx->names[hash(word)]; name; name = name->next) {
            struct item *item = &ptx->items[name->item];
            if (item->wanted || name->len != word.len || memcmp(name->text, word.text, word.len))
                continue;
            item->wanted = true;
            ptx->todo[ptx->todo_count++] = item;
        }
    }
}

static void append_item(const struct item *item, struct text *out) {
    const tmagen_source_line *origin = item->origin;
    for (const char *at = item->begin; at < item->end; origin++) {
        const char *newline = memchr(at, '\n', (size_t)(item->end - at));
        const char *stop = newline ? newline : item->end;
        text_add(out, at, (size_t)(stop - at));
        text_end_line(out, *origin);
        at = newline ? newline + 1 : item->end;
    }
}

void ptx_prelude(struct ptx *ptx, const struct text *kernel, struct text *out) {
    const struct item *last = NULL;
    for (size_t i = 0; i < ptx->count; i++) ptx->items[i].wanted = false;
    if (kernel->len) want(ptx, kernel->data, kernel->data + kernel->len);
    while (ptx->todo_count) {
        const struct item *item = ptx->todo[--ptx->todo_count];
        want(ptx, item->begin, item->end);
    }
    for (size_t i = 0; i < ptx->count; i++) {
        const struct item *item = &ptx->items[i];
        if (!item->wanted) continue;
        bool close = last && last->tight && item->tight && last->file == item->file;
        if (!close) text_end_line(out, (tmagen_source_line){0});
        append_item(item, out);
        last = item;
    }
}

size_t ptx_count_name(const char *source, size_t len, const char *word) {
    size_t count = 0;
    const char *at = source, *end = source + len;
    for (struct identifier next; (next = next_word(&at, end)).len;) count += word_is(next, word);
    return count;
}

bool ptx_has_function(const char *source, size_t len, const char *word) {
    const char *at = source, *end = source + len;
    for (struct identifier next; (next = next_word(&at, end)).len;)
        if (word_is(next, word) && at < end && (*at == '(' || *at == '<')) return true;
    return false;
}

bool ptx_find_call(const char *source, size_t len, const char *word, const char **begin,
                   const char **end) {
    const char *at = source, *stop = source + len;
    for (struct identifier next; (next = next_word(&at, stop)).len;) {
        if (!word_is(next, word) || at == stop || *at != '(') continue;
        int open = 0;
        *begin = at + 1;
        for (*end = at; *end < stop; ++*end) {
            open += (**end == '(') - (**end == ')');
            if (!open) return true;
        }
    }
    return false;
}
