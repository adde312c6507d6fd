// A spec file with what it stands on (base:) and what is laid over it (--set).
// Maps are merged, all else is replaced, so that a spec says only how it differs from its base.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gen/file.h"
#include "gen/spec.h"

// The files of a chain of bases, from the one being read to the first.
struct base_chain {
    const struct base_chain *below;
    const char *real_path;
    int length;
};

static struct spec_node *copy_node(struct arena *arena, const struct spec_node *node) {
    struct spec_node *copy = arena_alloc(arena, sizeof *copy);
    *copy = *node;
    return copy;
}

static struct spec_node *lay_over(struct arena *arena, struct spec_node *base,
                                  struct spec_node *over);

// Sets one key of a map whose arrays have room.
static void put(struct arena *arena, struct spec_node *map, struct spec_node *key,
                struct spec_node *value) {
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(map->keys[i]->text, key->text) != 0) continue;
        map->keys[i] = key;
        map->values[i] = lay_over(arena, map->values[i], value);
        return;
    }
    map->keys[map->count] = key;
    map->values[map->count++] = value;
}

// What [base] says, except where [over] says otherwise. Neither is changed: aliases share them.
static struct spec_node *lay_over(struct arena *arena, struct spec_node *base,
                                  struct spec_node *over) {
    if (base->kind != SPEC_MAP || over->kind != SPEC_MAP) return over;
    struct spec_node *map = copy_node(arena, over);
    map->capacity = base->count + over->count;
    map->keys = arena_alloc(arena, map->capacity * sizeof(void *));
    map->values = arena_alloc(arena, map->capacity * sizeof(void *));
    map->count = 0;
    for (size_t i = 0; i < base->count; i++) put(arena, map, base->keys[i], base->values[i]);
    for (size_t i = 0; i < over->count; i++) put(arena, map, over->keys[i], over->values[i]);
    return map;
}

// Takes [key] out of a map that is not shared.
static void drop(struct spec_node *map, const char *key) {
    size_t kept = 0;
    for (size_t i = 0; i < map->count; i++) {
        if (!strcmp(map->keys[i]->text, key)) continue;
        map->keys[kept] = map->keys[i];
        map->values[kept++] = map->values[i];
    }
    map->count = kept;
}

static struct spec_node *read_with_bases(struct arena *, struct diag *, const char *path,
                                         struct diag_place named, const struct base_chain *below);

// The path of [base], which the file [path] names: relative to that file's folder.
static char *beside(struct arena *arena, const char *path, const char *base) {
    const char *slash = strrchr(path, '/');
    size_t folder = *base == '/' || !slash ? 0 : (size_t)(slash - path) + 1;
    char *joined = arena_alloc(arena, folder + strlen(base) + 1);
    memcpy(joined, path, folder);
    strcpy(joined + folder, base);
    return joined;
}

static bool in_chain(const struct base_chain *chain, const char *real_path) {
    for (; chain; chain = chain->below)
        if (!strcmp(chain->real_path, real_path)) return true;
    return false;
}

// Errors quote lines of a base, so a spec cannot name just any file as one.
static bool is_spec_name(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml"));
}

// Lays [top], read from [path], over the file that its key base names.
static struct spec_node *over_its_base(struct arena *arena, struct diag *diag, const char *path,
                                       struct spec_node *top, const struct base_chain *chain) {
    struct spec_node *base = spec_get(top, "base");
    if (!base) return top;
    if (base->kind != SPEC_SCALAR || !base->len) {
        diag_error(diag, base->place, "base: FILE, relative to this file",
                   "base: must be the name of a spec file");
        return NULL;
    }
    if (!is_spec_name(base->text)) {
        diag_error(diag, base->place, "a file whose name ends in .yaml or .yml",
                   "base: %s is no spec file", base->text);
        return NULL;
    }
    char *base_path = beside(arena, path, base->text);
    struct spec_node *below = read_with_bases(arena, diag, base_path, base->place, chain);
    if (!below) return NULL;
    below = copy_node(arena, below);
    drop(below, "name");  // a name is one spec's own
    drop(below, "base");
    return lay_over(arena, below, top);
}

// Parses the file [path], which stands at [named] in another file, or nowhere.
static struct spec_node *parse_file(struct arena *arena, struct diag *diag, const char *path,
                                    struct diag_place named, const struct base_chain *chain) {
    const char *why;
    struct file_bytes bytes = file_read(path, SPEC_BYTES_MAX, &why);
    struct diag_place start = {
        .file = arena_copy(arena, path, strlen(path)), .line = 1, .column = 1};
    if (!bytes.data) {
        struct diag_place unplaced = {.file = start.file};
        if (chain->below)
            diag_error(diag, named, NULL, "base: %s: %s", path, why);
        else
            diag_error(diag, unplaced, NULL, "cannot read the spec: %s", why);
        return NULL;
    }
    char *text = arena_copy(arena, bytes.data, bytes.len);
    diag_source(diag, start.file, text, bytes.len);
    free(bytes.data);
    enum spec_origin origin = chain->below ? SPEC_FROM_BASE : SPEC_FROM_FILE;
    struct spec_node *top = spec_parse(arena, diag, start, origin, text, bytes.len);
    if (!top || top->kind == SPEC_MAP) return top;
    diag_error(diag, top->place, "kernel: NAME and other keys", "a spec must be a map");
    return NULL;
}

static struct spec_node *read_with_bases(struct arena *arena, struct diag *diag, const char *path,
                                         struct diag_place named, const struct base_chain *below) {
    char *real_path = realpath(path, NULL);
    struct base_chain chain = {.below = below,
                               .real_path = real_path ? real_path : path,
                               .length = below ? below->length + 1 : 1};
    struct spec_node *top = NULL;
    if (in_chain(below, chain.real_path))
        diag_error(diag, named, NULL, "base: %s stands on itself", path);
    else if (chain.length > SPEC_BASES_MAX)
        diag_error(diag, named, "at most 16 files", "base: the chain of base files is too long");
    else
        top = parse_file(arena, diag, path, named, &chain);
    if (top) top = over_its_base(arena, diag, path, top, &chain);
    free(real_path);
    return top;
}

// All --set as the lines of one text, so that errors can show them.
static const char *join_sets(struct arena *arena, char *const *sets, size_t count, size_t *len) {
    *len = 0;
    for (size_t i = 0; i < count; i++) *len += strlen(sets[i]) + 1;
    char *text = arena_alloc(arena, *len + 1), *at = text;
    for (size_t i = 0; i < count; i++) {
        at = stpcpy(at, sets[i]);
        *at++ = '\n';
    }
    return text;
}

// A map that holds [value] under the one key [name], [len] bytes at [place].
static struct spec_node *wrap(struct arena *arena, struct diag_place place, const char *name,
                              size_t len, struct spec_node *value) {
    struct spec_node *map = arena_alloc(arena, sizeof *map);
    struct spec_node *key = arena_alloc(arena, sizeof *key);
    *key = (struct spec_node){.origin = SPEC_FROM_SET, .place = place, .size = 1, .len = len};
    key->text = arena_copy(arena, name, len);
    *map = (struct spec_node){.kind = SPEC_MAP, .origin = SPEC_FROM_SET, .place = place};
    map->keys = arena_alloc(arena, sizeof(void *));
    map->values = arena_alloc(arena, sizeof(void *));
    map->keys[0] = key;
    map->values[0] = value;
    map->count = map->capacity = 1;
    map->size = value->size + 1;
    return map;
}

// The tree that "a.b=value", the --set number [line], stands for; NULL after an error.
static struct spec_node *parse_set(struct arena *arena, struct diag *diag, const char *set,
                                   int line) {
    struct diag_place place = {.file = "--set", .line = line, .column = 1};
    const char *equals = strchr(set, '='), *legal = "--set KEY=VALUE, as in --set tile.m=128";
    const char *gap = strstr(set, "..");
    if (!equals || equals == set || (gap && gap < equals) || *set == '.' || equals[-1] == '.') {
        diag_error(diag, place, legal, "'%s' sets nothing", set);
        return NULL;
    }
    if (!strncmp(set, "base=", 5)) {
        diag_error(diag, place, NULL, "base: cannot be set here");
        return NULL;
    }
    place.column = (int)(equals - set) + 2;
    size_t len = strlen(equals + 1);
    struct spec_node *node = spec_parse(arena, diag, place, SPEC_FROM_SET, equals + 1, len);
    int depth = 0;
    for (const char *end = equals; node && end > set; depth++) {
        const char *name = end;
        while (name > set && name[-1] != '.') name--;
        place.column = (int)(name - set) + 1;
        node = wrap(arena, place, name, (size_t)(end - name), node);
        end = name > set ? name - 1 : set;
        if (depth < SPEC_DEPTH_MAX) continue;
        diag_error(diag, place, "at most 32 levels", "the key is nested too deeply");
        return NULL;
    }
    return node;
}

// [top], which is NULL where errors left none, with the sets laid over it.
static struct spec_node *lay_sets(struct arena *arena, struct diag *diag, struct spec_node *top,
                                  char *const *sets, size_t set_count) {
    size_t len;
    const char *text = join_sets(arena, sets, set_count, &len);
    if (set_count) diag_source(diag, "--set", text, len);
    for (size_t i = 0; i < set_count; i++) {
        struct spec_node *over = parse_set(arena, diag, sets[i], (int)i + 1);
        if (over && top) top = lay_over(arena, top, over);
    }
    return top;
}

struct spec_node *spec_read(struct arena *arena, struct diag *diag, const char *path,
                            char *const *sets, size_t set_count) {
    struct spec_node *top =
        read_with_bases(arena, diag, path, (struct diag_place){.file = path}, NULL);
    return lay_sets(arena, diag, top, sets, set_count);
}

struct spec_node *spec_read_text(struct arena *arena, struct diag *diag, const char *name,
                                 const char *text, char *const *sets, size_t set_count) {
    struct diag_place start = {.file = name, .line = 1, .column = 1};
    diag_source(diag, name, text, strlen(text));
    struct spec_node *top = spec_parse(arena, diag, start, SPEC_FROM_FILE, text, strlen(text));
    return lay_sets(arena, diag, top, sets, set_count);
}
