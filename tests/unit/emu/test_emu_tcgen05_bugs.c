// Bugs planted in the GEMMs of tests/emu/tcgen05: each is named by its class and the line at fault,
// in every order.
#include "tests/unit/emu/tcgen05_gemm.h"

#define ONE  "tests/emu/tcgen05/one.ptx", 128, 1
#define PAIR "tests/emu/tcgen05/pair_tma.ptx", 256, 2

static const struct planted {
    const char *name, *path;
    uint32_t tile, ctas;
    const char *text, *by;   // the first [text] becomes [by]
    const char *class_;      // or several, with '|' between them
    const char *at, *other;  // text of the line at fault, and of the other one where there are two
} bugs[] = {
    {"the accumulator is read before the commit has arrived", ONE,
     "STORE:\nmbarrier.try_wait.parity.shared::cta.b64 %p6, [%r7], 0;\n@!%p6 bra STORE;",
     "STORE:", "uninitialised read", "tcgen05.ld", NULL},
    {"the mbarrier of the accumulator is arrived at by a thread", ONE,
     "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7]",
     "mbarrier.arrive.shared::cta.b64 _, [%r7]", "race", "tcgen05.mma", ""},
    {"a stage is refilled before anyone has released it", ONE,
     "FREE: mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r21], %r22;\n@!%p6 bra FREE;", "",
     "barrier misuse", "expect_tx", NULL},
    {"a stage is released by a thread and not by the product", ONE,
     "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r21]",
     "mbarrier.arrive.shared::cta.b64 _, [%r21]", "race", "tcgen05.mma", "cp.async.bulk"},
    {"the product does not wait for its stage", ONE,
     "THERE: mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r20], %r18;\n@!%p6 bra THERE;", "",
     "race|uninitialised read", "tcgen05.mma", NULL},
    {"no fence behind the wait for the accumulator", ONE,
     "@!%p6 bra STORE;\ntcgen05.fence::after_thread_sync;", "@!%p6 bra STORE;",
     "missing tensor fence", "tcgen05.ld", NULL},
    {"no wait for the load of tensor memory", ONE, "tcgen05.wait::ld.sync.aligned;", "", "race",
     "tcgen05.dealloc", "tcgen05.ld"},
    {"fewer columns than the accumulator has", ONE, "[%r8], 128;", "[%r8], 64;", "out of bounds",
     "tcgen05.mma", NULL},
    {"columns are never given back", ONE,
     "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r15, 128;", "", "tensor memory misuse",
     "tcgen05.alloc", NULL},
    {"columns are given back while others read them", ONE, "END:\nbar.sync 0;",
     "END:", "out of bounds", "tcgen05.mma", "tcgen05.dealloc"},
    {"a warp reads the lanes of another", ONE, "and.b32 %r30, %r2, 3;", "and.b32 %r30, %r2, 1;",
     "out of bounds", "tcgen05.ld", NULL},
    {"the first product adds to what nobody has written", ONE, "setp.ne.u32 %p9, %r29, 0;",
     "setp.eq.u32 %p9, %r29, %r29;", "uninitialised read", "tcgen05.mma", NULL},
    {"more bytes are expected than come", ONE, "[%r20], 32768;", "[%r20], 32784;", "deadlock",
     "THERE:", NULL},
    {"M is none that there is", ONE, "0x8200490", "0x5200490", "bad operand", "tcgen05.mma", NULL},
    {"N is larger than the accumulator", ONE, "0x8200490", "0x8400490", "out of bounds",
     "tcgen05.mma", NULL},
    {"a descriptor has Hopper's constant", ONE, "0x4000404000010000", "0x4000004000010000",
     "bad operand", "tcgen05.mma", NULL},
    {"the commit tells the first CTA only", PAIR, "mov.u16 %h1, 3;", "mov.u16 %h1, 1;", "deadlock",
     "THERE:", NULL},
    {"the commit tells the second CTA only", PAIR, "mov.u16 %h1, 3;", "mov.u16 %h1, 2;", "deadlock",
     "FREE:", NULL},
    {"the first CTA expects its own copies only", PAIR, "[%r20], 65536;", "[%r20], 32768;",
     "barrier misuse|race", "cp.async.bulk", NULL},
    {"a copy tells the CTA where it lands", PAIR, "{%r25, %r12}], [%r44];",
     "{%r25, %r12}], [%r20];", "deadlock", "THERE:", NULL},
};

static char *with(const struct planted *bug) {
    char *text, *changed;
    read_text(bug->path, &text);
    const char *found = strstr(text, bug->text);
    if (found == NULL) fail_msg("%s: no text", bug->name);
    if (asprintf(&changed, "%.*s%s%s", (int)(found - text), text, bug->by,
                 found + strlen(bug->text)) < 0)
        fail_msg("out of memory");
    free(text);
    return changed;
}

static bool line_has(const char *text, unsigned number, const char *part) {
    for (; number > 1 && *text; --number) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return !*part || memmem(text, strcspn(text, "\n"), part, strlen(part));
}

static bool is_of(const char *classes, enum emu_class class_) {
    const char *name = emu_class_name(class_), *found = strstr(classes, name);
    return found && strchr("|", found[strlen(name)]);
}

// The line at fault is the first that a report names; of two that have no order either may be.
static bool names_lines(const struct planted *bug, const char *ptx,
                        const struct emu_report *report) {
    static const char place[] = "PTX line ";
    const char *second = strstr(report->text, place);
    second = second ? strstr(second + 1, place) : NULL;
    unsigned line = report->ptx_line;
    if (bug->other == NULL) return line_has(ptx, line, bug->at);
    if (second == NULL) return false;
    unsigned other = (unsigned)strtoul(second + strlen(place), NULL, 10);
    return (line_has(ptx, line, bug->at) && line_has(ptx, other, bug->other)) ||
           (line_has(ptx, other, bug->at) && line_has(ptx, line, bug->other));
}

static bool is_named(const struct planted *bug, const char *ptx, const struct emu_result *result) {
    for (size_t i = 0; i < result->report_count; ++i)
        if (is_of(bug->class_, result->reports[i].class_) &&
            names_lines(bug, ptx, &result->reports[i]))
            return true;
    return false;
}

static void check_bug(const struct planted *bug, int seeds) {
    struct tcgen05_gemm g = {.path = bug->path,
                             .tile_m = bug->tile,
                             .tile_n = bug->tile,
                             .ctas = bug->ctas,
                             .m = 128,
                             .n = 128,
                             .k = 328};
    char *ptx = with(bug);
    make(&g);
    for (int seed = 0; seed < seeds; ++seed) {
        struct emu_result result;
        run(&g, ptx, (uint64_t)seed, &result);
        if (!is_named(bug, ptx, &result))
            fail_msg("%s, seed %d: %s", bug->name, seed,
                     result.report_count ? result.reports[0].text : "nothing is reported");
        emu_result_free(&result);
    }
    drop(&g);
    free(ptx);
}

static void planted_bugs_are_named(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; ++i)
        check_bug(&bugs[i], getenv("SANITIZED") ? 2 : 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(planted_bugs_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
