// Modules, and launches of their entries: what was asked for is checked against the entry and the
// limits before anything runs.
#include "runtime/emu/exec/exec.h"
#include "runtime/emu/launch/launch.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int refuse(struct emu_error *error, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return -1;
}

// ---- modules ----

int emu_module_parse(const char *name, const char *text, size_t length,
                     const struct emu_budget *budget, struct emu_module **out,
                     struct emu_error *error) {
    static _Atomic uint64_t modules;
    const struct emu_limit limit = emu_limit_start(budget);
    struct emu_module *module = calloc(1, sizeof *module);
    struct ptx_lexer lexer = {.name = name, .limit = &limit, .error = error};
    jmp_buf fail;

    *out = NULL;
    if (module == NULL) return refuse(error, "out of memory");
    module->number = ++modules;
    lexer.fail = module->tree.arena.fail = &fail;
    module->tree.arena.room = limit.budget.memory;
    int failed = setjmp(fail);
    if (failed) {
        ptx_lex_failed(&lexer, failed);
        emu_module_free(module);
        return -1;
    }
    ptx_lex_open(&lexer, name, text, length);
    module->tree.arch = tmg_arch_find(TMG_EMULATED_ARCH);
    module->tree.name = emu_arena_text(&module->tree.arena, name, strlen(name));
    ptx_parse(&lexer, &module->tree);
    module->tree.arena.fail = NULL;
    *out = module;
    return 0;
}

void emu_module_free(struct emu_module *module) {
    if (module == NULL) return;
    for (struct emu_program *program = module->programs, *next; program != NULL; program = next) {
        next = program->next;
        emu_program_delete(program);
    }
    emu_arena_free(&module->tree.arena);
    free(module);
}

const char *emu_module_entry(const struct emu_module *module, size_t index) {
    for (const struct ptx_function *f = module->tree.functions; f != NULL; f = f->next)
        if (f->entry && f->defined && index-- == 0) return f->name;
    return NULL;
}

static struct ptx_function *find_entry(const struct emu_module *module, const char *name) {
    for (struct ptx_function *f = module->tree.functions; f != NULL; f = f->next)
        if (f->entry && f->defined && strcmp(f->name, name) == 0) return f;
    return NULL;
}

int emu_entry_check(struct emu_module *module, const char *entry, const struct emu_budget *budget,
                    struct emu_error *error) {
    const struct emu_limit limit = emu_limit_start(budget);
    struct ptx_function *function = find_entry(module, entry);

    if (function == NULL) return refuse(error, "there is no entry %s in the module", entry);
    return emu_program_of(module, emu_ops, function, &limit, error) != NULL ? 0 : -1;
}

int emu_entry_params(const struct emu_module *module, const char *entry) {
    const struct ptx_function *function = find_entry(module, entry);

    return function == NULL ? -1 : (int)function->param_count;
}

size_t emu_entry_param_size(const struct emu_module *module, const char *entry, int index) {
    const struct ptx_function *function = find_entry(module, entry);

    if (function == NULL || index < 0 || (uint32_t)index >= function->param_count) return 0;
    return function->params[index]->bytes;
}

// ---- .global and .const variables ----

// Fills the module's variables, at machine->image_address, with what they begin with.
static void fill_image(struct emu_machine *machine) {
    const struct ptx_tree *tree = &machine->module->tree;

    emu_memory_fill(machine->memory, machine->image_address, 0, tree->global_bytes);
    for (struct ptx_global_data *data = tree->globals; data != NULL; data = data->next) {
        if (data->bytes == NULL) continue;
        uint64_t at = machine->image_address + data->symbol->offset;
        emu_memory_write(machine->memory, at, data->bytes, data->symbol->bytes);
        for (struct ptx_relocation *r = data->relocations; r != NULL; r = r->next) {
            uint64_t value =
                (uint64_t)r->offset + (r->symbol->kind == SYM_FUNCTION
                                           ? emu_function_address(r->symbol->function)
                                           : machine->image_address + r->symbol->offset);
            emu_memory_write(machine->memory, at + r->at, &value, 8);
        }
    }
}

// Finds the module's variables in the memory, where launches leave them for the next ones, or makes
// them. The memory knows them by the module's number: an address may be another module's by now.
static int bind_globals(struct emu_machine *machine, struct emu_error *error) {
    const struct emu_module *module = machine->module;
    struct emu_memory *memory = machine->memory;

    if (module->tree.global_bytes == 0) return 0;
    for (size_t i = 0; i < memory->count; i++)
        if (memory->allocations[i].image == module->number)
            machine->image_address = memory->allocations[i].base;
    if (machine->image_address != 0) return 0;
    machine->image_address =
        emu_memory_alloc(memory, module->tree.global_bytes, "the module's variables");
    if (machine->image_address == 0)
        return refuse(error, "no memory for the module's %llu bytes of variables",
                      (unsigned long long)module->tree.global_bytes);
    emu_memory_find(memory, machine->image_address)->image = module->number;
    fill_image(machine);
    return 0;
}

// ---- launches ----

static uint64_t volume(const unsigned *size) { return (uint64_t)size[0] * size[1] * size[2]; }

// 11.7 of the PTX ISA, and what the driver holds a launch to.
static int check_cluster(const struct emu_machine *machine, unsigned size,
                         struct emu_error *error) {
    const struct emu_launch *launch = machine->launch;
    const struct ptx_function *entry = machine->entry;

    if (size > TMG_CLUSTER_PORTABLE && !launch->non_portable)
        return refuse(error,
                      "a cluster of %u CTAs, more than the portable %d, needs "
                      "cudaFuncAttributeNonPortableClusterSizeAllowed (nonportable: true)",
                      size, TMG_CLUSTER_PORTABLE);
    if (entry->max_cluster && size > entry->max_cluster)
        return refuse(error, "a cluster has %u CTAs, but %s has .maxclusterrank %u", size,
                      entry->title, entry->max_cluster);
    if (entry->explicit_cluster && !launch->cluster[0] && !entry->cluster[0])
        return refuse(error, "%s has .explicitcluster, and nothing says what its cluster is",
                      entry->title);
    return 0;
}

static int set_dimensions(struct emu_machine *machine, struct emu_error *error) {
    static const unsigned grid_max[] = {INT32_MAX, 65535, 65535}, block_max[] = {1024, 1024, 64};
    const struct emu_launch *launch = machine->launch;
    const struct ptx_function *entry = machine->entry;
    const struct tmg_arch *arch = machine->module->tree.arch;
    uint64_t threads = 1, cluster = 1;

    for (int i = 0; i < 3; i++) {
        static const char axis[] = "xyz";
        machine->grid[i] = launch->grid[i] ? launch->grid[i] : 1;
        machine->block[i] = launch->block[i] ? launch->block[i] : 1;
        machine->cluster_size[i] = launch->cluster[i]  ? launch->cluster[i]
                                   : entry->cluster[i] ? entry->cluster[i]
                                                       : 1;
        threads *= machine->block[i];
        cluster *= machine->cluster_size[i];
        if (threads > TMG_BLOCK_THREADS)
            return refuse(error, "a block has more than %d threads", TMG_BLOCK_THREADS);
        if (machine->block[i] > block_max[i] || machine->grid[i] > grid_max[i])
            return refuse(error, "grid.%c is %u and block.%c %u; the limits are %u and %u", axis[i],
                          machine->grid[i], axis[i], machine->block[i], grid_max[i], block_max[i]);
        if (cluster > TMG_CLUSTER_BLOCKS)
            return refuse(error, "a cluster has more than %d CTAs", TMG_CLUSTER_BLOCKS);
        if (cluster > 1 && !(arch->features & TMG_HAS_CLUSTERS))
            return refuse(error, "a cluster needs %s, and the module's target is %s",
                          tmg_arch_with(TMG_HAS_CLUSTERS)->name, arch->name);
        if (entry->reqntid[i] && entry->reqntid[i] != machine->block[i])
            return refuse(error, "block.%c is %u, but %s requires %u", axis[i], machine->block[i],
                          entry->title, entry->reqntid[i]);
        if (entry->cluster[i] && entry->cluster[i] != machine->cluster_size[i])
            return refuse(error, "cluster.%c is %u, but %s requires %u", axis[i],
                          machine->cluster_size[i], entry->title, entry->cluster[i]);
        if (machine->grid[i] % machine->cluster_size[i])
            return refuse(error, "grid.%c is %u, not a multiple of the cluster's %u", axis[i],
                          machine->grid[i], machine->cluster_size[i]);
    }
    if (entry->maxntid[0] &&
        threads > (uint64_t)entry->maxntid[0] * entry->maxntid[1] * entry->maxntid[2])
        return refuse(error, "a block of %llu threads; %s allows %u", (unsigned long long)threads,
                      entry->title, entry->maxntid[0] * entry->maxntid[1] * entry->maxntid[2]);
    if (machine->program->cta_group == 2 && cluster % 2)
        return refuse(error,
                      "%s has tcgen05 with .cta_group::2, of pairs of CTAs; a cluster has %u",
                      entry->title, (unsigned)cluster);
    machine->cluster_total = volume(machine->grid) / cluster;
    return check_cluster(machine, (unsigned)cluster, error);
}

// A cooperative grid is started whole or not at all (CUDA Programming Guide, compute capabilities).
// [smem] is a CTA's, with what is reserved.
static int check_cooperative(const struct emu_machine *machine, uint64_t smem,
                             struct emu_error *error) {
    const struct tmg_arch *arch = machine->module->tree.arch;
    uint64_t warps = (volume(machine->block) + EMU_LANES - 1) / EMU_LANES;
    uint64_t each = arch->warps_per_sm / warps;

    if (each > arch->blocks_per_sm) each = arch->blocks_per_sm;
    if (each > arch->shared_per_sm / smem) each = arch->shared_per_sm / smem;
    if (machine->launch->cooperative && volume(machine->grid) > each * arch->sms)
        return refuse(error,
                      "a cooperative grid of %llu CTAs; the limit is %llu, %llu on each of %u SMs",
                      (unsigned long long)volume(machine->grid),
                      (unsigned long long)each * arch->sms, (unsigned long long)each, arch->sms);
    return 0;
}

// What runs at once must have room: a cluster, or all of a cooperative grid.
static int check_room(struct emu_machine *machine, uint64_t smem, struct emu_error *error) {
    uint64_t bytes = emu_cluster_bytes(machine, smem);
    uint64_t least = machine->launch->cooperative ? machine->cluster_total : 1;

    machine->room = machine->limit.budget.memory / bytes;
    if (machine->room < least)
        return refuse(error,
                      "%llu cluster%s of %llu MB, %u registers and %llu bytes of local memory a "
                      "thread; the limit of all is %llu MB (max_memory)",
                      (unsigned long long)least, least == 1 ? "" : "s",
                      (unsigned long long)(bytes >> 20), machine->program->slot_count,
                      (unsigned long long)machine->program->local_bytes,
                      (unsigned long long)(machine->limit.budget.memory >> 20));
    return check_cooperative(machine, smem, error);
}

static int set_params(struct emu_machine *machine, struct emu_error *error) {
    const struct emu_launch *launch = machine->launch;
    const struct ptx_function *entry = machine->entry;

    if (launch->param_count != entry->param_count)
        return refuse(error, "%s takes %u parameters, %zu were given", entry->title,
                      entry->param_count, launch->param_count);
    machine->params = calloc(1, entry->param_bytes + 128);
    if (machine->params == NULL) return refuse(error, "out of memory");
    for (uint32_t i = 0; i < entry->param_count; i++)
        memcpy(machine->params + entry->params[i]->offset, launch->params[i],
               entry->params[i]->bytes);
    return 0;
}

// What a cooperative grid's barrier counts in, zero at the start. The driver's has a size first and
// the barrier at byte 4, which is all that cooperative groups use of it.
static int set_workspace(struct emu_machine *machine) {
    enum { WORKSPACE = 256 };

    machine->workspace = emu_memory_alloc(machine->memory, WORKSPACE, "the grid's workspace");
    return !machine->workspace ||
           emu_memory_fill(machine->memory, machine->workspace, 0, WORKSPACE);
}

static void free_workspace(struct emu_machine *machine) {
    if (machine->workspace) emu_memory_free(machine->memory, machine->workspace);
}

static void say_end(const struct emu_machine *machine, struct emu_result *result) {
    if (machine->stop)
        snprintf(result->end, sizeof result->end,
                 "the launch stopped here: %s; %llu of %llu clusters had run to their end",
                 emu_class_name(machine->ended_by), (unsigned long long)machine->ended,
                 (unsigned long long)machine->cluster_total);
    else
        snprintf(result->end, sizeof result->end, "the launch went on to its end");
    if (result->left_out)
        snprintf(result->end + strlen(result->end), sizeof result->end - strlen(result->end),
                 "; %llu reports more", (unsigned long long)result->left_out);
}

int emu_launch_run(struct emu_memory *memory, const struct emu_launch *launch,
                   struct emu_result *result, struct emu_error *error) {
    struct emu_module *module = (struct emu_module *)(uintptr_t)launch->module;
    struct emu_machine machine = {
        .memory = memory, .launch = launch, .module = module, .check = !launch->unchecked};

    uint64_t printed = 0;

    *result = (struct emu_result){0};
    machine.printed = &printed;
    machine.limit = emu_limit_start(&launch->budget);
    struct ptx_function *entry = find_entry(module, launch->entry);
    if (entry == NULL) return refuse(error, "there is no entry %s in the module", launch->entry);
    machine.entry = entry;
    machine.program = emu_program_of(module, emu_ops, entry, &machine.limit, error);
    if (machine.program == NULL) return -1;
    uint64_t smem = machine.program->dynamic_offset + (uint64_t)launch->dynamic_smem;
    if (smem > module->tree.arch->shared_per_block + EMU_SMEM_RESERVED)
        return refuse(error, "%llu bytes of shared memory (%u dynamic); the limit is %u",
                      (unsigned long long)smem - EMU_SMEM_RESERVED, launch->dynamic_smem,
                      module->tree.arch->shared_per_block);
    if (launch->cooperative && set_workspace(&machine)) return refuse(error, "out of memory");
    if (set_dimensions(&machine, error) || check_room(&machine, smem, error) ||
        bind_globals(&machine, error) || set_params(&machine, error)) {
        free_workspace(&machine);
        return -1;
    }
    emu_tensors_start(&machine);
    emu_footprints_start(&machine);
    emu_grid_run(&machine);
    free_workspace(&machine);
    free(machine.params);
    result->reports = machine.reports;
    result->report_count = machine.report_count;
    result->left_out = machine.left_out;
    if (!machine.stop) emu_reports_end(result->reports, result->report_count);
    emu_reports_sort(result->reports, result->report_count);
    while (result->report_count && result->reports[result->report_count - 1].no_fault) {
        result->report_count--;
        result->note_count++;
    }
    say_end(&machine, result);
    result->stopped = machine.stop;
    result->warp_instructions = machine.steps;
    result->thread_instructions = machine.thread_steps;
    result->multiply_adds = machine.multiply_adds;
    result->core_seconds = machine.seconds;
    return 0;
}

void emu_result_free(struct emu_result *result) {
    for (size_t i = 0; i < result->report_count + result->note_count; i++)
        free(result->reports[i].text);
    free(result->reports);
    *result = (struct emu_result){0};
}
