// The command-line options that all generating commands share, as a child parser for argp.
// One parser, so that --set means the same to gen, bench and verify.
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "gen/generate.h"
#include "gen/alloc.h"

enum { KEY_TEMPLATES = 0x1000, KEY_SET, KEY_STRICT };

static const struct argp_option options[] = {
    {"output", 'o', "DIR", 0, "folder of generated files (default: out)", 0},
    {"set", KEY_SET, "KEY=VALUE", 0, "override a knob, as in --set tile.m=128; a list sweeps", 0},
    {"templates", KEY_TEMPLATES, "DIR", 0,
     "folder of families, searched before those of $TMAGEN_TEMPLATES and those inside; may be "
     "given several times",
     0},
    {"strict", KEY_STRICT, NULL, 0, "an illegal point of a sweep is an error", 0},
    {0},
};

void gen_options_init(struct gen_options *o) {
    const char *folders = getenv("TMAGEN_TEMPLATES");
    *o = (struct gen_options){.out_dir = "out", .templates = folders ? mem_copy(folders) : NULL};
}

void gen_options_free(struct gen_options *o) {
    free(o->sets);
    free(o->templates);
    *o = (struct gen_options){0};
}

void gen_options_set(struct gen_options *o, char *set) {
    o->sets = mem_resize(o->sets, (o->set_count + 1) * sizeof *o->sets);
    o->sets[o->set_count++] = set;
}

// Behind the folders given before, and before those of the variable.
static void add_templates(struct gen_options *o, const char *folder) {
    const char *old = o->templates ? o->templates : "";
    const size_t given = o->templates_given;
    char *list = mem_format("%.*s%s:%s", (int)given, old, folder, old + given);
    o->templates_given += strlen(folder) + 1;
    free(o->templates);
    o->templates = list;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct gen_options *o = state->input;
    switch (key) {
    case 'o': o->out_dir = argument; return 0;
    case KEY_SET: gen_options_set(o, argument); return 0;
    case KEY_TEMPLATES: add_templates(o, argument); return 0;
    case KEY_STRICT: o->strict = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp gen_options_argp = {.options = options, .parser = parse};
const struct argp gen_options_bare_argp = {.options = options + 1, .parser = parse};
