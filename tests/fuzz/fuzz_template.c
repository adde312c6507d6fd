// Fuzzes the translation of templates: any bytes become a chunk of as many lines, or an error.
// Lua reads the chunk but does not run it: endless loops are legal, and the sandbox's to stop.
#include <lauxlib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gen/diag.h"
#include "gen/expand.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_lines(const char *text, size_t len) {
    size_t lines = 0;
    for (size_t i = 0; i < len; i++) lines += text[i] == '\n';
    return lines + (len && text[len - 1] != '\n');
}

static void check_values(const char *text, size_t len) {
    const char *stop;
    for (int i = 0; i < 4; i++) {
        const char *value = expand_value(text, text + len, i, &stop);
        if (value && (value < text || stop < value || stop >= text + len)) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    // a copy without a byte to spare, so that a read past the end shows
    char *text = malloc(size ? size : 1);
    memcpy(text, data, size);
    struct diag *diag = diag_new();
    size_t len;
    char *chunk = expand_translate(diag, "t", text, size, &len);
    if (!chunk != (diag_errors(diag) > 0)) abort();
    if (chunk && count_lines(chunk, len) != count_lines(text, size) + (size == 0)) abort();
    lua_State *L = luaL_newstate();
    if (chunk) luaL_loadbufferx(L, chunk, len, "=t", "t");
    lua_close(L);
    check_values(text, size);
    free(chunk);
    diag_free(diag);
    free(text);
    return 0;
}
