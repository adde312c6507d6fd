// Order between the warps of a grid in global memory: what clusters tell each other through words
// of it, and who touched each word last. What one of a cluster's warps learns of another cluster
// counts for all of them; what they tell does not.
#include "runtime/emu/check/check.h"

#include <stdlib.h>
#include <string.h>

// What clusters tell takes memory by their number's square, so that those of a larger grid are held
// to each other only where they tell nothing.
enum { HEARING_MAX = 4096, CLUSTERS_MAX = 65536, BUCKETS = 256, PAGE = 4096, WORD = 4 };

struct order_touch {
    uint32_t time;   // of the agent; 0: nobody
    uint32_t insn;   // its place in the code
    uint32_t lanes;  // of the warp; 0: an operation
    uint16_t cluster, agent;
    uint16_t load;                  // the end of the number of the warp's load; 0: none
    uint8_t bytes : 4;              // a bit each, of the word
    uint8_t strength : 2;           // of enum emu_strength
    uint8_t async : 1, silent : 1;  // silent: what it wrote was there already
};

struct place_cell {
    struct order_touch write, read;  // the last of each
};

struct flag {  // a word that clusters synchronise by
    struct flag *next;
    uint64_t address;
    uint32_t clock[];
};

// What a cluster has told others, release by release: the clocks joined so far. Who knows a
// release's number knows what was told until then.
struct told {
    uint32_t count, capacity;
    uint32_t *
        *clocks; /* [agents of the time], then what lies before their times, then for the proxy */
};

struct emu_order {
    uint32_t count;              // of clusters
    bool hear;                   // they may hear of each other
    size_t allocations;          // length of pages
    struct place_cell ***pages;  // by allocation and page of it, made where someone comes
    struct flag *flags[BUCKETS];
    struct told *told;  // by cluster
};

void emu_order_new(struct emu_machine *machine, bool hear) {
    const struct emu_memory *memory = machine->memory;
    struct emu_order *order;

    if (!machine->check || machine->cluster_total > (hear ? HEARING_MAX : CLUSTERS_MAX)) return;
    order = machine->order = calloc(1, sizeof *order);
    if (order == NULL) return;
    order->count = (uint32_t)machine->cluster_total;
    order->hear = hear;
    order->pages = calloc(memory->count + 1, sizeof *order->pages);
    order->told = calloc(order->count, sizeof *order->told);
    order->allocations = order->pages && order->told ? memory->count : 0;
    emu_weak_new(machine);
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
    for (uint32_t c = 0; order->told != NULL && c < order->count; c++) {
        for (uint32_t i = 0; i < order->told[c].count; i++) free(order->told[c].clocks[i]);
        free(order->told[c].clocks);
    }
    free(order->told);
    free(order->pages);
    free(order);
    emu_weak_delete(machine);
    machine->order = NULL;
}

int emu_order_start(struct emu_cluster *cluster) {
    const struct emu_order *order = cluster->machine->order;

    if (order == NULL) return 0;
    cluster->known = calloc(4 * (size_t)order->count, sizeof *cluster->known);
    for (uint32_t c = 0; c < cluster->cta_count; c++)
        for (uint32_t w = 0; w < cluster->ctas[c].warp_count; w++)
            cluster->ctas[c].warps[w].watched = true;
    return cluster->known == NULL ? -1 : 0;
}

// ---- what is known of each cluster, as the number of a release of its; then what relaxed writes
// publish, then what relaxed reads have seen, then what the async proxy may rely on ----

static uint32_t *published(const struct emu_cluster *cluster) {
    return cluster->known + cluster->machine->order->count;
}

static uint32_t *observed(const struct emu_cluster *cluster) {
    return cluster->known + 2 * (size_t)cluster->machine->order->count;
}

static uint32_t *known_async(const struct emu_cluster *cluster) {
    return cluster->known + 3 * (size_t)cluster->machine->order->count;
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

static bool covers(const uint32_t *told, const struct emu_clock *clock, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (clock->seen[i] == 0) continue;
        if (i >= told[0] || told[1 + i] < clock->seen[i] ||
            told[1 + told[0] + i] < clock->global[i])
            return false;
    }
    return true;
}

// The clock joined to the last one that was told; NULL: memory is out.
static uint32_t *tell_more(const struct told *told, const struct emu_clock *clock, uint32_t count) {
    const uint32_t *last = told->count ? told->clocks[told->count - 1] : NULL;
    uint32_t *made = malloc((1 + 2 * (size_t)count) * sizeof *made);

    if (made == NULL) return NULL;
    made[0] = count;
    memcpy(made + 1, clock->seen, count * sizeof *made);
    memcpy(made + 1 + count, clock->global, count * sizeof *made);
    if (last == NULL) return made;
    join(made + 1, last + 1, last[0]);
    join(made + 1 + count, last + 1 + last[0], last[0]);
    return made;
}

// The number of a release by which all of [clock] has been told.
static uint32_t tell(struct emu_cluster *cluster, const struct emu_clock *clock) {
    struct told *told = &cluster->machine->order->told[cluster->number];
    uint32_t low = 0, high = told->count, count = cluster->agent_count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (covers(told->clocks[middle], clock, count))
            high = middle;
        else
            low = middle + 1;
    }
    if (low < told->count) return low + 1;
    if (told->count == told->capacity) {
        uint32_t capacity = told->capacity ? 2 * told->capacity : 8;
        uint32_t **grown = realloc(told->clocks, capacity * sizeof *grown);
        if (grown == NULL) return told->count;
        told->clocks = grown;
        told->capacity = capacity;
    }
    told->clocks[told->count] = tell_more(told, clock, count);
    told->count += told->clocks[told->count] != NULL;
    return told->count;
}

static bool is_blank(const struct emu_clock *clock, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (clock->seen[i] != 0) return false;
    return true;
}

void emu_order_release(struct emu_warp *warp, uint64_t address, bool release) {
    struct emu_cluster *cluster = warp->cta->cluster;
    struct emu_order *order = cluster->machine->order;
    const struct emu_clock fenced = {.seen = warp->clock.wide, .global = warp->clock.global};
    const struct emu_clock *clock = release ? &warp->clock : &fenced;
    struct flag *flag = order && order->hear ? find_flag(order, address, true) : NULL;

    if (release) emu_weak_release(cluster);
    if (flag == NULL || order->told == NULL) return;
    join(flag->clock, release ? cluster->known : published(cluster), order->count);
    if (is_blank(clock, cluster->agent_count)) return;
    uint32_t number = tell(cluster, clock);
    if (flag->clock[cluster->number] < number) flag->clock[cluster->number] = number;
}

void emu_order_acquire(struct emu_cluster *cluster, uint64_t address, bool acquire) {
    struct emu_order *order = cluster->machine->order;
    struct flag *flag = order ? find_flag(order, address, false) : NULL;

    if (acquire) emu_weak_acquire(cluster);
    if (flag != NULL) join(acquire ? cluster->known : observed(cluster), flag->clock, order->count);
}

void emu_order_fence(struct emu_warp *warp) {
    struct emu_cluster *cluster = warp->cta->cluster;
    const struct emu_order *order = cluster->machine->order;

    if (order == NULL || !order->hear) return;
    emu_weak_acquire(cluster);
    emu_weak_release(cluster);
    join(cluster->known, observed(cluster), order->count);
    memcpy(published(cluster), cluster->known, order->count * sizeof *cluster->known);
    memcpy(warp->clock.wide, warp->clock.seen, cluster->agent_count * sizeof *warp->clock.wide);
}

void emu_order_fence_async(struct emu_cluster *cluster) {
    const struct emu_order *order = cluster->machine->order;

    if (order != NULL && order->hear) join(known_async(cluster), cluster->known, order->count);
}

// ---- who touches what ----

static struct place_cell *find_cells(const struct emu_machine *machine,
                                     const struct emu_allocation *allocation, uint64_t page) {
    const struct emu_order *order = machine->order;
    size_t index = (size_t)(allocation - machine->memory->allocations);

    if (index >= order->allocations) return NULL;
    if (order->pages[index] == NULL)
        order->pages[index] = calloc(allocation->bytes / PAGE + 1, sizeof **order->pages);
    if (order->pages[index] == NULL) return NULL;
    struct place_cell **cells = &order->pages[index][page];
    if (*cells == NULL) *cells = calloc(PAGE / WORD, sizeof **cells);
    return *cells;
}

// "CTA (1,0,0)", with the warp where it is of the same cluster.
static void put_other(const struct emu_touch_global *by, const struct order_touch *before,
                      char *text, size_t size) {
    const struct emu_machine *machine = emu_machine(by->warp);
    const struct emu_cluster *cluster = by->warp->cta->cluster;
    const unsigned *ctas = machine->cluster_size;
    unsigned x = machine->grid[0] / ctas[0], y = machine->grid[1] / ctas[1];
    uint32_t warps = by->warp->cta->warp_count, agent = before->agent;

    if (before->cluster == cluster->number && agent < cluster->warp_count)
        emu_warp_text(&cluster->ctas[agent / warps].warps[agent % warps], text, size);
    else if (before->cluster == cluster->number)
        snprintf(text, size, "an asynchronous operation");
    else
        snprintf(text, size, "CTA (%u,%u,%u)%s", before->cluster % x * ctas[0],
                 before->cluster / x % y * ctas[1], before->cluster / x / y * ctas[2],
                 cluster->cta_count > 1 ? " or its cluster" : "");
}

static void complain(const struct emu_touch_global *by, const struct order_touch *before,
                     bool wrote, bool fence_missing) {
    struct emu_machine *machine = emu_machine(by->warp);
    const char *verb = by->use == EMU_READ ? "reads" : "writes", *what = by->what ? by->what : "it";
    char where[EMU_PLACE_TEXT], other[128], bytes[EMU_MEMORY_TEXT], lanes[128] = "";

    const struct emu_insn *other_insn = &machine->program->code[before->insn];

    machine->found_race = true;
    if (emu_report_again(by->warp, by->insn, other_insn,
                         fence_missing ? EMU_MISSING_PROXY_FENCE : EMU_RACE))
        return;
    put_other(by, before, other, sizeof other);
    emu_memory_text(machine, by->allocation, by->offset, 1, bytes, sizeof bytes);
    if (before->lanes && before->cluster == by->warp->cta->cluster->number &&
        by->clock->seen[before->agent] >= before->time)
        emu_lanes_text(before->lanes, before->agent == by->agent ? by->lanes : 0, lanes,
                       sizeof lanes);
    emu_place_text(machine, other_insn, where, sizeof where);
    if (fence_missing)
        emu_report_pair(by->warp, by->insn, other_insn, EMU_MISSING_PROXY_FENCE,
                        "%s %s %s, which %s writes through the generic proxy\n"
                        "  written at %s\n  no fence.proxy.async lies between the two",
                        what, verb, bytes, other, where);
    else
        emu_report_pair(by->warp, by->insn, other_insn, EMU_RACE,
                        "%s %s %s, which %s %s\n  without order between the two; the "
                        "other is at %s%s",
                        what, verb, bytes, other, wrote ? "writes" : "reads", where, lanes);
}

// Has [before] happened, as far as [by] may know? [async]: and does the async proxy see it?
static bool known(const struct emu_touch_global *by, const struct order_touch *before, bool async) {
    const struct emu_cluster *cluster = by->warp->cta->cluster;
    const struct told *told = &cluster->machine->order->told[before->cluster];

    if (before->cluster == cluster->number && before->lanes && before->agent == by->agent)
        return emu_lanes_know(by->warp, by->lanes, before->lanes, before->time);
    if (before->cluster == cluster->number)
        return (async ? by->clock->global : by->clock->seen)[before->agent] >= before->time &&
               emu_was_told(cluster, before->agent, before->lanes, before->time,
                            by->clock->seen[before->agent]);
    for (int fenced = 0; fenced <= (int)async; fenced++) {
        uint32_t number = (fenced ? known_async(cluster) : cluster->known)[before->cluster];
        if (!number) continue;
        const uint32_t *clock = told->clocks[number - 1];
        const uint32_t *view = clock + (async && !fenced ? 1 + clock[0] : 1);
        if (before->agent < clock[0] && view[before->agent] >= before->time) return true;
    }
    return false;
}

// A flag's own last write is over for whoever has acquired the flag since: a lock's last holder may
// set it back as if it were any word.
static bool was_acquired(const struct emu_touch_global *by, const struct order_touch *before,
                         uint64_t word) {
    const struct emu_cluster *cluster = by->warp->cta->cluster;
    struct emu_order *order = cluster->machine->order;
    uint64_t address = by->allocation->base + word;
    const struct flag *flag = find_flag(order, address, false);

    if (flag == NULL) flag = find_flag(order, address & ~UINT64_C(7), false);  // one of 8 bytes
    return flag != NULL && before->strength >= EMU_STRONG && before->cluster != cluster->number &&
           flag->clock[before->cluster] != 0 &&
           flag->clock[before->cluster] <= cluster->known[before->cluster];
}

static bool same_agent(const struct order_touch *a, const struct order_touch *b) {
    return a->cluster == b->cluster && a->agent == b->agent;
}

// What was read before it was written over may have been read for nothing.
static void watch_reader(const struct emu_touch_global *by, const struct order_touch *read) {
    struct emu_cluster *cluster = by->warp->cta->cluster;
    uint32_t warps = by->warp->cta->warp_count, agent = read->agent;
    bool here = read->cluster == cluster->number && read->lanes && agent < cluster->warp_count;

    if (by->warp->blamed == NULL || by->warp->blamed_insn != by->insn) return;
    if (here && read->load)
        emu_watch_load(&cluster->ctas[agent / warps].warps[agent % warps], read->load, read->time,
                       read->lanes & ~(agent == by->agent ? by->lanes : 0), by->warp->blamed);
    else
        emu_watch_nothing(by->warp, by->insn);
}

// Several writers of one value, all to the same end, as in "found = true": whoever is last and
// whoever reads, it is that.
static bool stores_the_same(const struct emu_touch_global *by) {
    return by->use == EMU_WRITE && by->value != NULL &&
           memcmp(by->allocation->data + by->offset, by->value, by->bytes) == 0;
}

static void check(const struct emu_touch_global *by, uint64_t word,
                  const struct order_touch *before, const struct order_touch *now, bool wrote) {
    if (before->time == 0 || (same_agent(before, now) && !(before->lanes & ~now->lanes)) ||
        !(before->bytes & now->bytes) || emu_may_meet(before->strength, now->strength))
        return;
    if (now->silent || (before->silent && by->use == EMU_READ)) return;
    bool ordered = known(by, before, false) || (wrote && was_acquired(by, before, word));
    if (!ordered) {
        complain(by, before, wrote, false);
        if (!wrote)
            watch_reader(by, before);
        else if (by->use != EMU_READ)
            emu_watch_nothing(by->warp, by->insn);
    } else if (wrote && now->async && !before->async && !known(by, before, true))
        complain(by, before, wrote, true);
}

static void touch_cell(const struct emu_touch_global *by, uint64_t word, struct place_cell *cell,
                       struct order_touch now) {
    // what a launch before this one left there is not to anyone's end
    now.silent = now.silent && cell->write.time != 0 && !(now.bytes & ~cell->write.bytes);
    check(by, word, &cell->write, &now, true);
    if (by->use != EMU_READ) check(by, word, &cell->read, &now, false);
    struct order_touch *last = by->use == EMU_READ ? &cell->read : &cell->write;
    if (same_agent(last, &now) && last->time == now.time) {
        bool alike = last->bytes == now.bytes && last->lanes;  // else who wrote what is not kept
        if (by->use == EMU_READ && now.load != last->load)
            emu_watch_both(by->warp, now.load, last->load, last->lanes);
        now.lanes = alike ? now.lanes | last->lanes : 0;
        now.bytes |= last->bytes;
    }
    *last = now;
}

void emu_order_touch(const struct emu_touch_global *by) {
    const struct emu_cluster *cluster = by->warp->cta->cluster;
    const struct emu_program *program = cluster->machine->program;
    uint64_t at = by->offset, end = by->offset + by->bytes;
    struct order_touch now = {
        .time = by->time,
        .insn = (uint32_t)(by->insn - program->code),
        .lanes = by->lanes,
        .cluster = (uint16_t)cluster->number,
        .agent = (uint16_t)by->agent,
        .strength = by->strength & 3,
        .async = by->async,
        .silent = stores_the_same(by),
        .load = by->use == EMU_READ && by->what == NULL ? emu_watch_number(by->warp, by->insn) : 0};

    if (cluster->known == NULL) return;
    while (at < end) {
        uint64_t word = at & ~(uint64_t)(WORD - 1), stop = word + WORD < end ? word + WORD : end;
        struct place_cell *cells = find_cells(cluster->machine, by->allocation, at / PAGE);
        if (cells == NULL) return;
        now.bytes = ((1u << (stop - word)) - 1) & ~((1u << (at - word)) - 1) & 15;
        touch_cell(by, word, &cells[word % PAGE / WORD], now);
        at = stop;
    }
}
