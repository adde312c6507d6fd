// Compares what two devices gave, or a device and the record, and says where they differ.
// A form's message has its text, the inputs of the thread and both results, enough to look it up.
#include "tests/emu/vectors/compare.h"

#include <stdio.h>

enum { SHOWN = 3 };  // threads of a form that are shown

static void show(const struct form *form, size_t slot, size_t thread, uint64_t seed,
                 uint64_t expected, uint64_t got) {
    const struct class *class = class_of(form->out[slot]);
    int digits = (int)(2 * class->bytes);
    printf("    result %zu, block %zu thread %zu: expected %0*llx, got %0*llx; inputs", slot,
           thread / form->table->threads, thread % form->table->threads, digits,
           (unsigned long long)expected, digits, (unsigned long long)got);
    for (size_t in = 0; in < form->in_count && in < 8; ++in) {
        const struct class *of = class_of(form->in[in]);
        printf(" %0*llx", (int)(2 * of->bytes),
               (unsigned long long)input_value(of, form->key, seed, in, thread));
    }
    printf("\n");
}

static void announce(const struct form *form, size_t program, size_t *shown) {
    if (!(*shown)++) printf("%s, program %zu: %s\n", form->table->name, program, form->text);
}

// Compares [count] threads of a slot; returns how good it is.
static enum verdict compare_slot(const struct form *form, size_t program, size_t slot,
                                 uint64_t seed, const uint64_t *expected, const uint64_t *got,
                                 size_t count, size_t *shown) {
    const struct class *class = class_of(form->out[slot]);
    enum verdict verdict = EQUAL;
    for (size_t i = 0; i < count; ++i) {
        if (expected[i] == got[i]) continue;
        if (within(&form->row->bound, class, expected[i], got[i])) {
            if (verdict == EQUAL) verdict = CLOSE;
            continue;
        }
        verdict = DIFFERENT;
        announce(form, program, shown);
        if (*shown <= SHOWN) show(form, slot, i, seed, expected[i], got[i]);
    }
    return verdict;
}

enum verdict compare_results(const struct form *form, size_t program, uint64_t seed,
                             const uint64_t *expected, const uint64_t *got) {
    size_t all = (size_t)form->table->threads * form->table->rounds, shown = 0;
    enum verdict worst = EQUAL;
    for (size_t slot = 0; slot < form->out_count; ++slot) {
        enum verdict verdict = compare_slot(form, program, slot, seed, expected + slot * all,
                                            got + slot * all, all, &shown);
        if (verdict > worst) worst = verdict;
    }
    if (shown > SHOWN) printf("    %zu threads in all\n", shown);
    return worst;
}

enum verdict compare_record(const struct form *form, size_t program, uint64_t seed,
                            const struct form_record *record, const uint64_t *got) {
    size_t all = (size_t)form->table->threads * form->table->rounds, shown = 0;
    enum verdict worst = EQUAL;
    for (size_t slot = 0; slot < form->out_count; ++slot, got += all) {
        size_t known = recorded_in_full(form, slot);
        enum verdict verdict = compare_slot(
            form, program, slot, seed, record->results + slot * record->stride, got, known, &shown);
        if (is_hashed(form) && hash_results(got + known, all - known) != record->hashes[slot]) {
            verdict = DIFFERENT;
            announce(form, program, &shown);
            printf("    result %zu differs in a thread behind the first %zu\n", slot, known);
        }
        if (verdict > worst) worst = verdict;
    }
    return worst;
}
