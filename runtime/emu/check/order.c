// Order between the clusters of a grid: what they tell each other through words of global memory,
// and who touched each word of it last. A cluster counts as one agent here, so that races between
// its own warps in global memory go unseen, and none is reported where there is none.
#include "runtime/emu/check/check.h"

#include <stdlib.h>
#include <string.h>

enum { CLUSTERS_MAX = 4096, BUCKETS = 256, PAGE = 4096, WORD = 4 };

struct touch {
    uint32_t time;  // of the cluster; 0: nobody
    uint16_t cluster;
    uint8_t bytes;     // a bit each, of the word
    uint8_t strength;  // of enum emu_strength
    const struct emu_insn *insn;
};

struct cell {
    struct touch write, read;  // the last of each
};

struct flag {  // a word that clusters synchronise by
    struct flag *next;
    uint64_t address;
    uint32_t clock[];
};

struct emu_order {
    uint32_t count;        // of clusters
    size_t allocations;    // length of pages
    struct cell ***pages;  // by allocation and page of it, made where someone comes
    struct flag *flags[BUCKETS];
};

void emu_order_new(struct emu_machine *machine) {
    const struct emu_memory *memory = machine->memory;
    struct emu_order *order;

    if (!machine->check || machine->cluster_total < 2 || machine->cluster_total > CLUSTERS_MAX)
        return;
    order = machine->order = calloc(1, sizeof *order);
    if (order == NULL) return;
    order->count = (uint32_t)machine->cluster_total;
    order->pages = calloc(memory->count + 1, sizeof *order->pages);
    order->allocations = order->pages ? memory->count : 0;
}

void emu_order_delete(struct emu_machine *machine) {
    struct emu_order *order = machine->order;

    if (order == NULL) return;
    for (size_t i = 0; i < order->allocations; i++) {
        size_t pages = order->pages[i] ? machine->memory->allocations[i].bytes / PAGE + 1 : 0;
        for (size_t p = 0; p < pages; p++) free(order->pages[i][p]);
        free(order->pages[i]);
    }
    for (int i = 0; i < BUCKETS; i++)
        while (order->flags[i] != NULL) {
            struct flag *next = order->flags[i]->next;
            free(order->flags[i]);
            order->flags[i] = next;
        }
    free(order->pages);
    free(order);
    machine->order = NULL;
}

int emu_order_start(struct emu_cluster *cluster) {
    const struct emu_order *order = cluster->machine->order;

    if (order == NULL) return 0;
    cluster->known = calloc(3 * (size_t)order->count, sizeof *cluster->known);
    if (cluster->known == NULL) return -1;
    cluster->known[cluster->number] = 1;
    return 0;
}

// ---- clocks: known, then what relaxed writes publish, then what relaxed reads have seen ----

static uint32_t *published(const struct emu_cluster *cluster) {
    return cluster->known + cluster->machine->order->count;
}

static uint32_t *observed(const struct emu_cluster *cluster) {
    return cluster->known + 2 * (size_t)cluster->machine->order->count;
}

static void join(uint32_t *into, const uint32_t *from, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) into[i] = into[i] > from[i] ? into[i] : from[i];
}

static struct flag *find_flag(struct emu_order *order, uint64_t address, bool make) {
    struct flag **head = &order->flags[(address >> 2) % BUCKETS];

    for (struct flag *flag = *head; flag != NULL; flag = flag->next)
        if (flag->address == address) return flag;
    struct flag *flag = make ? calloc(1, sizeof *flag + order->count * sizeof *flag->clock) : NULL;
    if (flag == NULL) return NULL;
    flag->address = address;
    flag->next = *head;
    return *head = flag;
}

void emu_order_release(struct emu_cluster *cluster, uint64_t address, bool release) {
    struct emu_order *order = cluster->machine->order;
    struct flag *flag = order ? find_flag(order, address, true) : NULL;

    if (flag == NULL) return;
    join(flag->clock, release ? cluster->known : published(cluster), order->count);
    cluster->known[cluster->number]++;
}

void emu_order_acquire(struct emu_cluster *cluster, uint64_t address, bool acquire) {
    struct emu_order *order = cluster->machine->order;
    struct flag *flag = order ? find_flag(order, address, false) : NULL;

    if (flag != NULL) join(acquire ? cluster->known : observed(cluster), flag->clock, order->count);
}

void emu_order_fence(struct emu_cluster *cluster) {
    const struct emu_order *order = cluster->machine->order;

    if (order == NULL) return;
    join(cluster->known, observed(cluster), order->count);
    memcpy(published(cluster), cluster->known, order->count * sizeof *cluster->known);
    cluster->known[cluster->number]++;
}

// ---- who touches what ----

static struct cell *find_cells(const struct emu_machine *machine,
                               const struct emu_allocation *allocation, uint64_t page) {
    const struct emu_order *order = machine->order;
    size_t index = (size_t)(allocation - machine->memory->allocations);

    if (index >= order->allocations) return NULL;
    if (order->pages[index] == NULL)
        order->pages[index] = calloc(allocation->bytes / PAGE + 1, sizeof **order->pages);
    if (order->pages[index] == NULL) return NULL;
    struct cell **cells = &order->pages[index][page];
    if (*cells == NULL) *cells = calloc(PAGE / WORD, sizeof **cells);
    return *cells;
}

static void complain(const struct emu_touch_global *by, const struct touch *before, bool wrote) {
    const struct emu_machine *machine = emu_machine(by->warp);
    const unsigned *size = machine->cluster_size;
    unsigned x = machine->grid[0] / size[0], y = machine->grid[1] / size[1];
    char where[400];

    if (emu_report_again(emu_machine(by->warp), by->insn, before->insn, EMU_RACE)) return;
    emu_report_pair(
        by->warp, by->insn, before->insn, EMU_RACE,
        "%s %s offset %llu of %s, which CTA (%u,%u,%u)%s %s\n  without order between the "
        "two; the other is at %s",
        by->what ? by->what : "it", by->use == EMU_READ ? "reads" : "writes",
        (unsigned long long)by->offset, by->allocation->name, before->cluster % x * size[0],
        before->cluster / x % y * size[1], before->cluster / x / y * size[2],
        by->warp->cta->cluster->cta_count > 1 ? " or its cluster" : "", wrote ? "writes" : "reads",
        emu_place_text(machine, before->insn, where, sizeof where));
}

// Is [before] known to have happened, or is it no concern of [now]'s?
static bool ordered(const struct emu_cluster *cluster, const struct touch *before,
                    const struct touch *now) {
    return before->time == 0 || before->cluster == now->cluster || !(before->bytes & now->bytes) ||
           emu_may_meet(before->strength, now->strength) ||
           cluster->known[before->cluster] >= before->time;
}

static void touch_cell(const struct emu_touch_global *by, struct cell *cell, struct touch now) {
    const struct emu_cluster *cluster = by->warp->cta->cluster;

    if (!ordered(cluster, &cell->write, &now)) complain(by, &cell->write, true);
    if (by->use != EMU_READ && !ordered(cluster, &cell->read, &now))
        complain(by, &cell->read, false);
    struct touch *last = by->use == EMU_READ ? &cell->read : &cell->write;
    if (last->cluster == now.cluster && last->time) now.bytes |= last->bytes;
    *last = now;
}

void emu_order_touch(const struct emu_touch_global *by) {
    const struct emu_cluster *cluster = by->warp->cta->cluster;
    uint64_t at = by->offset, end = by->offset + by->bytes;
    struct touch now = {
        .cluster = (uint16_t)cluster->number, .strength = (uint8_t)by->strength, .insn = by->insn};

    if (cluster->known == NULL) return;
    now.time = cluster->known[cluster->number];
    while (at < end) {
        uint64_t word = at & ~(uint64_t)(WORD - 1), stop = word + WORD < end ? word + WORD : end;
        struct cell *cells = find_cells(cluster->machine, by->allocation, at / PAGE);
        if (cells == NULL) return;
        now.bytes = (uint8_t)(((1u << (stop - word)) - 1) & ~((1u << (at - word)) - 1));
        touch_cell(by, &cells[word % PAGE / WORD], now);
        at = stop;
    }
}
