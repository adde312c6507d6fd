// tmagen explain SPEC|FAMILY: what a spec resolves to and why, or what a family offers.
// All text comes from explain.lua, which reads the tables that validate and generate.
#include <stdio.h>
#include <string.h>

#include "gen/cli/command.h"

static int explain_spec(const char *spec, const struct gen_options *options) {
    struct gen_result result;
    int failed = gen_spec(spec, options, &result);
    for (size_t i = 0; i < result.output_count; i++)
        printf("%s%s", i ? "\n\n" : "", result.outputs[i].explain);
    gen_result_free(&result);
    return failed;
}

int cmd_explain(int argc, char **argv) {
    struct spec_arguments a;
    spec_arguments_parse(&a, argc, argv, "SPEC|FAMILY...",
                         "Explains a SPEC: every value and where it came from, the map of shared "
                         "memory, barriers, registers, launch; or a FAMILY: its knobs, ladder and "
                         "checks.");
    a.options.explain = true;
    int failed = 0;
    for (size_t i = 0; i < a.spec_count; i++) {
        if (i) puts("\n");
        if (gen_family_exists(a.specs[i], &a.options))
            failed |= gen_explain_family(a.specs[i], &a.options);
        else if (!gen_spec_exists(a.specs[i]) && !strpbrk(a.specs[i], "/."))
            failed |= gen_explain_family(a.specs[i], &a.options);  // which says what there is
        else
            failed |= explain_spec(a.specs[i], &a.options);
    }
    spec_arguments_free(&a);
    return failed ? EXIT_USER : EXIT_FINE;
}
