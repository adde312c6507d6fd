// precompile FOLDER FILE...: compiles the Lua that the program will hold, so that no run of it
// parses that again: FOLDER/FILE for each module and each template. A file's number in the store is
// its row in the table that scripts/embed.sh makes of the same list. A mistake in a template is an
// error of the build, with its place.
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"
#include "gen/chunk.h"
#include "gen/expand.h"
#include "gen/file.h"

enum { FILE_MAX = 4 << 20 };

static bool ends_with(const char *path, const char *end) {
    const size_t len = strlen(path), end_len = strlen(end);
    return len >= end_len && !strcmp(path + len - end_len, end);
}

static const char *write_code(const char *folder, const char *path, lua_State *L) {
    char *name = mem_format("%s/%s", folder, path), *slash = strrchr(name, '/');
    size_t len;
    char *code = chunk_dump(L, &len);
    struct file_pending file;
    *slash = 0;
    const char *why = file_make_folder(name);
    *slash = '/';
    if (!why) why = file_prepare(name, code, len, &file);
    if (!why) why = file_commit(&file);
    free(code);
    free(name);
    return why;
}

// The Lua source of [path], which the caller frees; NULL after an error.
static char *lua_of(struct diag *diag, const char *path, const struct file_bytes *bytes,
                    size_t *len) {
    *len = bytes->len;
    if (ends_with(path, ".in")) return expand_translate(diag, path, bytes->data, bytes->len, len);
    return mem_copy_n(bytes->data, bytes->len);
}

static void precompile(struct diag *diag, const char *folder, const char *path, size_t number) {
    const struct diag_place place = {.file = path};
    const char *why;
    size_t len;
    struct file_bytes bytes = file_read(path, FILE_MAX, &why);
    char *text = why ? NULL : lua_of(diag, path, &bytes, &len);
    lua_State *L = luaL_newstate();
    if (!L) mem_alloc(SIZE_MAX);
    if (text && chunk_compile(L, number, text, len) != LUA_OK)
        diag_error(diag, place, NULL, "%s", lua_tostring(L, -1));
    else if (text)
        why = write_code(folder, path, L);
    if (why) diag_error(diag, place, NULL, "%s", why);
    lua_close(L);
    free(text);
    free(bytes.data);
}

int main(int argc, char **argv) {
    struct diag *diag = diag_new();
    for (int i = 2; i < argc; i++)
        if (ends_with(argv[i], ".lua") || ends_with(argv[i], ".in"))
            precompile(diag, argv[1], argv[i], (size_t)i - 2);
    diag_print(diag, stderr);
    const bool failed = argc < 2 || diag_errors(diag) > 0;
    diag_free(diag);
    return failed;
}
