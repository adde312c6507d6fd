// Says where libtmagen finds NVRTC: exit 0 and one line; or 3 and the places where it looked.
// For scripts, so that none of them repeats the library's search.
#include "runtime/tmagen.h"
#include <stdio.h>

int main(void) {
    char text[4096];
    if (tmagen_compiler_describe(text, sizeof text)) {
        printf("%s\n", tmagen_error_last());
        return 3;
    }
    printf("%s\n", text);
    return 0;
}
