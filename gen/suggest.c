// The nearest word by edit distance, in which a swap of neighbours counts once.
// A word counts as near when about a third of it, and at most three letters, are wrong.
#include "gen/suggest.h"

#include <string.h>

enum { WORD_MAX = 48 };

static size_t min(size_t a, size_t b) { return a < b ? a : b; }

static size_t distance(const char *a, const char *b) {
    size_t m = strlen(a), n = strlen(b);
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= n; j++) last[j] = j;
    for (size_t i = 1; i <= m; i++) {
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            row[j] = min(min(last[j], row[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min(row[j], before[j - 2] + 1);
        }
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[n];
}

struct suggest suggest_start(const char *word) {
    size_t len = strlen(word), near = len == 2 ? 1 : min((len + 1) / 3, 3);
    return (struct suggest){.word = word, .distance = len > 1 ? near + 1 : 0};
}

void suggest_offer(struct suggest *s, const char *candidate) {
    if (strlen(s->word) > WORD_MAX || strlen(candidate) > WORD_MAX) return;
    size_t d = distance(s->word, candidate);
    if (d > s->distance || (d == s->distance && (!s->best || strcmp(candidate, s->best) > 0)))
        return;
    s->distance = d;
    s->best = candidate;
}
