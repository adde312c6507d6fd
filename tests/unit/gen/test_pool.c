// Memory of a Lua state: pieces keep what they hold, of whatever size, and no more is given than
// there may be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "gen/pool.h"

enum { PIECES = 300, TURNS = 40000, LIMIT = 1 << 20 };

struct held {
    unsigned char *bytes, fill;
    size_t size;
};

static uint32_t draw(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static void holds(const struct held *piece, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) assert_int_equal(piece->bytes[i], piece->fill);
}

static void resize(struct pool *pool, struct held *piece, size_t size) {
    const size_t left = pool->left;
    unsigned char *bytes = pool_resize(pool, piece->bytes, piece->size, size);
    if (size && !bytes) {
        assert_true(size > piece->size && size - piece->size > left);
        return holds(piece, piece->size);
    }
    assert_int_equal((uintptr_t)bytes % POOL_STEP, 0);
    assert_int_equal(pool->left, left + piece->size - size);
    piece->bytes = bytes;
    if (size) holds(piece, size < piece->size ? size : piece->size);
    piece->size = size;
    piece->fill = (unsigned char)draw();
    if (size) memset(bytes, piece->fill, size);
}

static void test_pieces(void **state) {
    (void)state;
    static struct held pieces[PIECES];
    struct pool pool = {.left = LIMIT};
    for (int turn = 0; turn < TURNS; turn++) {
        struct held *piece = &pieces[draw() % PIECES];
        if (piece->size) holds(piece, piece->size);
        resize(&pool, piece, draw() % 4 ? draw() % 600 : draw() % 30000);
    }
    for (int i = 0; i < PIECES; i += 2) resize(&pool, &pieces[i], 0);
    pool_free(&pool);  // and those that are left
}

static void test_limit(void **state) {
    (void)state;
    struct pool pool = {.left = 1000};
    struct held piece = {0}, other = {0};
    resize(&pool, &piece, 600);
    assert_null(pool_resize(&pool, NULL, 0, 401));
    resize(&pool, &other, 400);
    assert_int_equal(pool.left, 0);
    resize(&pool, &piece, 100);
    resize(&pool, &other, 900);
    assert_non_null(other.bytes);
    pool_free(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
