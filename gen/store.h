// Where templates and the generator's own Lua come from: folders of the user's, then the program.
// One look-up for both keeps families outside the tree equal to those inside.
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct store;

struct store_file {
    const char *name;  // for messages: "templates/gemm/family.lua", or DIR/gemm/family.lua
    const char *text;  // ends in NUL; NULL: there is no such file
    size_t len;
    size_t number;  // by which store_known finds it again
};

// [folders], with a : between them, are searched in order, before the embedded templates; may be
// NULL.
struct store *store_new(const char *folders);

// True where [path] is one below a folder, as a family may name it: words with a / between, none
// of which begins with a dot.
bool store_is_path(const char *path);

// The file [path], "templates/..." or "gen/lua/...". It lives as long as the store. Where it exists
// but cannot be read, or is a link that leads out of the folder of templates, text is NULL and *why
// says why; where it does not exist, *why is NULL.
struct store_file store_find(struct store *, const char *path, const char **why);

// The same at one place of the search, from 0; the last of them is the program.
size_t store_places(const struct store *);
struct store_file store_find_at(struct store *, size_t place, const char *path, const char **why);

// The file [number] of those that were found, and the one that messages call [name]; NULL as the
// text: there is none.
struct store_file store_known(const struct store *, size_t number);
struct store_file store_named(const struct store *, const char *name);

// Whether the program holds [path] with this very text.
bool store_embedded(const char *path, const char *text, size_t len);

// Of the program's own templates that were found, from number *from on, the first that [folder] has
// with another text, as "templates/..."; NULL: none. *from is where to go on when more were found.
const char *store_outdated(const struct store *, const char *folder, size_t *from);

// What Lua compiled a file that was found to: the program's own when it was built, the user's by
// the first of many specs. NULL: nothing yet. store_keep takes over [code].
const char *store_compiled(const struct store *, size_t number, size_t *len);
void store_keep(struct store *, size_t number, char *code, size_t len);

// The sorted paths of the files directly in [folder] ("templates/ptx"), of all places, each once.
// Ends with NULL; free it with store_list_free.
char **store_list(const struct store *, const char *folder);

// The families: the folders below templates/ that hold a family.lua.
char **store_families(const struct store *);
void store_list_free(char **);
