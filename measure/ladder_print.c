// A ladder as a table on the terminal and as a section of the ledger, from the same cells.
// Nothing here names a date, a host or a path: the same measurement gives the same text.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/ladder.h"
#include "measure/columns.h"

static const char *const words[] = {"keep", "not clear: leave out", "revert", "mixed", ""};

// What the terminal and the ledger show of a rung at a shape.
struct cells {
    char shape[140], before[24], after[24], ratio[60], spread[24], since[24], decision[400];
};

// Times and ratios in four digits, which is what the spread leaves.
static void put_times(const struct ladder_row *row, struct cells *cells) {
    const struct stats ratio = row->ratio;
    if (row->ms.count) snprintf(cells->after, sizeof cells->after, "%.4g", row->ms.median);
    if (row->ms.count && isfinite(row->since_first))
        snprintf(cells->since, sizeof cells->since, "%.4g", row->since_first);
    if (!ratio.count) return;
    snprintf(cells->before, sizeof cells->before, "%.4g", row->before.median);
    const char *format = ratio.median < 10 ? "%.3f [%.3f, %.3f]" : "%.4g [%.4g, %.4g]";
    snprintf(cells->ratio, sizeof cells->ratio, format, ratio.median, ratio.lower, ratio.upper);
    snprintf(cells->spread, sizeof cells->spread, "+-%.3f", (ratio.upper - ratio.lower) / 2);
}

static void put_decision(const struct ladder *ladder, const struct ladder_row *row,
                         struct cells *cells) {
    const enum ladder_decision decision = ladder_decide(row->ratio);
    const size_t size = sizeof cells->decision;
    if (*row->reason) {
        snprintf(cells->decision, size, "%s", row->reason);
    } else if (row->against < 0) {
        snprintf(cells->decision, size, "the first");
    } else if ((size_t)row->against + 1 == row->rung) {
        snprintf(cells->decision, size, "%s", words[decision]);
    } else {
        snprintf(cells->decision, size, "%s (against rung %d)", words[decision],
                 ladder->rungs[row->against].number);
    }
}

static struct cells cells_of(const struct ladder *ladder, const struct ladder_row *row) {
    struct cells cells = {.shape = ""};
    snprintf(cells.shape, sizeof cells.shape, "%s", row->shape);
    put_times(row, &cells);
    put_decision(ladder, row, &cells);
    return cells;
}

// Appends the shapes at which rung [index] is decided so, " at A, B".
static void name_shapes(const struct ladder *ladder, size_t index, enum ladder_decision decision,
                        FILE *out) {
    bool some = false;
    for (size_t i = 0; i < ladder->row_count; ++i) {
        const struct ladder_row *row = &ladder->rows[i];
        if (row->rung != index || ladder_decide(row->ratio) != decision) continue;
        fprintf(out, "%s %s", some ? "," : " at", row->shape);
        some = true;
    }
}

// The line about several shapes together; false where there are none or one.
static bool cells_of_all(const struct ladder *ladder, size_t index, struct cells *cells) {
    int shapes;
    const enum ladder_decision overall = ladder_overall(ladder, index, &shapes);
    *cells = (struct cells){.shape = ""};
    if (shapes < 2) return false;
    snprintf(cells->shape, sizeof cells->shape, "all %d", shapes);
    FILE *out = fmemopen(cells->decision, sizeof cells->decision, "w");
    if (!out) return true;
    fputs(words[overall], out);
    if (overall == LADDER_MIXED) {
        fputs(": keep", out);
        name_shapes(ladder, index, LADDER_KEEP, out);
        fputs(" only", out);
    }
    fclose(out);
    return true;
}

// Calls [put] for all lines of the ladder in order; [first] is true for a rung's first line.
static void each_line(const struct ladder *ladder, void *context,
                      void (*put)(void *context, const struct ladder_rung *, const struct cells *,
                                  bool first)) {
    for (size_t i = 0; i < ladder->rung_count; ++i) {
        const struct ladder_rung *rung = &ladder->rungs[i];
        bool first = true;
        struct cells cells;
        for (size_t j = 0; j < ladder->row_count; ++j) {
            if (ladder->rows[j].rung != i) continue;
            cells = cells_of(ladder, &ladder->rows[j]);
            put(context, rung, &cells, first);
            first = false;
        }
        if (first) {
            cells = (struct cells){.shape = ""};
            snprintf(cells.decision, sizeof cells.decision, "%s",
                     rung->wrong ? "WRONG: not measured; see tmagen verify" : "not measured");
            put(context, rung, &cells, true);
        }
        if (cells_of_all(ladder, i, &cells)) put(context, rung, &cells, false);
    }
}

// ---- Terminal

static void put_table(void *context, const struct ladder_rung *rung, const struct cells *cells,
                      bool first) {
    struct table *table = context;
    if (first) {
        table_cell(table, "%d", rung->number);
        table_cell(table, "%s", rung->title);
    } else {
        table_cell(table, "%s", "");
        table_cell(table, "%s", "");
    }
    const char *const texts[] = {cells->shape,  cells->before, cells->after,   cells->ratio,
                                 cells->spread, cells->since,  cells->decision};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) table_cell(table, "%s", texts[i]);
}

void ladder_print(const struct ladder *ladder, FILE *out) {
    static const char *const titles[] = {">rung",  "",        "shape",    ">ms before", ">ms after",
                                         ">ratio", ">spread", ">x first", "decision",   NULL};
    struct table *table = table_new(titles);
    if (!table) return;
    each_line(ladder, table, put_table);
    fprintf(out, "\n%s: the ladder of %s\n", *ladder->gpu ? ladder->gpu : "nothing measured",
            ladder->family);
    table_print(table, out);
    table_free(table);
}

// ---- Markdown

// Text for a cell: no line ends in it, no cell, and no comment, which a marker is, begins.
static void put_escaped(const char *text, FILE *out) {
    for (; *text; ++text) {
        if ((unsigned char)*text < ' ') {
            fputc(' ', out);
        } else if (*text == '|' || *text == '\\') {
            fprintf(out, "\\%c", *text);
        } else if (*text == '<') {
            fputs("&lt;", out);
        } else {
            fputc(*text, out);
        }
    }
}

static void put_markdown(void *context, const struct ladder_rung *rung, const struct cells *cells,
                         bool first) {
    FILE *out = context;
    const char *const texts[] = {cells->shape,  cells->before, cells->after,   cells->ratio,
                                 cells->spread, cells->since,  cells->decision};
    fprintf(out, "| %d | ", rung->number);
    if (first) {
        put_escaped(rung->title, out);
        if (*rung->doc) fputs(": ", out);
        put_escaped(rung->doc, out);
    }
    fputs(" | ", out);
    if (first) put_escaped(rung->predict, out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        fputs(" | ", out);
        put_escaped(texts[i], out);
    }
    fputs(" |\n", out);
}

static void put_command(const char *command, FILE *out) {
    fputc('`', out);
    for (; *command; ++command)
        fputc((unsigned char)*command < ' ' || *command == '`' ? ' ' : *command, out);
    fputc('`', out);
}

char *ladder_markdown(const struct ladder *ladder) {
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (!out) return NULL;
    fprintf(out, "## The ladder of %s\n\n", ladder->family);
    put_command(ladder->command, out);
    fputs(" on ", out);
    put_escaped(*ladder->gpu ? ladder->gpu : "nothing: no rung was measured", out);
    fputs(".\n\n| rung | what changed | predicted | shape | ms before | ms after | "
          "ratio [quartiles] | spread | x first | decision |\n"
          "| --: | --- | --- | --- | --: | --: | --: | --: | --: | --- |\n",
          out);
    each_line(ladder, out, put_markdown);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}
