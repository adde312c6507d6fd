// Reads a launch file: the kernel's file and name, grid, block, cluster and limits.
// Buffers and arguments have readers of their own; what the kernel itself wants of its parameters
// is known later, in cmd_emulate.c.
#include <stdlib.h>

#include "gen/cli/emulate_read.h"

enum { SHARED_MAX = 227 << 10 };

// Up to three sizes at [key] into [size]; those that are not given become [otherwise].
static void read_size(const struct fields *f, const char *key, const long long most[3],
                      long long product, unsigned otherwise, unsigned size[3]) {
    int64_t list[3];
    const int count = fields_ints(f, key, 1, most[0], 3, list);
    long long all = 1;
    for (int i = 0; i < 3; i++) {
        size[i] = i < count ? (unsigned)list[i] : count > 0 ? 1 : otherwise;
        if (i < count && list[i] <= most[i]) all *= list[i];
        if (i < count && list[i] > most[i])
            diag_error(f->diag, spec_get(f->map, key)->place, NULL,
                       "%s: axis %c is %lld; the limit is %lld", key, "xyz"[i], (long long)list[i],
                       most[i]);
    }
    if (count > 0 && all > product)
        diag_error(f->diag, spec_get(f->map, key)->place, NULL,
                   "%s: the product is %lld; the limit is %lld", key, all, product);
}

static void check_cluster(struct emulate_reader *r, const struct fields *f) {
    const unsigned *grid = r->file->grid, *cluster = r->file->cluster;
    for (int i = 0; i < 3; i++)
        if (cluster[i] && grid[i] % cluster[i])
            diag_error(r->diag, spec_get(f->map, "cluster")->place, NULL,
                       "cluster: axis %c of the grid, %u, is no multiple of %u", "xyz"[i], grid[i],
                       cluster[i]);
}

static void read_top(struct emulate_reader *r, const struct spec_node *top) {
    static const char *const keys[] = {"base",        "ptx",           "entry",      "grid",
                                       "block",       "cluster",       "seed",       "schedules",
                                       "max_steps",   "max_seconds",   "max_memory", "max_output",
                                       "buffers",     "shared_memory", "args",       "cooperative",
                                       "nonportable", "unchecked",     NULL};
    static const char *const truth[] = {"false", "true", NULL};
    static const long long grid[] = {2147483647, 65535, 65535}, block[] = {1024, 1024, 64};
    static const long long cluster[] = {16, 16, 16};
    struct emulate_file *file = r->file;
    const struct fields f = {r->diag, top, ""};
    const size_t errors = diag_errors(r->diag);
    const struct spec_node *kernel = spec_get(top, "ptx") ? NULL : spec_get(top, "kernel");
    if (kernel) {
        diag_error(r->diag, kernel->place, "--shape MxNxK",
                   "kernel: this file is a spec, which runs at a shape");
        return;
    }
    fields_only(&f, keys);
    fields_need(&f, "ptx");
    fields_need(&f, "grid");
    fields_need(&f, "block");
    file->top = file->args_place = top->place;
    const char *ptx = fields_text(&f, "ptx");
    if (ptx) file->ptx_place = spec_get(top, "ptx")->place;
    if (ptx) file->ptx = emulate_beside(&file->arena, file->ptx_place, ptx);
    file->entry = fields_text(&f, "entry");
    if (file->entry) file->entry_place = spec_get(top, "entry")->place;
    read_size(&f, "grid", grid, INT64_MAX, 1, file->grid);
    read_size(&f, "block", block, 1024, 1, file->block);
    read_size(&f, "cluster", cluster, 16, 0, file->cluster);
    if (diag_errors(r->diag) == errors) check_cluster(r, &f);
    file->shared_memory = (unsigned)fields_int(&f, "shared_memory", 0, SHARED_MAX, 0);
    file->seed = (uint64_t)fields_int(&f, "seed", 0, INT64_MAX, 0);
    file->schedules = (uint64_t)fields_int(&f, "schedules", 1, 1000000, 1);
    file->budget.steps = (uint64_t)fields_int(&f, "max_steps", 1, INT64_MAX, 0);
    file->budget.seconds = (double)fields_int(&f, "max_seconds", 1, 1 << 30, 0);
    file->budget.memory = (uint64_t)fields_int(&f, "max_memory", 1, INT64_MAX, 0);
    file->budget.output = (uint64_t)fields_int(&f, "max_output", 1, INT64_MAX, 0);
    file->cooperative = fields_word(&f, "cooperative", truth, 0);
    file->non_portable = fields_word(&f, "nonportable", truth, 0);
    file->unchecked = fields_word(&f, "unchecked", truth, 0);
    emulate_read_buffers(r, top);
    emulate_read_arguments(r, top);
}

void emulate_file_read(struct emulate_file *file, struct diag *diag, const char *path,
                       char *const *sets, size_t set_count, const char *out_dir) {
    struct emulate_reader r = {file, diag, out_dir};
    *file = (struct emulate_file){.path = path};
    const struct spec_node *top = spec_read(&file->arena, diag, path, sets, set_count);
    if (top) read_top(&r, top);
}

void emulate_file_free(struct emulate_file *file) {
    for (size_t i = 0; i < file->buffer_count; i++) free(file->buffers[i].npy);
    arena_free(&file->arena);
}
