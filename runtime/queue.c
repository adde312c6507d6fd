// Finds the least of three layers, each of columns of the one below: to take one launch is to look
// at three columns.
#include "runtime/queue.h"

#define LANES TMG_LANES
#include "runtime/abreast.h"

#define NUMBER 2047       // the bits of a key that are its launch
#define NONE   INT32_MAX  // the key of no launch
_Static_assert(TMG_MAX_LAUNCHES <= NUMBER, "a launch and one more have a number");

// The least of [count] keys that lie [apart].
static int32_t least_of(const int32_t *keys, unsigned count, unsigned apart) {
    int32_t least = keys[0];
    for (unsigned i = 1; i < count; ++i) least = keys[i * apart] < least ? keys[i * apart] : least;
    return least;
}

// Makes good what lies above a key that is another now.
static void settle(struct tmg_queue *queue, unsigned launch) {
    const unsigned middle = launch % TMG_QUEUE_MIDDLE, top = launch % TMG_QUEUE_TOP;
    queue->middle[middle] = least_of(queue->keys + middle, queue->rows, TMG_QUEUE_MIDDLE);
    queue->top[top] =
        least_of(queue->middle + top, TMG_QUEUE_MIDDLE / TMG_QUEUE_TOP, TMG_QUEUE_TOP);
}

ON_LANES bits load_keys(const int32_t *from) { return (bits)load((const float *)from); }
ON_LANES void store_keys(int32_t *to, bits keys) { memcpy(to, &keys, sizeof keys); }

ON_LANES bits smaller_keys(bits a, bits b) { return (bits)choose(a < b, (lanes)a, (lanes)b); }

ON_LANES void fill(struct tmg_queue *queue, const struct tmg_table *table, const float *us,
                   unsigned count) {
    const bits none = NONE + (bits){0};
    bits launches = {0, 1, 2, 3, 4, 5, 6, 7}, top = none;
    queue->rows = table->launch_count / TMG_QUEUE_MIDDLE + 1;
    for (unsigned i = 0; i < TMG_QUEUE_MIDDLE; i += LANES) store_keys(queue->middle + i, none);
    for (unsigned i = 0; i < queue->rows * TMG_QUEUE_MIDDLE; i += LANES, launches += LANES) {
        bits keys = none;
        if (i < count) {
            keys = ((bits)positive(load(us + i)) & ~NUMBER) | launches;
            keys = (bits)choose(launches < (int32_t)count, (lanes)keys, (lanes)none);
        }
        int32_t *middle = queue->middle + i % TMG_QUEUE_MIDDLE;
        store_keys(queue->keys + i, keys);
        store_keys(middle, smaller_keys(keys, load_keys(middle)));
        top = smaller_keys(keys, top);
    }
    store_keys(queue->top, top);
}

BY_CPU(void, tmg_queue_fill,
       (struct tmg_queue * queue, const struct tmg_table *table, const float *us, unsigned count),
       fill, (queue, table, us, count))

void tmg_queue_put(struct tmg_queue *queue, unsigned launch, float us) {
    const float time = us > 0 ? us : 0;
    int32_t key;
    memcpy(&key, &time, sizeof key);
    queue->keys[launch] = (key & ~NUMBER) | (int32_t)launch;
    settle(queue, launch);
}

int tmg_queue_take(struct tmg_queue *queue, double limit) {
    const int32_t key = least_of(queue->top, TMG_QUEUE_TOP, 1), time = key & ~NUMBER;
    const unsigned launch = (unsigned)(key & NUMBER);
    float us;
    memcpy(&us, &time, sizeof us);
    if (key == NONE || !((double)us < limit)) return -1;
    queue->keys[launch] = NONE;
    settle(queue, launch);
    return (int)launch;
}
