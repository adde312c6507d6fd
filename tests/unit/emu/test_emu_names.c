// Names of functions as people wrote them: what is understood, and that all else stays as it is.
#include "runtime/emu/emu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void is(const char *mangled, const char *plain) {
    char text[128];
    assert_string_equal(emu_plain_name(mangled, text, sizeof text), plain);
}

static void functions_and_namespaces(void **state) {
    (void)state;
    is("axpy", "axpy");
    is("_Z5scalePfi", "scale");
    is("_ZL5scalePfi", "scale");
    is("_ZN2ns5scaleEPfi", "ns::scale");
    is("_ZNK2ns3Row5scaleEi", "ns::Row::scale");
    is("_ZNSt4pairE", "std::pair");
    is("_ZN12_GLOBAL__N_15scaleEv", "(anonymous namespace)::scale");
}

static void template_arguments(void **state) {
    (void)state;
    is("_Z5scaleIfEvPT_i", "scale<...>");
    is("_ZN2ns5scaleILi128ELb1EEEvPf", "ns::scale<...>");
    is("_ZN2ns3RowIfLi4EE5scaleIN3cut5tupleIJiS1_DF16_EEEEEvv", "ns::Row<...>::scale<...>");
    is("_Z5scaleILN2ns4KindE3EfEvv", "scale<...>");
    is("_ZN2ns5scaleIL4Kind3EA10_fPFivEDF16bEEvv", "ns::scale<...>");
    is("_ZN2ns5scaleIStEEvv", "ns::scale<...>");
}

static void all_else_stays(void **state) {
    static const char *const names[] = {"",
                                        "_Z",
                                        "_ZN",
                                        "_ZNE",
                                        "_Z9ab",
                                        "_ZN2ns",
                                        "_ZN2nsI",
                                        "_ZN2nsILi",
                                        "_ZplRK",
                                        "_ZN2nsILN1a",
                                        "_Z99999999999999999999a",
                                        "_Z1fI1",
                                        "_Z1fID",
                                        "_Z1fIDF1",
                                        "_Z1fIS"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) is(names[i], names[i]);
}

// Every name cut short or with a letter damaged is read to its end and no further, and brackets
// nest as deep as a file likes; for the sanitizers, and for valgrind.
static void damaged_names(void **state) {
    static const char whole[] = "_ZN2ns3RowIfLi4EE5scaleIN3cut5tupleIJiS1_DF16_LN1a1bE3EEEEEEvv";
    static const char letters[] = "0923ILNEXJSTDAF_Za";
    char text[40], *deep = malloc(100001);
    (void)state;
    for (size_t length = 0; length < sizeof whole; length++)
        for (size_t at = 0; at < length; at++)
            for (const char *letter = letters; *letter; letter++) {
                char *name = strndup(whole, length);
                name[at] = *letter;
                const char *plain = emu_plain_name(name, text, sizeof text);
                assert_true(plain == name || (plain == text && strlen(text) < sizeof text));
                free(name);
            }
    memset(deep, 'I', 100000);
    memcpy(deep, "_Z1f", 4);
    deep[100000] = '\0';
    assert_ptr_equal(emu_plain_name(deep, text, sizeof text), deep);
    free(deep);
}

static void a_name_that_does_not_fit_stays(void **state) {
    char text[6];
    (void)state;
    assert_string_equal(emu_plain_name("_Z5scalev", text, sizeof text), "scale");
    assert_string_equal(emu_plain_name("_Z6scalesv", text, sizeof text), "_Z6scalesv");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_and_namespaces),
        cmocka_unit_test(template_arguments),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(damaged_names),
        cmocka_unit_test(a_name_that_does_not_fit_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
