// UTF-8, as far as error messages need it.
// Input is shown back to the user, and nothing that is no character may reach the terminal.
#pragma once
#include <stddef.h>

// The bytes of the character at [text], before [end]; 0 where there is no valid one.
static inline size_t utf8_length(const char *text, const char *end) {
    const unsigned char *s = (const unsigned char *)text;
    size_t room = (size_t)(end - text);
    size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] > 0xf4 || len > room) return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (len == 2 && s[0] == 0xc2 && s[1] < 0xa0) return 0;  // C1 control characters
    if (len == 3 && s[0] == 0xe0 && s[1] < 0xa0) return 0;  // overlong
    if (len == 3 && s[0] == 0xed && s[1] > 0x9f) return 0;  // surrogates
    if (len == 4 && s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (len == 4 && s[0] == 0xf4 && s[1] > 0x8f) return 0;
    return len;
}
