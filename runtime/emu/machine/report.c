// Reports: what happened, where in the PTX, the generated source and the template, and who was
// involved. They are the product: written for a person who has stared at a hung GPU.
#include "runtime/emu/machine/machine.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// Reports of a launch: kept are rows for what explains others, and more for hangs; notes have rows
// beside them.
enum { REPORTS_MAX = 100, REPORTS_KEPT = 50, REPORTS_ALL = REPORTS_MAX + 2 * REPORTS_KEPT };
enum { NOTES_MAX = 100, ROWS = REPORTS_ALL + NOTES_MAX };

static const char *const names[EMU_CLASSES] = {
    [EMU_DEADLOCK] = "deadlock",
    [EMU_BUDGET] = "budget spent",
    [EMU_RACE] = "race",
    [EMU_MISSING_PROXY_FENCE] = "missing proxy fence",
    [EMU_MISSING_TENSOR_FENCE] = "missing tensor fence",
    [EMU_UNINITIALISED] = "uninitialised read",
    [EMU_OUT_OF_BOUNDS] = "out of bounds",
    [EMU_MISALIGNED] = "misaligned",
    [EMU_BARRIER_MISUSE] = "barrier misuse",
    [EMU_TENSOR_MISUSE] = "tensor memory misuse",
    [EMU_DIVERGENT] = "divergent",
    [EMU_REGISTER_HAZARD] = "register hazard",
    [EMU_PEER_EXITED] = "exited too early",
    [EMU_TRAP] = "trap",
    [EMU_BAD_OPERAND] = "bad operand",
    [EMU_MISCOMPILED] = "miscompiled",
    [EMU_UNIMPLEMENTED] = "not implemented",
    [EMU_BAD_LAUNCH] = "bad launch",
};

const char *emu_class_name(enum emu_class class_) { return names[class_]; }

// ---- text that grows ----

static void put_list(struct emu_text *text, const char *format, va_list arguments) {
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

void emu_put(struct emu_text *text, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    put_list(text, format, arguments);
    va_end(arguments);
}

// ---- names ----

static const char *file_path(const struct emu_machine *machine, unsigned number) {
    const struct ptx_tree *tree = &machine->module->tree;

    for (uint32_t i = 0; i < tree->file_count; i++)
        if (tree->files[i].number == number) return tree->files[i].name;
    return "source";
}

static const char *file_name(const struct emu_machine *machine, unsigned number) {
    const char *path = file_path(machine, number), *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool emu_comes_from(const struct emu_machine *machine, const struct emu_insn *insn,
                    const char *folder) {
    const struct ptx_loc *loc = insn->loc;

    for (int depth = 0; loc != NULL && depth < 64; depth++, loc = loc->parent)
        if (strstr(file_path(machine, loc->file), folder) != NULL) return true;
    return false;
}

// The kernel's own line: that of the outermost call into what was inlined.
static const struct ptx_loc *outermost(const struct ptx_loc *loc) {
    for (int depth = 0; loc->parent != NULL && depth < 64; depth++) loc = loc->parent;
    return loc;
}

enum { DEPTH = 16 };  // calls of a place that are named

// Where [loc] is in the text that people wrote; no file: it is not known. Of the source that is
// what the compiler says, of the templates what the launch knows of the source's lines.
static struct emu_source_line line_of(const struct emu_machine *machine, const struct ptx_loc *loc,
                                      bool in_templates) {
    const struct emu_launch *launch = machine->launch;

    if (!in_templates) return (struct emu_source_line){file_name(machine, loc->file), loc->line};
    if (loc->file != outermost(loc)->file || loc->line == 0 || loc->line > launch->line_count)
        return (struct emu_source_line){0};
    return launch->lines[loc->line - 1];
}

// "main.cu:141, in 258, in cute.hpp:151": the kernel's line and those of what is inlined there,
// outermost first, with their file where that is another one than the caller's. Nothing where the
// kernel's own line is not known.
static void put_chain(const struct emu_machine *machine, const struct ptx_loc *loc,
                      bool in_templates, char *text, size_t size) {
    const struct ptx_loc *chain[DEPTH];
    const char *file = NULL;
    unsigned number = 0;  // of the source's file
    size_t used = 0;
    int depth = 0;

    for (; loc != NULL && depth < DEPTH; loc = loc->parent) chain[depth++] = loc;
    text[0] = '\0';
    while (depth-- > 0 && used < size) {
        struct emu_source_line line = line_of(machine, chain[depth], in_templates);
        bool same = chain[depth]->file == number && file && line.file && !strcmp(file, line.file);
        number = chain[depth]->file;
        if (line.file == NULL && file == NULL) return;
        if (line.file == NULL) continue;
        if (same)
            snprintf(text + used, size - used, ", in %u", line.line);
        else
            snprintf(text + used, size - used, "%s%s:%u", file ? ", in " : "", line.file,
                     line.line);
        used += strlen(text + used);
        file = line.file;
    }
}

const char *emu_place_text(const struct emu_machine *machine, const struct emu_insn *insn,
                           char *text, size_t size) {
    char templates[EMU_PLACE_TEXT / 2], source[EMU_PLACE_TEXT / 2];

    if (insn == NULL || insn->loc == NULL) {
        snprintf(text, size, "PTX line %u", insn ? insn->line : 0);
        return text;
    }
    put_chain(machine, insn->loc, true, templates, sizeof templates);
    put_chain(machine, insn->loc, false, source, sizeof source);
    if (templates[0])
        snprintf(text, size, "%s (%s; PTX line %u)", templates, source, insn->line);
    else
        snprintf(text, size, "%s (PTX line %u)", source, insn->line);
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

const struct emu_role *emu_role_of(const struct emu_warp *warp) {
    const struct emu_launch *launch = warp->cta->cluster->machine->launch;

    for (size_t i = 0; i < launch->role_count; i++)
        if (warp->index - launch->roles[i].first_warp < launch->roles[i].warps)
            return &launch->roles[i];
    return NULL;
}

const char *emu_warp_text(const struct emu_warp *warp, char *text, size_t size) {
    const struct emu_role *role = emu_role_of(warp);
    char rank[24] = "";

    if (warp->cta->cluster->cta_count > 1)
        snprintf(rank, sizeof rank, " of rank %u", warp->cta->rank);
    snprintf(text, size, "%s%swarp %u%s", role ? role->name : "", role ? " " : "", warp->index,
             rank);
    return text;
}

const char *emu_lanes_text(uint32_t others, uint32_t lanes, char *text, size_t size) {
    bool one = lanes && !(lanes & (lanes - 1));

    if (one && !(others & (others - 1)))
        snprintf(text, size,
                 "\n  lane %d before lane %d: no bar.warp.sync (__syncwarp) lies between",
                 __builtin_ctz(others), __builtin_ctz(lanes));
    else
        snprintf(text, size,
                 "\n  lanes 0x%08x, before %s: no bar.warp.sync (__syncwarp) lies between", others,
                 lanes ? "others of the warp" : "the lane that tells of it");
    return text;
}

// ---- one report ----

// A line of the kernel with what it calls that was inlined; of PTX where nothing better is known.
static uint64_t place_of(const struct emu_insn *insn) {
    if (insn == NULL) return 0;
    if (insn->loc == NULL) return insn->line;
    return (uint64_t)outermost(insn->loc)->line << 32 | insn->loc->line;
}

static struct emu_report *find(struct emu_machine *machine, enum emu_class class_, uint64_t place,
                               uint64_t other) {
    for (size_t i = 0; i < machine->report_count && place; i++) {
        struct emu_report *report = &machine->reports[i];
        if (report->class_ == class_ && report->place == place && report->other == other)
            return report;
    }
    return NULL;
}

// Whose access it was, for check/unused.c.
static void blame(struct emu_warp *warp, const struct emu_insn *insn, struct emu_report *report) {
    if (warp->blamed_insn != insn || warp->blamed != report) warp->blamed_lanes = 0;
    warp->blamed = report;
    warp->blamed_insn = insn;
    warp->blamed_lanes |= warp->lane < EMU_LANES ? 1u << warp->lane : UINT32_MAX;  // or of all
    warp->watched = true;
}

static struct emu_report *count_again(struct emu_machine *machine, const struct emu_insn *insn,
                                      const struct emu_insn *other, enum emu_class class_) {
    struct emu_report *report = find(machine, class_, place_of(insn), place_of(other));

    if (report != NULL) report->count++;
    return report;
}

bool emu_report_again(struct emu_warp *warp, const struct emu_insn *insn,
                      const struct emu_insn *other, enum emu_class class_) {
    struct emu_report *report = count_again(emu_machine(warp), insn, other, class_);

    if (report != NULL) blame(warp, insn, report);
    return report != NULL;
}

// What explains others comes first, and has room however many the others are.
static int rank(enum emu_class class_) {
    switch (class_) {
    case EMU_DEADLOCK:
    case EMU_BUDGET: return 0;
    case EMU_OUT_OF_BOUNDS: return 2;
    case EMU_RACE:
    case EMU_MISSING_PROXY_FENCE:
    case EMU_MISSING_TENSOR_FENCE:
    case EMU_REGISTER_HAZARD: return 3;
    case EMU_UNINITIALISED: return 4;
    default: return 1;  // misuse
    }
}

// Is it a note, as far as is known?
static bool is_note(const struct emu_report *report) { return report->watched && !report->used; }

// The row of the oldest note, which nobody will hear of. Watches of it that are left can only say
// that the row's next report is no note.
static struct emu_report *oldest_note(struct emu_machine *machine) {
    struct emu_report *row = machine->reports;

    while (!is_note(row)) row++;
    free(row->text);
    return row;
}

// Room for one more; NULL where there is none. Notes do not take it from reports.
static struct emu_report *new_row(struct emu_machine *machine, enum emu_class class_, bool note) {
    size_t most = rank(class_) == 0   ? REPORTS_ALL
                  : rank(class_) <= 2 ? REPORTS_MAX + REPORTS_KEPT
                                      : REPORTS_MAX;
    size_t notes = 0;

    if (machine->reports == NULL) machine->reports = calloc(ROWS, sizeof *machine->reports);
    if (machine->reports == NULL) machine->stop = true;
    for (size_t i = 0; i < machine->report_count; i++) notes += is_note(&machine->reports[i]);
    bool room = note ? notes < NOTES_MAX : machine->report_count - notes < most;
    if (machine->reports != NULL && room)
        return machine->report_count < ROWS ? &machine->reports[machine->report_count++]
                                            : oldest_note(machine);
    machine->left_out += !note;
    return NULL;
}

struct emu_report *emu_report_new(struct emu_machine *machine, enum emu_class class_,
                                  const struct emu_insn *insn, const struct emu_insn *other) {
    if (count_again(machine, insn, other, class_)) return NULL;
    struct emu_report *report = new_row(machine, class_, false);
    if (report == NULL) return NULL;
    *report = (struct emu_report){
        .class_ = class_, .count = 1, .place = place_of(insn), .other = place_of(other)};
    if (insn != NULL) {
        report->ptx_line = insn->line;
        report->source_line = insn->loc ? outermost(insn->loc)->line : 0;
        report->source = insn->loc ? file_name(machine, insn->loc->file) : NULL;
    }
    return report;
}

void emu_report_add(struct emu_machine *machine, struct emu_report *report) {
    struct emu_report *same = find(machine, report->class_, report->place, report->other);
    struct emu_report *row = same ? NULL : new_row(machine, report->class_, is_note(report));

    if (same != NULL) {
        same->count += report->count;
        same->watched |= report->watched;
        same->used |= report->used;
    }
    if (row != NULL)
        *row = *report;
    else
        free(report->text);
}

void emu_reports_end(struct emu_report *reports, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct emu_report *report = &reports[i];
        size_t used = report->text ? strlen(report->text) : 0;
        struct emu_text text = {report->text, used, used + 1};
        report->no_fault = is_note(report);
        if (report->no_fault) emu_put(&text, "  its value is never used\n");
        report->text = text.at;
    }
}

static int place_in_list(const struct emu_report *report) {
    return report->no_fault ? INT_MAX : rank(report->class_);
}

void emu_reports_sort(struct emu_report *reports, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && place_in_list(&reports[k]) < place_in_list(&reports[k - 1]);
             k--) {
            struct emu_report swap = reports[k];
            reports[k] = reports[k - 1];
            reports[k - 1] = swap;
        }
}

static void report_list(struct emu_warp *warp, const struct emu_insn *insn,
                        const struct emu_insn *other, enum emu_class class_, const char *format,
                        va_list arguments) {
    struct emu_machine *machine = emu_machine(warp);
    bool again = emu_report_again(warp, insn, other, class_);
    struct emu_report *report = again ? NULL : emu_report_new(machine, class_, insn, other);
    const struct emu_cta *cta = warp->cta;
    struct emu_text text = {0};
    char place[EMU_PLACE_TEXT], who[100];

    if (report == NULL) return;
    emu_put(&text, "%s in %s, CTA (%u,%u,%u), %s\n  at %s\n  ", names[class_],
            machine->entry->title, cta->id[0], cta->id[1], cta->id[2],
            emu_warp_text(warp, who, sizeof who),
            emu_place_text(machine, insn, place, sizeof place));
    put_list(&text, format, arguments);
    emu_put(&text, "\n");
    report->text = text.at;
    blame(warp, insn, report);
}

void emu_report(struct emu_warp *warp, const struct emu_insn *insn, enum emu_class class_,
                const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    report_list(warp, insn, NULL, class_, format, arguments);
    va_end(arguments);
}

void emu_report_pair(struct emu_warp *warp, const struct emu_insn *insn,
                     const struct emu_insn *other, enum emu_class class_, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    report_list(warp, insn, other, class_, format, arguments);
    va_end(arguments);
}

void emu_fatal(struct emu_warp *warp, const struct emu_insn *insn, enum emu_class class_,
               const char *format, ...) {
    va_list arguments;

    if (emu_machine(warp)->stop) return;
    va_start(arguments, format);
    report_list(warp, insn, NULL, class_, format, arguments);
    va_end(arguments);
    emu_machine(warp)->stop = true;
    emu_machine(warp)->ended_by = class_;
}

void emu_report_machine(struct emu_machine *machine, enum emu_class class_, const char *message) {
    struct emu_report *report = emu_report_new(machine, class_, NULL, NULL);

    machine->stop = true;
    machine->ended_by = class_;
    if (report != NULL) report->text = strdup(message);
}
