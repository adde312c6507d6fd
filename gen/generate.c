// From what a command was given to a spec's kernels or a table's.
#include "gen/generate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gen/dispatch.h"
#include "gen/file.h"
#include "gen/points.h"

static bool is_regular(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

// specs/SPEC.yaml here, or as it was installed; NULL where there is neither.
static char *named_spec(const char *spec) {
    char *here = mem_format("specs/%s.yaml", spec), *there = file_installed(here);
    char *found = is_regular(here) ? here : there && is_regular(there) ? there : NULL;
    if (found != here) free(here);
    if (found != there) free(there);
    return found;
}

// [spec] where it is a path, else specs/SPEC.yaml; NULL, and an error is printed, where there is
// neither. Reading a path finds out whether it is there.
static char *find_spec(const char *spec) {
    if (is_regular(spec) || strpbrk(spec, "/.")) return mem_copy(spec);
    char *path = named_spec(spec);
    if (path) return path;
    if (file_exists(spec)) return mem_copy(spec);
    diag_say("%s: there is no such file, and no specs/%s.yaml", spec, spec);
    return NULL;
}

bool gen_spec_exists(const char *spec) {
    char *path = named_spec(spec);
    const bool exists = path || file_exists(spec);
    free(path);
    return exists;
}

int gen_spec(const char *spec, const struct gen_options *options, struct gen_result *result) {
    *result = (struct gen_result){.spec = find_spec(spec)};
    return result->spec ? points_generate(NULL, options, table_generate, result) : 1;
}

int gen_text(const char *name, const char *text, const struct gen_options *options,
             struct gen_result *result) {
    *result = (struct gen_result){.spec = mem_copy(name)};
    return points_generate(text, options, table_generate, result);
}
