// Splits templates/ptx into items, finds the identifiers each defines, and closes over their uses.
// Text is enough for that: items are separated by blank lines and start in the first column.
// What a template can make for hundreds of types and widths it makes for those that are named: all
// of them were a third of what generation took.
#include "gen/prelude.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_SIZE = 1024 };
static const size_t NONE = SIZE_MAX;

struct item {
    const char *begin, *end;           // without the blank lines around it
    const tmagen_source_line *origin;  // of its lines
    bool wanted, tight;                // tight: one line, which stands close to others of its kind
};

struct name {
    const char *text;
    size_t len;
    size_t file, item;        // item NONE: the file is a template that can make it, and was not to
    tmagen_source_line from;  // then: the template's line
    struct name *next;
};

// A file of one place of the search.
struct ptx_file {
    const char *path;
    struct store_file source;
    struct text text;
    struct item *items;
    size_t count, capacity;
    bool lacks;  // something that a source names
};

struct ptx {
    struct ptx_file *files;
    size_t file_count, file_capacity;
    struct name *names[HASH_SIZE];
    struct name *asked[HASH_SIZE];  // what templates are to make: what sources have named so far
    struct arena arena;
    const struct item **todo;  // wanted, but not yet searched
    size_t todo_count, todo_capacity;
    bool several;       // places that files come from
    struct diag *diag;  // while files are read
};

struct identifier {
    const char *text;
    size_t len;
};

// What a character of code can be; every one of the prelude and of the kernel is asked for.
enum { LETTER = 1, DIGIT = 2, OPENS = 4 };  // OPENS a comment or a quoted text

static const unsigned char kinds[256] = {
    ['a' ... 'z'] = LETTER, ['A' ... 'Z'] = LETTER, ['0' ... '9'] = LETTER | DIGIT,
    ['_'] = LETTER,         ['/'] = OPENS,          ['"'] = OPENS,
    ['\''] = OPENS,
};

static unsigned kind_of(char c) { return kinds[(unsigned char)c]; }

static bool is_letter(char c) { return kind_of(c) & LETTER; }

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
    if (*at == '/') return at;
    const char *stop = at + 1;
    for (; stop < end && *stop != *at && *stop != '\n'; stop++)
        if (*stop == '\\') stop++;
    return stop < end ? stop + 1 : end;
}

// The next identifier of CUDA code in [*at, end); len 0: there is none. *at moves past it.
static struct identifier next_word(const char **at, const char *end) {
    const char *p = *at;
    while (p < end) {
        const unsigned kind = kind_of(*p);
        if (kind & LETTER) {
            const char *begin = p;
            while (p < end && is_letter(*p)) p++;
            if (kind & DIGIT) continue;
            *at = p;
            return (struct identifier){.text = begin, .len = (size_t)(p - begin)};
        }
        const char *skipped = kind & OPENS ? skip_text(p, end) : p;
        p = skipped > p ? skipped : p + 1;
    }
    *at = end;
    return (struct identifier){.text = end};
}

static unsigned hash(struct identifier word) {
    unsigned h = 2166136261u;
    for (size_t i = 0; i < word.len; i++) h = (h ^ (unsigned char)word.text[i]) * 16777619u;
    return h % HASH_SIZE;
}

static struct name *find_name(struct name *name, struct identifier word) {
    while (name && (name->len != word.len || memcmp(name->text, word.text, word.len) != 0))
        name = name->next;
    return name;
}

static void add_name(struct ptx *ptx, struct name **table, struct name name) {
    struct name *added = arena_alloc(&ptx->arena, sizeof *added);
    const unsigned h = hash((struct identifier){.text = name.text, .len = name.len});
    *added = name;
    added->next = table[h];
    table[h] = added;
}

// What defines [word] besides item [item] of [file]; NULL: nothing does. Functions of one name and
// several types count too: a source would get all of them where it means one. What files of one
// path could make counts when they make it: they may be copies.
static const struct name *defined(const struct ptx *ptx, size_t file, size_t item,
                                  struct identifier word) {
    const struct name *name = find_name(ptx->names[hash(word)], word);
    for (; name; name = find_name(name->next, word)) {
        const bool possible = item == NONE || name->item == NONE;
        if (possible ? strcmp(ptx->files[name->file].path, ptx->files[file].path) != 0
                     : name->file != file || name->item != item)
            return name;
    }
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

static struct diag_place place_of(const struct ptx *ptx, const struct name *name) {
    if (name->item == NONE)
        return (struct diag_place){.file = name->from.file, .line = name->from.line};
    const struct item *item = &ptx->files[name->file].items[name->item];
    return place_in(item, item->begin);
}

static void refuse(struct ptx *ptx, size_t file, struct diag_place here, const struct name *first,
                   struct identifier word) {
    const struct diag_place there = place_of(ptx, first);
    const bool namesakes = !strcmp(here.file, there.file);
    diag_error(ptx->diag, here, "a name of its own", "%.*s is defined already, at %s:%d%s",
               (int)word.len, word.text, there.file, there.line,
               namesakes && file != first->file ? " of the program's own" : "");
}

// The item is the next one of the last of [files], or of the one that is made again.
static void define(struct ptx *ptx, size_t file, const struct item *item, struct identifier word) {
    if (!word.len) return;
    const size_t number = ptx->files[file].count;
    const struct name *first = defined(ptx, file, number, word);
    if (first) refuse(ptx, file, place_in(item, word.text), first, word);
    add_name(ptx, ptx->names,
             (struct name){.text = word.text, .len = word.len, .file = file, .item = number});
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
static void define_declaration(struct ptx *ptx, size_t file, const struct item *item,
                               const char *at) {
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
            return define(ptx, file, item, last_before(at, end, forms[i].stops));
}

// Defines what the declarations of an item name.
static void define_all(struct ptx *ptx, size_t file, const struct item *item) {
    for (const char *at = item->begin; at < item->end;) {
        const char *newline = memchr(at, '\n', (size_t)(item->end - at));
        if (is_letter(*at)) define_declaration(ptx, file, item, at);
        at = newline ? newline + 1 : item->end;
    }
}

static bool has_item(const struct ptx_file *file, const char *begin, size_t len) {
    for (size_t i = 0; i < file->count; i++) {
        const struct item *item = &file->items[i];
        if ((size_t)(item->end - item->begin) == len && !memcmp(item->begin, begin, len))
            return true;
    }
    return false;
}

// True where another file has the very same item, as in a copy of all templates.
static bool is_copy(const struct ptx *ptx, size_t file, const char *begin, const char *end) {
    for (size_t i = 0; i < ptx->file_count; i++)
        if (i != file && has_item(&ptx->files[i], begin, (size_t)(end - begin))) return true;
    return false;
}

static void add_item(struct ptx *ptx, size_t number, const char *begin, const char *end,
                     const tmagen_source_line *origin) {
    if (ptx->several && is_copy(ptx, number, begin, end)) return;
    struct ptx_file *file = &ptx->files[number];
    struct item item = {.begin = begin, .end = end, .origin = origin};
    item.tight = memchr(begin, '\n', (size_t)(end - begin)) == end - 1;
    define_all(ptx, number, &item);
    MEM_PUSH(file->items, file->count, file->capacity, item);
}

// Where the item that begins at [at] ends: before a blank line after which a new one begins.
static const char *item_end(const char *at, const char *end) {
    for (; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
        if (at + 1 < end && at[1] != '\n') continue;
        if (at + 2 >= end || (!isspace((unsigned char)at[2]) && at[2] != '}')) return at + 1;
    }
    return end;
}

static void split(struct ptx *ptx, size_t file) {
    const struct text *text = &ptx->files[file].text;
    const char *at = text->data, *end = at + text->len;
    const tmagen_source_line *origin = text->lines;
    while (at < end) {
        const char *stop = item_end(at, end);
        add_item(ptx, file, at, stop, origin);
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

// Makes [word] known as something that [file] can make, at line [from].
static void offer(struct ptx *ptx, size_t file, struct identifier word, tmagen_source_line from) {
    const struct diag_place here = {.file = from.file, .line = from.line};
    const struct name *first = defined(ptx, file, NONE, word);
    if (first) refuse(ptx, file, here, first, word);
    const char *copy = arena_copy(&ptx->arena, word.text, word.len);
    add_name(
        ptx, ptx->names,
        (struct name){.text = copy, .len = word.len, .file = file, .item = NONE, .from = from});
}

static tmagen_source_line running_line(lua_State *L, const struct ptx_file *file) {
    lua_Debug caller;
    lua_getstack(L, 1, &caller);
    lua_getinfo(L, "l", &caller);
    return (tmagen_source_line){.file = file->source.name, .line = caller.currentline};
}

enum { DIGITS = 19 };  // of a number that is not negative

// Writes BEFORE NUMBER AFTER, for which there is room; returns its length. A kernel has hundreds of
// such names to choose from, of which printf would take more time than all else does.
static size_t put_name(char *name, const char *before, lua_Integer number, const char *after) {
    char digits[DIGITS], *first = digits + DIGITS, *at = stpcpy(name, before);
    do *--first = (char)('0' + number % 10);
    while (number /= 10);
    const size_t count = (size_t)(digits + DIGITS - first);
    memcpy(at, first, count);
    return (size_t)(stpcpy(at + count, after) - name);
}

// wanted(before, after, first, last, step): a list of those numbers for which a source names BEFORE
// NUMBER AFTER, so that the template is to make that. What is not wanted it can make.
static int wanted(lua_State *L) {
    struct ptx *ptx = lua_touserdata(L, lua_upvalueindex(1));
    const size_t file = (size_t)lua_tointeger(L, lua_upvalueindex(2));
    const char *before = luaL_checkstring(L, 1), *after = luaL_checkstring(L, 2);
    const lua_Integer last = luaL_checkinteger(L, 4), step = luaL_checkinteger(L, 5);
    const tmagen_source_line from = running_line(L, &ptx->files[file]);
    const lua_Integer first = luaL_checkinteger(L, 3);
    char name[128];
    luaL_argcheck(L, first >= 0, 3, "must not be negative");
    luaL_argcheck(L, step > 0, 5, "must be positive");
    luaL_argcheck(L, strlen(before) + strlen(after) + DIGITS < sizeof name, 1, "is too long");
    lua_newtable(L);
    for (lua_Integer n = first, count = 0; n <= last; n += step) {
        const struct identifier word = {.text = name, .len = put_name(name, before, n, after)};
        if (find_name(ptx->asked[hash(word)], word)) {
            lua_pushinteger(L, n);
            lua_rawseti(L, -2, ++count);
        } else {
            offer(ptx, file, word, from);
        }
    }
    return 1;
}

// expand(ptx, file): a file of loops, with nothing of a spec in its environment
static int expand(lua_State *L) {
    const struct ptx *ptx = lua_touserdata(L, 1);
    lua_createtable(L, 0, 1);
    lua_insert(L, 1);
    const struct store_file file = ptx->files[lua_tointeger(L, 3)].source;
    lua_pushcclosure(L, wanted, 2);
    lua_setfield(L, 1, "wanted");
    sandbox_environment(L, 1);
    template_run_file(L, file, "templates/ptx", -1);
    return 1;
}

static bool expanded_text(struct ptx *ptx, struct script *s, size_t file, struct text *text) {
    lua_State *L = script_lua(s);
    lua_pushcfunction(L, expand);
    lua_pushlightuserdata(L, ptx);
    lua_pushinteger(L, (lua_Integer)file);
    if (!script_call(s, 2, 1)) return false;
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

// Finds the items of a file, whose names are not known yet. They point into the text's bytes.
static bool fill(struct ptx *ptx, struct script *s, size_t number) {
    struct text text = {0};
    struct ptx_file *file = &ptx->files[number];
    if (!ends_with(file->path, ".in"))
        text = plain_text(file->source);
    else if (!expanded_text(ptx, s, number, &text))
        return false;
    text_free(&file->text);
    file->text = text;
    file->count = 0;
    file->lacks = false;
    split(ptx, number);
    return true;
}

// Reads the file [path] of one place of the search, where there is one.
static bool load_file(struct ptx *ptx, struct script *s, const char *path, size_t place) {
    const char *why;
    struct ptx_file file = {.path = path};
    file.source = store_find_at(script_store(s), place, path, &why);
    if (why)
        diag_error(ptx->diag, (struct diag_place){.file = path}, NULL, "cannot read it: %s", why);
    if (!file.source.text) return !why;
    script_know_file(s, file.source);
    file.path = arena_copy(&ptx->arena, path, strlen(path));
    MEM_PUSH(ptx->files, ptx->file_count, ptx->file_capacity, file);
    return fill(ptx, s, ptx->file_count - 1);
}

// Those of all places: a file of the user's adds to ours of the same name.
static bool load_files(struct ptx *ptx, struct script *s, const char *path) {
    bool good = true;
    for (size_t place = store_places(script_store(s)); place-- > 0;)
        good &= load_file(ptx, s, path, place);
    return good;
}

// Lets templates make all that [kernel] names, wherever it comes from.
static void ask_for(struct ptx *ptx, const struct text *kernel) {
    const char *at = kernel->data, *end = at + kernel->len;
    for (struct identifier word; (word = next_word(&at, end)).len;) {
        if (find_name(ptx->asked[hash(word)], word)) continue;
        const char *copy = arena_copy(&ptx->arena, word.text, word.len);
        add_name(ptx, ptx->asked, (struct name){.text = copy, .len = word.len});
    }
}

// types.cuh first, the others by name.
struct ptx *ptx_load(struct script *s, const struct text *kernel) {
    static const char TYPES[] = "templates/ptx/types.cuh";
    struct ptx *ptx = mem_zero(sizeof *ptx);
    ptx->diag = script_diag(s);
    ptx->several = store_places(script_store(s)) > 1;
    size_t errors = diag_errors(ptx->diag);
    char **paths = store_list(script_store(s), "templates/ptx");
    if (kernel->len) ask_for(ptx, kernel);
    bool good = true;
    for (size_t i = 0; paths[i]; i++)
        if (!strcmp(paths[i], TYPES)) good &= load_files(ptx, s, paths[i]);
    for (size_t i = 0; paths[i]; i++) {
        bool item_file = ends_with(paths[i], ".cuh") || ends_with(paths[i], ".cuh.in");
        if (item_file && strcmp(paths[i], TYPES) != 0) good &= load_files(ptx, s, paths[i]);
    }
    store_list_free(paths);
    if (good && diag_errors(ptx->diag) == errors) return ptx;
    ptx_free(ptx);
    return NULL;
}

void ptx_free(struct ptx *ptx) {
    if (!ptx) return;
    for (size_t i = 0; i < ptx->file_count; i++) {
        text_free(&ptx->files[i].text);
        free(ptx->files[i].items);
    }
    free(ptx->files);
    free(ptx->todo);
    arena_free(&ptx->arena);
    free(ptx);
}

// Marks the item that [name] is of, and puts it on the list; or asks its template for it.
static void want_name(struct ptx *ptx, const struct name *name) {
    struct ptx_file *file = &ptx->files[name->file];
    if (name->item == NONE) {
        file->lacks = true;
        add_name(ptx, ptx->asked, (struct name){.text = name->text, .len = name->len});
    } else if (!file->items[name->item].wanted) {
        file->items[name->item].wanted = true;
        MEM_PUSH(ptx->todo, ptx->todo_count, ptx->todo_capacity, &file->items[name->item]);
    }
}

// Wants what [at, end) names.
static void want(struct ptx *ptx, const char *at, const char *end) {
    for (;;) {
        struct identifier word = next_word(&at, end);
        if (!word.len) return;
        const struct name *name = find_name(ptx->names[hash(word)], word);
        for (; name; name = find_name(name->next, word)) want_name(ptx, name);
    }
}

// Marks what [kernel] names, and what that names, and nothing else.
static void close_over(struct ptx *ptx, const struct text *kernel) {
    for (size_t f = 0; f < ptx->file_count; f++)
        for (size_t i = 0; i < ptx->files[f].count; i++) ptx->files[f].items[i].wanted = false;
    if (kernel->len) want(ptx, kernel->data, kernel->data + kernel->len);
    while (ptx->todo_count) {
        const struct item *item = ptx->todo[--ptx->todo_count];
        want(ptx, item->begin, item->end);
    }
}

// Forgets the names of files that lack something.
static void forget(struct ptx *ptx) {
    for (size_t i = 0; i < HASH_SIZE; i++)
        for (struct name **link = &ptx->names[i]; *link;) {
            if (ptx->files[(*link)->file].lacks)
                *link = (*link)->next;
            else
                link = &(*link)->next;
        }
}

// Expands those templates once more that lack what a source names; their number goes to [made].
static bool make_missing(struct ptx *ptx, struct script *s, size_t *made) {
    *made = 0;
    forget(ptx);
    for (size_t i = 0; i < ptx->file_count; i++) *made += ptx->files[i].lacks;
    for (size_t i = 0; i < ptx->file_count; i++)
        if (ptx->files[i].lacks && !fill(ptx, s, i)) return false;
    return true;
}

// Marks what [kernel] needs, after its templates have made it.
static void find_needed(struct ptx *ptx, struct script *s, const struct text *kernel) {
    ptx->diag = script_diag(s);
    const size_t errors = diag_errors(ptx->diag);
    size_t made;
    do {
        close_over(ptx, kernel);
    } while (make_missing(ptx, s, &made) && made && diag_errors(ptx->diag) == errors);
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

void ptx_prelude(struct ptx *ptx, struct script *s, const struct text *kernel, struct text *out) {
    const struct item *last = NULL;
    find_needed(ptx, s, kernel);
    for (size_t f = 0; f < ptx->file_count; f++, last = NULL) {
        for (size_t i = 0; i < ptx->files[f].count; i++) {
            const struct item *item = &ptx->files[f].items[i];
            if (!item->wanted) continue;
            if (!last || !last->tight || !item->tight) text_end_line(out, (tmagen_source_line){0});
            append_item(item, out);
            last = item;
        }
    }
}

size_t ptx_count_name(const char *source, size_t len, const char *word) {
    size_t count = 0;
    const char *at = source, *end = source + len;
    for (struct identifier next; (next = next_word(&at, end)).len;) count += word_is(next, word);
    return count;
}

bool ptx_next_function(const char **at, const char *end, const char **name, size_t *len) {
    for (struct identifier next; (next = next_word(at, end)).len;) {
        if (*at == end || (**at != '(' && **at != '<')) continue;
        *name = next.text;
        *len = next.len;
        return true;
    }
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
