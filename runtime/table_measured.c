// Reads what a table says was measured, and lays it out for those who look for what is near.
#include "runtime/table_measured.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/error.h"

enum { MOST_TIMES = 1000 };

static int compare_measured(const void *left, const void *right) {
    const struct tmg_measured *a = left, *b = right;
    for (unsigned i = 0; i < TMG_MAX_TABLE_DIMS; ++i)
        if (a->at[i] != b->at[i]) return a->at[i] > b->at[i] ? 1 : -1;
    return a->alignment - b->alignment;
}

static int compare_places(const void *left, const void *right) {
    const struct tmg_measured *a = *(struct tmg_measured *const *)left,
                              *b = *(struct tmg_measured *const *)right;
    if (a->place != b->place) return a->place > b->place ? 1 : -1;
    return a > b ? 1 : -1;
}

// Reads the digits at *text, and steps behind them; 0: a number from 1 to [most] is not there.
static int64_t next_number(const char **text, int64_t most) {
    const char *at = *text;
    int64_t number = 0;
    for (; *at >= '0' && *at <= '9' && number <= most; ++at) number = 10 * number + (*at - '0');
    *text = at;
    return number <= most ? number : 0;
}

// Reads "MxNxK ALIGNMENT " at *text, and steps behind it; 0 where it is something else.
static int next_shape(const char **text, struct tmg_table *table, struct tmg_measured *measured) {
    for (unsigned i = 0; i < table->dim_count; ++i) {
        const int64_t size = next_number(text, TMG_MAX_EXTENT);
        if (!size || *(*text)++ != (i + 1 < table->dim_count ? 'x' : ' ')) return 0;
        measured->at[i] = (float)log2((double)size);
    }
    measured->alignment = (int)next_number(text, TMG_LARGEST_CLASS);
    return measured->alignment && !(measured->alignment & (measured->alignment - 1)) &&
           *(*text)++ == ' ';
}

// Reads how many thousandths of what is predicted each of [count] launches took, "=" for 1000 and a
// letter, a to z, for 1 to 26 launches of which that is not known; adds those of which it is, and
// moves *end behind them. 0 where [text] is something else.
static int read_misses(const char *text, unsigned count, struct tmg_miss *misses, unsigned *end) {
    unsigned i = 0;
    while (i < count) {
        const char sign = *text;
        if (sign >= 'a' && sign <= 'z') {
            i += (unsigned)(sign - 'a') + 1;
            ++text;
            continue;
        }
        if (sign == '=') {
            misses[(*end)++] = (struct tmg_miss){0, i++};
            ++text;
            continue;
        }
        const int64_t times = next_number(&text, 1000 * MOST_TIMES);
        if (!times) return 0;
        misses[(*end)++] = (struct tmg_miss){logf((float)times * .001f), i++};
        text += *text == ' ';
    }
    return i == count && !*text;
}

// A shape that was measured is one text: as members and numbers, tens of thousands of them would be
// most of what opening a set takes.
static void read_measured(const struct tmg_node *node, struct tmg_table *table) {
    struct tmg_measured *measured = &table->measured[table->measured_count];
    const char *text = json_string_value(node->value);
    measured->first = table->measured_count ? measured[-1].end : 0;
    measured->end = measured->first;
    ++table->measured_count;
    if (!text || !next_shape(&text, table, measured) ||
        !read_misses(text, table->launch_count, table->misses, &measured->end))
        tmg_node_fail(node,
                      "must be a text of %u sizes, an alignment that is a power of two and %u "
                      "times, as in: 64x128 16 983=c1021 870",
                      table->dim_count, table->launch_count);
}

// Takes the mean of what a shape's launches missed out of each.
static void center(const struct tmg_table *table, struct tmg_measured *measured) {
    const unsigned count = measured->end - measured->first;
    double sum = 0;
    for (unsigned i = measured->first; i < measured->end; ++i) sum += (double)table->misses[i].log;
    measured->mean = count ? (float)(sum / count) : 0;
    for (unsigned i = measured->first; i < measured->end; ++i)
        table->misses[i].log -= measured->mean;
}

static unsigned rounded_up(unsigned count, unsigned multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

// Half powers of two of all dims, their bits in turns: along it what lies near lies close together.
static uint64_t place_of(const struct tmg_table *table, const struct tmg_measured *measured) {
    uint64_t place = 0;
    for (int bit = 5; bit >= 0; --bit)
        for (unsigned dim = 0; dim < table->dim_count; ++dim)
            place = place << 1 | ((unsigned)(2 * measured->at[dim]) >> bit & 1);
    return place;
}

// Where the first dim of the shape at place [index] is looked for; the others are lanes behind it.
static float *first_at(const struct tmg_table *table, unsigned index) {
    return table->at + (size_t)(index / TMG_LANES) * TMG_LANES * (table->dim_count + 1) +
           index % TMG_LANES;
}

// Lays out the shape at place [index] for those who look for what is near, and adds it to its
// block's box; behind the last shape lies what nothing is near.
static void lay_out(struct tmg_table *table, unsigned index) {
    const unsigned dims = table->dim_count, block = index / TMG_NEAR_BLOCK;
    const int there = index < table->measured_count;
    const struct tmg_measured *row = there ? table->by_place[index] : NULL;
    float *at = first_at(table, index),
          *box =
              table->boxes + (size_t)(block / TMG_LANES) * TMG_LANES * 2 * dims + block % TMG_LANES;
    for (unsigned dim = 0; dim < dims; ++dim, at += TMG_LANES, box += 2 * TMG_LANES) {
        const float value = there ? row->at[dim] : INFINITY;
        *at = value;
        if (index % TMG_NEAR_BLOCK == 0) box[0] = box[TMG_LANES] = value;
        if (there) box[0] = fminf(box[0], value), box[TMG_LANES] = fmaxf(box[TMG_LANES], value);
    }
    *at = there ? (float)__builtin_ctz((unsigned)row->alignment) : 0;
}

int tmg_measured_read(struct tmg_table *table, const struct tmg_node *list, unsigned count) {
    const unsigned rows = rounded_up(count, TMG_NEAR_BLOCK * TMG_LANES), dims = table->dim_count;
    table->misses = calloc((size_t)count * table->launch_count + 1, sizeof *table->misses);
    table->at = calloc((size_t)rows * (dims + 1) + 1, sizeof *table->at);
    table->boxes = calloc((size_t)rows / TMG_NEAR_BLOCK * 2 * dims + 1, sizeof *table->boxes);
    table->by_place = calloc(count + 1, sizeof *table->by_place);
    if (!table->misses || !table->at || !table->boxes || !table->by_place) return tmg_fail_memory();
    for (unsigned i = 0; i < count && !list->document->status; ++i) {
        struct tmg_node item = tmg_node_item(list, i);
        read_measured(&item, table);
        table->measured[i].place = place_of(table, &table->measured[i]);
        center(table, &table->measured[i]);
    }
    if (list->document->status) return list->document->status;
    qsort(table->measured, table->measured_count, sizeof *table->measured, compare_measured);
    for (unsigned i = 0; i < table->measured_count; ++i) table->by_place[i] = &table->measured[i];
    qsort(table->by_place, table->measured_count, sizeof *table->by_place, compare_places);
    for (unsigned i = 0; i < rows; ++i) lay_out(table, i);
    return TMAGEN_OK;
}

float tmg_table_miss(const struct tmg_table *table, const struct tmg_measured *measured,
                     unsigned launch) {
    for (unsigned i = measured->first; i < measured->end; ++i)
        if (table->misses[i].launch == launch) return measured->mean + table->misses[i].log;
    return NAN;
}

void tmg_measured_shape(const struct tmg_table *table, const struct tmg_measured *measured,
                        int64_t *shape) {
    for (unsigned i = 0; i < table->dim_count; ++i)
        shape[i] = llround(exp2((double)measured->at[i]));
}

void tmg_measured_hide(struct tmg_table *table, unsigned index, int hidden) {
    *first_at(table, index) = hidden ? INFINITY : table->by_place[index]->at[0];
}
