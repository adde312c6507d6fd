// Reports: what happened, where in the PTX, the generated source and the template, and who was
// involved. They are the product: written for a person who has stared at a hung GPU.
#include "runtime/emu/machine/mbarrier.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { REPORTS_MAX = 100 };

static const char *const names[EMU_CLASSES] = {
    [EMU_DEADLOCK] = "deadlock",
    [EMU_LIVELOCK] = "livelock",
    [EMU_STEP_LIMIT] = "step limit",
    [EMU_RACE] = "race",
    [EMU_MISSING_PROXY_FENCE] = "missing proxy fence",
    [EMU_UNINITIALISED] = "uninitialised read",
    [EMU_OUT_OF_BOUNDS] = "out of bounds",
    [EMU_MISALIGNED] = "misaligned",
    [EMU_BARRIER_MISUSE] = "barrier misuse",
    [EMU_DIVERGENT] = "divergent",
    [EMU_REGISTER_HAZARD] = "register hazard",
    [EMU_PEER_EXITED] = "exited too early",
    [EMU_TRAP] = "trap",
    [EMU_BAD_OPERAND] = "bad operand",
    [EMU_UNIMPLEMENTED] = "not implemented",
    [EMU_BAD_LAUNCH] = "bad launch",
};

const char *emu_class_name(enum emu_class class_) { return names[class_]; }

// ---- text that grows ----

struct text {
    char *at;
    size_t used, capacity;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put_list(struct text *text, const char *format, va_list arguments) {
    va_list again;

    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (text->used + (size_t)length + 1 > text->capacity) {
        size_t capacity = 2 * (text->used + (size_t)length) + 256;
        char *grown = realloc(text->at, capacity);
        if (grown != NULL) {
            text->at = grown;
            text->capacity = capacity;
        }
    }
    if (text->used + (size_t)length + 1 <= text->capacity) {
        vsnprintf(text->at + text->used, (size_t)length + 1, format, again);
        text->used += (size_t)length;
    }
    va_end(again);
}

static void put(struct text *text, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    put_list(text, format, arguments);
    va_end(arguments);
}

// ---- names ----

static const char *file_name(const struct emu_machine *machine, unsigned number) {
    const struct ptx_tree *tree = &machine->module->tree;

    for (uint32_t i = 0; i < tree->file_count; i++)
        if (tree->files[i].number == number) {
            const char *slash = strrchr(tree->files[i].name, '/');
            return slash ? slash + 1 : tree->files[i].name;
        }
    return "source";
}

// The kernel's own line: that of the outermost call into what was inlined.
static const struct ptx_loc *outermost(const struct ptx_loc *loc) {
    for (int depth = 0; loc->parent != NULL && depth < 64; depth++) loc = loc->parent;
    return loc;
}

// ", in 258, in 151": the lines of inlined functions below the kernel's own, outermost first.
static void put_chain(const struct ptx_loc *loc, const struct ptx_loc *outer, char *text,
                      size_t size) {
    size_t used;

    if (loc == outer || loc == NULL) return;
    put_chain(loc->parent, outer, text, size);
    used = strlen(text);
    snprintf(text + used, size - used, ", in %u", loc->line);
}

const char *emu_place_text(const struct emu_machine *machine, const struct emu_insn *insn,
                           char *text, size_t size) {
    const struct emu_launch *launch = machine->launch;
    char chain[160] = "";

    if (insn == NULL || insn->loc == NULL) {
        snprintf(text, size, "PTX line %u", insn ? insn->line : 0);
        return text;
    }
    const struct ptx_loc *loc = outermost(insn->loc);
    put_chain(insn->loc, loc, chain, sizeof chain);
    const char *file = file_name(machine, loc->file);
    if (loc->line <= launch->line_count && loc->line && launch->lines[loc->line - 1].file != NULL)
        snprintf(text, size, "%s:%u (%s:%u%s; PTX line %u)", launch->lines[loc->line - 1].file,
                 launch->lines[loc->line - 1].line, file, loc->line, chain, insn->line);
    else
        snprintf(text, size, "%s:%u%s (PTX line %u)", file, loc->line, chain, insn->line);
    return text;
}

const char *emu_barrier_text(const struct emu_cta *cta, uint32_t offset, char *text, size_t size) {
    const struct emu_launch *launch = cta->cluster->machine->launch;

    for (size_t i = 0; i < launch->barrier_count; i++) {
        const struct emu_barrier_name *name = &launch->barriers[i];
        uint32_t base = cta->dynamic_offset + name->offset;
        if (offset < base || offset >= base + 8 * name->count) continue;
        snprintf(text, size, "%s[%u]", name->name, (offset - base) / 8);
        return text;
    }
    snprintf(text, size, "mbarrier 0x%x", offset);
    return text;
}

static const struct emu_role *role_of(const struct emu_warp *warp) {
    const struct emu_launch *launch = warp->cta->cluster->machine->launch;

    for (size_t i = 0; i < launch->role_count; i++)
        if (warp->index - launch->roles[i].first_warp < launch->roles[i].warps)
            return &launch->roles[i];
    return NULL;
}

const char *emu_warp_text(const struct emu_warp *warp, char *text, size_t size) {
    const struct emu_role *role = role_of(warp);
    char rank[24] = "";

    if (warp->cta->cluster->cta_count > 1)
        snprintf(rank, sizeof rank, " of rank %u", warp->cta->rank);
    snprintf(text, size, "%s%swarp %u%s", role ? role->name : "", role ? " " : "", warp->index,
             rank);
    return text;
}

// ---- one report ----

bool emu_report_again(struct emu_machine *machine, const struct emu_insn *insn,
                      enum emu_class class_) {
    for (size_t i = 0; i < machine->report_count && insn != NULL; i++)
        if (machine->reports[i].class_ == class_ && machine->reports[i].ptx_line == insn->line) {
            machine->reports[i].count++;
            return true;
        }
    return false;
}

static struct emu_report *new_report(struct emu_machine *machine, enum emu_class class_,
                                     const struct emu_insn *insn) {
    if (emu_report_again(machine, insn, class_)) return NULL;
    if (machine->report_count == REPORTS_MAX) {
        machine->stop = true;
        return NULL;
    }
    if (machine->reports == NULL) machine->reports = calloc(REPORTS_MAX, sizeof *machine->reports);
    if (machine->reports == NULL) {
        machine->stop = true;
        return NULL;
    }
    struct emu_report *report = &machine->reports[machine->report_count++];
    report->class_ = class_;
    report->count = 1;
    if (insn != NULL) {
        report->ptx_line = insn->line;
        report->source_line = insn->loc ? outermost(insn->loc)->line : 0;
        report->source = insn->loc ? file_name(machine, insn->loc->file) : NULL;
    }
    return report;
}

static void report_list(struct emu_warp *warp, const struct emu_insn *insn, enum emu_class class_,
                        const char *format, va_list arguments) {
    struct emu_machine *machine = emu_machine(warp);
    struct emu_report *report = new_report(machine, class_, insn);
    const struct emu_cta *cta = warp->cta;
    struct text text = {0};
    char place[400], who[100];

    if (report == NULL) return;
    put(&text, "%s in %s, CTA (%u,%u,%u), %s\n  at %s\n  ", names[class_], machine->entry->name,
        cta->id[0], cta->id[1], cta->id[2], emu_warp_text(warp, who, sizeof who),
        emu_place_text(machine, insn, place, sizeof place));
    put_list(&text, format, arguments);
    put(&text, "\n");
    report->text = text.at;
}

void emu_report(struct emu_warp *warp, const struct emu_insn *insn, enum emu_class class_,
                const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    report_list(warp, insn, class_, format, arguments);
    va_end(arguments);
}

void emu_fatal(struct emu_warp *warp, const struct emu_insn *insn, enum emu_class class_,
               const char *format, ...) {
    va_list arguments;

    if (emu_machine(warp)->stop) return;
    va_start(arguments, format);
    report_list(warp, insn, class_, format, arguments);
    va_end(arguments);
    emu_machine(warp)->stop = true;
}

void emu_report_machine(struct emu_machine *machine, enum emu_class class_, const char *message) {
    struct emu_report *report = new_report(machine, class_, NULL);

    machine->stop = true;
    if (report != NULL) report->text = strdup(message);
}

// ---- everyone's state ----

// Warp number [agent] of the cluster, with its CTA's rank where there are several.
static void put_agent(struct text *text, const struct emu_cta *cta, unsigned agent) {
    put(text, " warp %u", agent % cta->warp_count);
    if (cta->cluster->cta_count > 1) put(text, " of rank %u", agent / cta->warp_count);
}

// What has come and what is due in the barrier's phase.
static void put_barrier_state(struct text *text, const struct emu_mbarrier *barrier) {
    char who[100], place[400];

    put(text, "%*s%u of %u arrivals in phase %u", 26, "", barrier->expected - barrier->pending,
        barrier->expected, barrier->phase);
    if (barrier->bytes != 0)
        put(text, ", %lld bytes %s",
            (long long)(barrier->bytes > 0 ? barrier->bytes : -barrier->bytes),
            barrier->bytes > 0 ? "still due" : "more than expected");
    if (barrier->last != NULL)
        put(text, "; last: %s%s%s at %s", barrier->last_what ? barrier->last_what : "",
            barrier->last_what ? " of " : "", emu_warp_text(barrier->last, who, sizeof who),
            emu_place_text(barrier->cta->cluster->machine, barrier->last_insn, place,
                           sizeof place));
    if (barrier->arrived != 0) {
        put(text, "\n%*sarrived in this phase:", 26, "");
        for (unsigned agent = 0; agent < 64; agent++)
            if (barrier->arrived >> agent & 1) put_agent(text, barrier->cta, agent);
    }
    put(text, "\n");
}

// Lanes that wait for their warp's others, or a warp for those that have yet to come.
static void put_named_barrier(struct text *text, const struct emu_warp *warp, uint32_t number) {
    const struct emu_cta *cta = warp->cta;
    const struct emu_named_barrier *barrier = &cta->barriers[number];

    if (warp->gather.lanes) {
        put(text, "%*sthe warp's lanes 0x%08x are not there\n", 26, "",
            warp->live & ~warp->gather.lanes);
        return;
    }
    put(text, "%*s%u of %u threads are there; missing:", 26, "", barrier->arrived,
        barrier->expected);
    for (unsigned w = 0; w < cta->warp_count; w++)
        if (!(barrier->warps >> w & 1) && (barrier->counted || cta->warps[w].live))
            put(text, " warp %u%s", w, cta->warps[w].live ? "" : " (exited)");
    put(text, "\n");
}

// What [split] waits for; *barrier where that is an mbarrier.
static const struct emu_mbarrier *wait_text(const struct emu_warp *warp,
                                            const struct emu_split *split, char *text,
                                            size_t size) {
    const struct emu_wait *wait = &split->wait;
    const struct emu_mbarrier *barrier;
    char name[64];

    text[0] = '\0';
    if (!split->blocked) {
        snprintf(text, size, "runs");
        return NULL;
    }
    switch (wait->kind) {
    case WAIT_BARRIER: snprintf(text, size, "waits at barrier %u", wait->object); break;
    case WAIT_CLUSTER: snprintf(text, size, "waits at barrier.cluster"); break;
    case WAIT_MBARRIER: {
        const struct emu_cta *cta = &warp->cta->cluster->ctas[wait->object >> EMU_RANK_SHIFT];
        uint32_t offset = wait->object & ((1u << EMU_RANK_SHIFT) - 1);
        barrier = emu_mbarrier_at(cta, offset);
        snprintf(text, size, "waits for %s, phase %u (parity %u)",
                 emu_barrier_text(cta, offset, name, sizeof name), barrier ? barrier->phase : 0,
                 barrier ? barrier->phase & 1 : 0);
        return barrier;
    }
    case WAIT_BULK_GROUP:
        snprintf(text, size, "waits for bulk groups (%u may be pending)", wait->object);
        break;
    case WAIT_COPY_GROUP: snprintf(text, size, "waits for cp.async groups"); break;
    case WAIT_WARPGROUP: snprintf(text, size, "waits for its warpgroup at a wgmma"); break;
    case WAIT_WARP:
        snprintf(text, size, "waits for lanes 0x%08x at bar.warp.sync", wait->object);
        break;
    case WAIT_SLEEP: snprintf(text, size, "sleeps"); break;
    default: snprintf(text, size, "waits"); break;
    }
    return NULL;
}

// Consecutive warps in the same state are one line: "warps 4..11".
static unsigned same_state(const struct emu_cta *cta, unsigned first) {
    const struct emu_warp *a = &cta->warps[first];
    unsigned last = first;

    while (last + 1 < cta->warp_count && a->split_count == 1) {
        const struct emu_warp *b = &cta->warps[last + 1];
        if (b->split_count != 1 || b->splits[0].pc != a->splits[0].pc ||
            b->splits[0].wait.object != a->splits[0].wait.object || role_of(a) != role_of(b))
            break;
        last++;
    }
    return last;
}

static void put_warps(struct text *text, const struct emu_cta *cta, unsigned first, unsigned last) {
    const struct emu_warp *warp = &cta->warps[first];
    const struct emu_role *role = role_of(warp);
    char place[400], what[160], who[80];

    if (first == last)
        snprintf(who, sizeof who, "%s%swarp %u", role ? role->name : "", role ? " " : "", first);
    else
        snprintf(who, sizeof who, "%s%swarps %u..%u", role ? role->name : "", role ? " " : "",
                 first, last);
    if (warp->split_count == 0 && warp->live == 0) put(text, "  %-22s  has exited\n", who);
    for (unsigned s = 0; s < warp->split_count; s++) {
        const struct emu_split *split = &warp->splits[s];
        const struct emu_mbarrier *barrier = wait_text(warp, split, what, sizeof what);
        put(text, "  %-22s  %s", who, what);
        if (split->mask != warp->started) put(text, " (lanes 0x%08x)", split->mask);
        put(text, "   %s\n",
            emu_place_text(cta->cluster->machine, &cta->cluster->machine->program->code[split->pc],
                           place, sizeof place));
        if (barrier != NULL) put_barrier_state(text, barrier);
        if (split->blocked && split->wait.kind == WAIT_BARRIER)
            put_named_barrier(text, warp, split->wait.object);
    }
}

void emu_report_standstill(struct emu_machine *machine, enum emu_class class_) {
    struct emu_cluster *cluster = machine->clusters;
    const struct emu_insn *insn = NULL;
    struct text text = {0};

    for (unsigned c = 0; c < cluster->cta_count && insn == NULL; c++)
        for (unsigned w = 0; w < cluster->ctas[c].warp_count && insn == NULL; w++)
            if (cluster->ctas[c].warps[w].split_count)
                insn = &machine->program->code[cluster->ctas[c].warps[w].splits[0].pc];
    struct emu_report *report = new_report(machine, class_, insn);
    if (report == NULL) return;
    for (; cluster != NULL; cluster = cluster->next)
        for (unsigned c = 0; c < cluster->cta_count; c++) {
            struct emu_cta *cta = &cluster->ctas[c];
            put(&text, "%s in %s, CTA (%u,%u,%u)\n", names[class_], machine->entry->name,
                cta->id[0], cta->id[1], cta->id[2]);
            for (unsigned w = 0; w < cta->warp_count; w++) {
                unsigned last = same_state(cta, w);
                put_warps(&text, cta, w, last);
                w = last;
            }
        }
    report->text = text.at;
}
