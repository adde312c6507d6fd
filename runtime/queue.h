// The launches of a table by the time that each takes at least. A choice asks for the first few of
// hundreds, so they are not sorted: the least of some, and of those, is kept.
#pragma once

#include "runtime/table.h"

enum {
    TMG_QUEUE_TOP = TMG_LANES,
    TMG_QUEUE_MIDDLE = 64,
    TMG_QUEUE_ROOM = (TMG_MAX_LAUNCHES / TMG_QUEUE_MIDDLE + 1) * TMG_QUEUE_MIDDLE
};

// A key is a time as a float has it, rounded down, and in its last bits the launch: the order of
// keys is that of times.
struct tmg_queue {
    unsigned rows;                     // of the keys, as wide as the middle
    int32_t keys[TMG_QUEUE_ROOM];      // by launch
    int32_t middle[TMG_QUEUE_MIDDLE];  // the least of a column of the keys
    int32_t top[TMG_QUEUE_TOP];        // the least of a column of the middle, in rows as wide
};

// Empties the queue, and puts in the first [count] launches, which take at least [us]; whole lanes
// of it are read. There is room for one launch behind the table's last.
void tmg_queue_fill(struct tmg_queue *queue, const struct tmg_table *table, const float *us,
                    unsigned count);

// Puts in a launch, which may be there, with what it takes at least. What is no number counts as 0.
void tmg_queue_put(struct tmg_queue *queue, unsigned launch, float us);

// Takes out the launch that takes the least; -1 where that is not below [limit].
int tmg_queue_take(struct tmg_queue *queue, double limit);
