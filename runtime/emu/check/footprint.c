// What a launch touches of global memory, in a word for each 16 bytes: cheap enough for every
// access. It only suspects: where two warps have met and one of them wrote, the launch is run again
// from the memory that it began with, under order.c, which knows. What a launch touched is kept for
// the next one, which may begin before it is over (griddepcontrol).
#include "runtime/emu/check/check.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };
enum { FRESH, TAKING, KEPT };  // of a page

// A page as it was before the launch.
struct emu_page {
    struct emu_page *next;
    const struct emu_allocation *allocation;
    size_t number;
    uint8_t data[PAGE], written[PAGE];
};

static size_t page_count(const struct emu_allocation *allocation) {
    return allocation->bytes / PAGE + 1;
}

// The same of launches before the one before, where that does not keep the next one until they are
// over.
static void add(_Atomic uint64_t *feet, const _Atomic uint64_t *before, size_t bytes) {
    for (size_t i = 0; feet != NULL && before != NULL && i <= bytes / EMU_FOOT_UNIT; i++)
        feet[i] |= before[i];
}

// Where memory is out, an allocation has no footprint and nothing is known of it.
void emu_footprints_start(struct emu_machine *machine) {
    struct emu_memory *memory = machine->memory;
    bool early = machine->launch->dependent && !memory->settled;
    bool kept = memory->waited && !memory->hurried;

    memory->settled = false;
    memory->waited = memory->hurried = false;
    for (size_t i = 0; i < memory->count; i++) {
        struct emu_allocation *allocation = &memory->allocations[i];
        _Atomic uint64_t *before = early ? allocation->feet : NULL;
        if (!kept) add(before, allocation->feet_before, allocation->bytes);
        if (before != NULL) allocation->feet = NULL;
        emu_memory_forget(allocation);
        allocation->feet_before = before;
        if (machine->check)
            allocation->feet =
                calloc(allocation->bytes / EMU_FOOT_UNIT + 1, sizeof *allocation->feet);
    }
}

// ---- one launch ----

uint64_t emu_foot_mark(_Atomic uint64_t *foot, uint64_t owner, uint64_t marks) {
    uint64_t cell = atomic_load_explicit(foot, memory_order_relaxed), made;

    do {
        made = cell ? cell | marks : owner | marks;
        if (cell && (cell ^ owner) >> EMU_FOOT_OWNER) made |= EMU_FOOT_SHARED;
    } while (made != cell && !atomic_compare_exchange_weak(foot, &cell, made));
    return cell;
}

// ---- the memory as it was ----

int emu_pages_start(struct emu_machine *machine) {
    for (size_t i = 0; i < machine->memory->count; i++) {
        struct emu_allocation *allocation = &machine->memory->allocations[i];
        allocation->pages = calloc(page_count(allocation), sizeof *allocation->pages);
        if (allocation->pages == NULL) return -1;
    }
    return 0;
}

static void copy_page(struct emu_page *page, bool back) {
    const struct emu_allocation *allocation = page->allocation;
    size_t at = page->number * PAGE, left = allocation->bytes - at;
    size_t bytes = left < PAGE ? left : PAGE;
    uint8_t *data = allocation->data + at;

    memcpy(back ? data : page->data, back ? page->data : data, bytes);
    if (allocation->written == NULL) return;
    uint8_t *written = allocation->written + at;
    memcpy(back ? written : page->written, back ? page->written : written, bytes);
}

static bool take_page(struct emu_apart *apart, const struct emu_allocation *allocation,
                      size_t number) {
    struct emu_page *page = malloc(sizeof *page);

    if (page == NULL) return false;
    page->allocation = allocation;
    page->number = number;
    copy_page(page, false);
    page->next = atomic_load(&apart->kept);
    while (!atomic_compare_exchange_weak(&apart->kept, &page->next, page)) continue;
    return true;
}

// The first writer copies the page; others wait, since they would write into what it copies.
static void keep_page(struct emu_apart *apart, const struct emu_allocation *allocation,
                      size_t number) {
    _Atomic uint8_t *state = &allocation->pages[number];
    uint8_t now = FRESH;

    if (atomic_load_explicit(state, memory_order_acquire) == KEPT) return;
    if (!atomic_compare_exchange_strong(state, &now, TAKING)) {
        while (atomic_load_explicit(state, memory_order_acquire) == TAKING) continue;
        return;
    }
    if (!take_page(apart, allocation, number)) atomic_store(&apart->lost, true);
    atomic_store_explicit(state, KEPT, memory_order_release);
}

void emu_pages_keep(const struct emu_machine *machine, const struct emu_allocation *allocation,
                    uint64_t offset, size_t bytes) {
    if (allocation->pages == NULL) return;
    for (uint64_t page = offset / PAGE; page <= (offset + bytes - 1) / PAGE; page++)
        keep_page(machine->apart, allocation, page);
}

void emu_pages_end(struct emu_apart *apart, bool restore) {
    for (struct emu_page *page = apart->kept, *next; page != NULL; page = next) {
        next = page->next;
        if (restore) copy_page(page, true);
        free(page);
    }
}

// ---- the launch before ----

void emu_before_touch(const struct emu_touch_global *by) {
    const _Atomic uint64_t *feet = by->allocation->feet_before;
    const char *verb = by->use == EMU_READ ? "reads" : "writes";
    uint64_t at = by->offset, end = by->offset + by->bytes;
    char where[EMU_MEMORY_TEXT];
    bool writes = false, reads = false;

    if (feet == NULL || emu_knows_before(by->warp->cta->cluster, by->clock)) return;
    for (; at < end; at++) {
        uint64_t cell = feet[at / EMU_FOOT_UNIT] >> at % EMU_FOOT_UNIT;
        writes = cell & 1;
        reads = by->use != EMU_READ && (cell >> EMU_FOOT_READ & 1);
        if (!writes && !reads) continue;
        emu_report(
            by->warp, by->insn, EMU_RACE,
            "%s %s %s, which the kernel before this one %s\n"
            "  no griddepcontrol.wait comes first: that kernel may still run",
            by->what ? by->what : "it", verb,
            emu_memory_text(emu_machine(by->warp), by->allocation, at, 1, where, sizeof where),
            writes ? "writes" : "reads");
        return;
    }
}
