// Myers' O(ND) difference algorithm (Algorithmica 1, 1986), with the frontier of every step kept.
// Sources are some hundred lines, so the plain form with its quadratic memory does.
#include "gen/diff.h"

#include <stdlib.h>
#include <string.h>

#include "gen/alloc.h"

enum { CONTEXT = 3, STEPS_MAX = 3000 };

struct diff_line {
    const char *text;
    size_t len;
};

struct diff_lines {
    struct diff_line *items;
    int count;
};

// One line of the result: ' ' in both, '-' of the old, '+' of the new.
struct edit {
    char kind;
    struct diff_line line;
};

struct edits {
    struct edit *items;
    size_t count, capacity;
};

static struct diff_lines split(const char *text) {
    struct diff_lines lines = {0};
    size_t count = 0, capacity = 0;
    while (*text) {
        size_t len = strcspn(text, "\n");
        MEM_PUSH(lines.items, count, capacity, ((struct diff_line){text, len}));
        text += len + (text[len] == '\n');
    }
    lines.count = (int)count;
    return lines;
}

static bool equal(struct diff_line a, struct diff_line b) {
    return a.len == b.len && !memcmp(a.text, b.text, a.len);
}

// frontiers[d][k + d] is how far into [a] the best path with d edits gets on diagonal k.
struct edit_path {
    struct diff_lines a, b;
    int **frontiers;
    int steps;
};

static int frontier(const struct edit_path *s, int d, int k) { return s->frontiers[d][k + d]; }

// Whether the best path to diagonal k with d edits came down from k + 1, by a line of b.
static bool came_down(const struct edit_path *s, int d, int k) {
    return k == -d || (k != d && frontier(s, d - 1, k - 1) < frontier(s, d - 1, k + 1));
}

// Extends all diagonals to [d] edits. Returns true where the end of both was reached.
static bool advance(struct edit_path *s, int d) {
    s->frontiers[d] = mem_alloc((2 * (size_t)d + 1) * sizeof(int));
    bool done = false;
    for (int k = -d; k <= d; k += 2) {
        int x = 0;
        if (d > 0)
            x = came_down(s, d, k) ? frontier(s, d - 1, k + 1) : frontier(s, d - 1, k - 1) + 1;
        while (x < s->a.count && x - k < s->b.count && x - k >= 0 &&
               equal(s->a.items[x], s->b.items[x - k]))
            x++;
        s->frontiers[d][k + d] = x;
        done |= x >= s->a.count && x - k >= s->b.count;
    }
    return done;
}

static void push(struct edits *e, char kind, struct diff_line line) {
    MEM_PUSH(e->items, e->count, e->capacity, ((struct edit){kind, line}));
}

static void reverse(struct edits *e) {
    for (size_t i = 0; i < e->count / 2; i++) {
        struct edit swap = e->items[i];
        e->items[i] = e->items[e->count - 1 - i];
        e->items[e->count - 1 - i] = swap;
    }
}

// Walks the kept frontiers back from the end.
static void trace(const struct edit_path *s, struct edits *edits) {
    int x = s->a.count, y = s->b.count;
    for (int d = s->steps; d > 0; d--) {
        int k = x - y;
        bool down = came_down(s, d, k);
        int from_x = frontier(s, d - 1, down ? k + 1 : k - 1);
        int from_y = from_x - (down ? k + 1 : k - 1);
        while (x > from_x + !down && y > from_y + down) push(edits, ' ', s->a.items[--x]), y--;
        if (down)
            push(edits, '+', s->b.items[--y]);
        else
            push(edits, '-', s->a.items[--x]);
    }
    while (x > 0) push(edits, ' ', s->a.items[--x]);
    reverse(edits);
}

// For texts that have too little in common: all of one, then all of the other.
static void replace_all(const struct edit_path *s, struct edits *edits) {
    for (int i = 0; i < s->a.count; i++) push(edits, '-', s->a.items[i]);
    for (int i = 0; i < s->b.count; i++) push(edits, '+', s->b.items[i]);
}

static struct edits compare(struct diff_lines a, struct diff_lines b) {
    struct edit_path s = {.a = a, .b = b};
    struct edits edits = {0};
    int most = a.count + b.count < STEPS_MAX ? a.count + b.count : STEPS_MAX;
    s.frontiers = mem_zero(((size_t)most + 1) * sizeof *s.frontiers);
    bool done = false;
    for (int d = 0; d <= most && !done; d++) {
        s.steps = d;
        done = advance(&s, d);
    }
    if (done)
        trace(&s, &edits);
    else
        replace_all(&s, &edits);
    for (int d = 0; d <= s.steps; d++) free(s.frontiers[d]);
    free(s.frontiers);
    return edits;
}

// The end of the hunk that begins at [begin]: where more than 2 * CONTEXT equal lines follow.
static size_t hunk_end(const struct edits *e, size_t begin) {
    size_t last = begin;
    for (size_t i = begin; i < e->count && i <= last + 2 * CONTEXT + 1; i++)
        if (e->items[i].kind != ' ') last = i;
    size_t end = last + 1 + CONTEXT;
    return end < e->count ? end : e->count;
}

// Prints edits [begin, end) of which the first is line [a] of the old and [b] of the new text.
static void print_hunk(FILE *out, const struct edits *e, size_t begin, size_t end, int a, int b) {
    int old_count = 0, new_count = 0;
    for (size_t i = begin; i < end; i++) {
        old_count += e->items[i].kind != '+';
        new_count += e->items[i].kind != '-';
    }
    fprintf(out, "@@ -%d,%d +%d,%d @@\n", a - (old_count == 0), old_count, b - (new_count == 0),
            new_count);
    for (size_t i = begin; i < end; i++)
        fprintf(out, "%c%.*s\n", e->items[i].kind, (int)e->items[i].line.len,
                e->items[i].line.text);
}

static void print_hunks(FILE *out, const struct edits *e) {
    int a = 1, b = 1;
    size_t printed = 0;
    for (size_t i = 0; i < e->count;) {
        if (e->items[i].kind == ' ') {
            i++;
            continue;
        }
        size_t begin = i > printed + CONTEXT ? i - CONTEXT : printed;
        for (size_t j = printed; j < begin; j++) a++, b++;
        size_t end = hunk_end(e, i);
        print_hunk(out, e, begin, end, a, b);
        for (size_t j = begin; j < end; j++) {
            a += e->items[j].kind != '+';
            b += e->items[j].kind != '-';
        }
        printed = i = end;
    }
}

bool diff_print(FILE *out, const char *old_name, const char *old_text, const char *new_name,
                const char *new_text) {
    if (!strcmp(old_text, new_text)) return false;
    struct diff_lines a = split(old_text), b = split(new_text);
    struct edits edits = compare(a, b);
    fprintf(out, "--- %s\n+++ %s\n", old_name, new_name);
    print_hunks(out, &edits);
    free(edits.items);
    free(a.items);
    free(b.items);
    return true;
}
