// tmagen gen SPEC...: writes the sources and manifests of specs, and compiles nothing, or with --ptx to
// PTX. For machines without NVRTC, for what is committed, and for who reads PTX.
#include "gen/cli/command.h"
#include "gen/output.h"

int cmd_gen(int argc, char **argv) {
    struct spec_arguments a;
    spec_arguments_parse(&a, argc, argv, "SPEC...",
                         "Writes the CUDA source and the manifest of each SPEC.");
    struct gen_result *results = output_generate(a.specs, a.spec_count, &a.options);
    int failed = !results || output_write(results, a.spec_count, a.options.out_dir);
    output_free(results, a.spec_count);
    spec_arguments_free(&a);
    return failed ? EXIT_USER : EXIT_FINE;
}
