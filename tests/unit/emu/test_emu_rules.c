// What the checker must say of small programs, tests/emu/rules/*.ptx, and when it must be silent.
// Each program is right; its lines say in comments how they could be wrong, and what comes of it:
//     CODE //! CLASS            without CODE, a report of that class under some seed
//     CODE //!! CLASS           under every seed
//     CODE //= CLASS: OTHER     with OTHER in its place, under some seed
//     CODE //~ OTHER            with OTHER in its place nothing is wrong either
// CLASS "wrong": the buffer out begins otherwise than it should, whatever is reported.
// " @ TEXT" behind the class: the report is of a line with TEXT in it. Comments at the top say how
// to launch, "// launch: grid 2 block 128 cluster 2 dynamic 1024"; what the buffer out begins with
// afterwards, "// out: 1 2 0xff", with "// runs on" where reports do not change it; "// notes"
// where what is no fault is none here, while elsewhere it counts as a report; how large each
// buffer is, "// bytes: 8175"; and a tensor map, "// map: bf16 64x40 box 72x8 swizzle 128", with
// sizes innermost first, and with "along 1" or "along 2" as im2col::w and im2col::w::128 take it:
// its box is one of channels and pixels. Parameters, as many as the entry has: the addresses of
// [out] (zeros), [in] (words that count from 0) and [fresh] (never written); the last is the map
// over [out] where there is one. "// follows: NAME NAME": the entries of these names are launched
// before, each of which, as k, may begin before the one before it is over (programmatic dependent
// launch). TMAGEN_SEEDS is the number of orders, ONLY_RULE a part of the only programs' names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/emu.h"
#include "runtime/emu/model/tensormap.h"
#include "runtime/whole_file.h"

enum { FILES = 96, BYTES = 1 << 16, TEXT = 1 << 16, LINE = 320, WORDS = 16, STEPS = 2000000 };

// A program, or a variant of it, and what is known of its runs.
struct program {
    const char *path;
    char *text;                       // as it is in the file
    char *wrong;                      // the variant's text
    char class_[LINE], at[LINE];      // of the report that is due; class "" for none
    bool always;                      // under every seed
    uint32_t expected[WORDS], words;  // what [out] begins with
    bool differs;                     // the latest run's is not that
    _Alignas(64) uint8_t map[EMU_TENSOR_MAP_BYTES];
    struct emu_launch launch;
};

// ---- Reading

static char *directive(const char *text, const char *name) {
    char *found = strstr(text, name);
    return found ? found + strlen(name) : NULL;
}

// The number behind [word] in the line at [text], or [none].
static unsigned long long number_of(const char *text, const char *word, unsigned long long none) {
    const size_t length = strcspn(text, "\n");
    const char *found = memmem(text, length, word, strlen(word));
    return found ? strtoull(found + strlen(word), NULL, 0) : none;
}

// "64x40" at *text into [to]; returns how many.
static uint32_t sizes(const char *text, uint64_t *to) {
    uint32_t count = 0;
    for (char *end;; text = end + 1) {
        to[count++] = strtoull(text, &end, 0);
        if (*end != 'x' || count == 5) return count;
    }
}

static void read_map(struct program *p, const char *line, uint64_t address) {
    static const char *const types[] = {"u8",  "u16",  "u32", "s32", "u64", "s64", "f16", "f32",
                                        "f64", "bf16", "",    "",    "",    "u4",  "u4x", "u6x"};
    static const unsigned bits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 0, 0, 0, 4, 4, 6};
    uint64_t dims[5], strides[5], box[5];
    uint32_t boxes[5], ones[5] = {1, 1, 1, 1, 1};
    struct emu_error error;
    const size_t length = strcspn(line, " ");
    int type = 0;
    while (strncmp(line, types[type], length) || types[type][length]) assert_true(++type < 16);
    const uint32_t rank = sizes(line + length + 1, dims);
    assert_int_equal(sizes(strstr(line, "box ") + 4, box), rank);
    for (uint32_t i = 0; i < rank; ++i) {
        strides[i] = i ? dims[i] * strides[i - 1] : dims[i] * bits[type] / 8;
        boxes[i] = (uint32_t)box[i];
    }
    const unsigned span = (unsigned)number_of(line, "swizzle ", 0);
    const int swizzle = span == 128 ? 3 : span == 64 ? 2 : span == 32;
    if (emu_tensor_map_encode(p->map, type, rank, address, dims, strides, boxes, ones, 0, swizzle,
                              0, 0, &error))
        fail_msg("%s: map: %s", p->path, error.text);
    const char *along = strstr(line, "along ");
    if (along == NULL || along > strchr(line, '\n')) return;
    struct tmg_map map;
    tmg_tensor_map_read(p->map, &map);
    map.im2col = TMG_IM2COL_ALL + (int)number_of(line, "along ", 0);
    map.channels = map.box[0];
    map.pixels = map.box[1];
    tmg_tensor_map_write(p->map, &map);
}

static void read_program(struct program *p) {
    size_t bytes;
    if (tmg_file_read(p->path, TEXT, &p->text, &bytes)) fail_msg("cannot read %s", p->path);
    const char *line = directive(p->text, "// launch:");
    p->launch =
        (struct emu_launch){.budget = {.steps = STEPS},
                            .grid = {line ? (unsigned)number_of(line, "grid ", 1) : 1, 1, 1},
                            .block = {line ? (unsigned)number_of(line, "block ", 32) : 32, 1, 1},
                            .cluster = {line ? (unsigned)number_of(line, "cluster ", 1) : 1, 1, 1},
                            .dynamic_smem = line ? (unsigned)number_of(line, "dynamic ", 0) : 0};
    for (char *out = directive(p->text, "// out:"); out && *out != '\n' && p->words < WORDS;)
        p->expected[p->words++] = (uint32_t)strtoull(out, &out, 0);
}

// ---- Running

static int seed_count(void) {
    const char *text = getenv("TMAGEN_SEEDS");
    const int count = text ? atoi(text) : getenv("SANITIZED") ? 3 : 20;
    return count > 0 ? count : 1;
}

// True where line [number] of [text], from 1, has [part] in it.
static bool line_has(const char *text, unsigned number, const char *part) {
    for (; number > 1 && *text; --number) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return !*part || memmem(text, strcspn(text, "\n"), part, strlen(part));
}

static bool is_due(const struct program *p, const struct emu_result *result) {
    if (!strcmp(p->class_, "wrong")) return p->differs;
    for (size_t i = 0; i < result->report_count; ++i)
        if (!strcmp(emu_class_name(result->reports[i].class_), p->class_) &&
            line_has(p->wrong, result->reports[i].ptx_line, p->at))
            return true;
    return false;
}

// Launches what the program follows in its stream; the program itself may then start early.
static void run_before(struct program *p, struct emu_memory *memory) {
    struct emu_launch before = p->launch;
    struct emu_result result;
    struct emu_error error;
    char names[LINE], *rest = names;
    assert_int_equal(sscanf(directive(p->text, "// follows: "), "%[^\n]", names), 1);
    before.dependent = false;
    while ((before.entry = strtok_r(rest, " ", &rest))) {
        if (emu_launch_run(memory, &before, &result, &error))
            fail_msg("%s: %s", p->path, error.text);
        assert_int_equal(result.report_count, 0);
        emu_result_free(&result);
        before.dependent = true;
    }
    p->launch.dependent = true;
}

// Runs the program's variant with [seed]; words that are not as they must be fail the test.
static void run(struct program *p, const struct emu_module *module, uint64_t seed,
                struct emu_result *result) {
    struct emu_memory *memory = emu_memory_new();
    static uint32_t words[BYTES / 4];
    uint64_t addresses[3];
    struct emu_error error;
    static const char *const names[] = {"out", "in", "fresh"};
    const char *size = directive(p->text, "// bytes:");
    const size_t bytes = size ? (size_t)strtoull(size, NULL, 0) : BYTES;
    for (int i = 0; i < 3; ++i) addresses[i] = emu_memory_alloc(memory, bytes, names[i]);
    for (uint32_t i = 0; i < BYTES / 4; ++i) words[i] = i;
    emu_memory_fill(memory, addresses[0], 0, bytes);
    emu_memory_write(memory, addresses[1], words, bytes);
    const char *map = directive(p->text, "// map: ");
    if (map) read_map(p, map, addresses[0]);
    const void *params[] = {&addresses[0], &addresses[1], &addresses[2], p->map};
    p->launch.module = module;
    p->launch.entry = "k";
    p->launch.params = params;
    p->launch.param_count = (size_t)emu_entry_params(module, p->launch.entry);
    p->launch.seed = seed;
    if (map && p->launch.param_count < 4) params[p->launch.param_count - 1] = p->map;
    if (directive(p->text, "// follows: ")) run_before(p, memory);
    if (emu_launch_run(memory, &p->launch, result, &error)) fail_msg("%s: %s", p->path, error.text);
    emu_memory_read(memory, words, addresses[0], bytes);
    emu_memory_delete(memory);
    const bool runs_on = directive(p->text, "// runs on") != NULL;
    const bool finished = !result->report_count || runs_on;
    p->differs = memcmp(words, p->expected, p->words * sizeof *words) != 0;
    for (uint32_t i = 0; i < p->words && (p->wrong == p->text || runs_on) && finished; ++i)
        if (words[i] != p->expected[i])
            fail_msg("%s: out[%u] is 0x%x, not 0x%x, with seed %llu", p->path, i, words[i],
                     p->expected[i], (unsigned long long)seed);
}

// Runs the variant in all orders and holds it to what is due. [number] is of the line changed.
static void judge(struct program *p, unsigned number) {
    struct emu_error error;
    struct emu_module *module;
    char *other = NULL;
    int shown = 0, seeds = seed_count();
    const bool notes = directive(p->text, "// notes") != NULL;
    if (emu_module_parse(p->path, p->wrong, strlen(p->wrong), NULL, &module, &error))
        fail_msg("%s", error.text);
    for (int seed = 0; seed < seeds; ++seed) {
        struct emu_result result;
        run(p, module, (uint64_t)seed, &result);
        if (!notes) {
            result.report_count += result.note_count;
            result.note_count = 0;
        }
        const bool hit = *p->class_ ? is_due(p, &result) : !result.report_count;
        shown += hit;
        if (!hit && !other) other = strdup(result.report_count ? result.reports[0].text : "");
        emu_result_free(&result);
    }
    emu_module_free(module);
    const int some = getenv("SANITIZED") ? 0 : 1;  // three orders may be too few
    if (shown < (p->always || !*p->class_ ? seeds : some))
        fail_msg("%s:%u: '%s' at '%s' by %d of %d seeds; another says: %s", p->path, number,
                 *p->class_ ? p->class_ : "nothing", p->at, shown, seeds, other);
    free(other);
}

// ---- Variants

// Reads what the comment at [mark] says is due, and gives what stands in the line's place.
static const char *read_mark(struct program *p, char *mark) {
    char kind = mark[2];
    p->always = !strncmp(mark, "//!!", 4);
    p->class_[0] = p->at[0] = '\0';
    mark += 3 + p->always;
    mark += strspn(mark, " ");
    if (kind == '~') return mark;
    char *other = kind == '=' ? strstr(mark, ": ") : NULL, *at = strstr(mark, " @ ");
    if (kind == '=') {
        assert_non_null(other);
        *other = '\0';
        at = strstr(mark, " @ ");
    }
    if (at) {
        *at = '\0';
        snprintf(p->at, sizeof p->at, "%s", at + 3);
    }
    snprintf(p->class_, sizeof p->class_, "%s", mark);
    return other ? other + 2 : "";
}

static void judge_line(struct program *p, const char *line, size_t length, unsigned number) {
    char copy[LINE];
    if (length >= LINE) fail_msg("%s:%u: is too long", p->path, number);
    snprintf(copy, sizeof copy, "%.*s", (int)length, line);
    char *mark = strstr(copy, "//");
    if (!mark || !mark[2] || !strchr("!=~", mark[2])) return;
    const char *instead = read_mark(p, mark);
    const size_t size = strlen(p->text) + LINE;
    p->wrong = malloc(size);
    assert_non_null(p->wrong);
    snprintf(p->wrong, size, "%.*s%s%s", (int)(line - p->text), p->text, instead, line + length);
    judge(p, number);
    free(p->wrong);
}

static void test_program(void **state) {
    struct program p = {.path = *state};
    unsigned number = 1;
    read_program(&p);
    p.wrong = p.text;
    judge(&p, 0);
    for (const char *line = p.text; *line; ++number) {
        const size_t length = strcspn(line, "\n");
        judge_line(&p, line, length, number);
        line += length + (line[length] == '\n');
    }
    free(p.text);
}

int main(void) {
    static struct CMUnitTest tests[FILES];
    const char *only = getenv("ONLY_RULE");
    size_t count = 0;
    glob_t found;
    if (glob("tests/emu/rules/*.ptx", 0, NULL, &found)) return puts("no programs"), 1;
    if (found.gl_pathc > FILES) return puts("more programs than FILES"), 1;
    for (size_t i = 0; i < found.gl_pathc; ++i)
        if (!only || strstr(found.gl_pathv[i], only))
            tests[count++] =
                (struct CMUnitTest){found.gl_pathv[i], test_program, NULL, NULL, found.gl_pathv[i]};
    const int failed = _cmocka_run_group_tests("emu_rules", tests, count, NULL, NULL);
    globfree(&found);
    return failed;
}
