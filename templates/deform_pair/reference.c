// The reference of deform_pair: a head of each pixel, then of its right neighbour, or zeros behind
// the end of a row. Nothing is computed, so every element must be equal.
#include "reference.h"

// Whether [pixel] is the last of a row of its level.
static int ends_row(const struct problem *p, int64_t pixel) {
    const int64_t border = 2 * (int64_t)number_of(p, "padded", 0);
    for (int i = 0; number_of(p, "levels", i) > 0; i += 2) {
        const int64_t rows = (int64_t)number_of(p, "levels", i) + border;
        const int64_t pitch = (int64_t)number_of(p, "levels", i + 1) + border;
        if (pixel < rows * pitch) return pixel % pitch == pitch - 1;
        pixel -= rows * pitch;
    }
    return 1;
}

static struct value element(const struct problem *p, const struct tensor *out,
                            const int64_t *index) {
    const int64_t channels = (int64_t)number_of(p, "channels", 0);
    const int64_t piece = index[2] / channels, right = piece % 2;
    if (right && ends_row(p, index[1])) return within(out, 0, 0);
    const int64_t column = piece / 2 * channels + index[2] % channels;
    return within(out, at3(tensor_of(p, "value"), index[0], index[1] + right, column), 0);
}
