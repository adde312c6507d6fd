// A launch: checks what was asked for against the entry and the limits, then builds clusters to
// run, whose CTAs live together.
#include "runtime/emu/async.h"
#include "runtime/emu/mbarrier.h"
#include "runtime/emu/wgmma.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ASYNC_AGENTS = 512, DEFAULT_SMS = 4 };

// ---- modules ----

int emu_module_parse(const char *name, const char *text, size_t length, struct emu_module **out,
                     struct emu_error *error) {
    struct emu_module *module = calloc(1, sizeof *module);
    struct ptx_lexer lexer = {.error = error};
    jmp_buf fail;

    *out = NULL;
    snprintf(error->text, sizeof error->text, "out of memory");
    if (module == NULL) return -1;
    lexer.fail = module->tree.arena.fail = &fail;
    if (setjmp(fail) != 0) {
        emu_module_free(module);
        return -1;
    }
    ptx_lex_open(&lexer, name, text, length);
    ptx_parse(&lexer, &module->tree);
    emu_decode(&lexer, module);
    module->tree.arena.fail = NULL;
    error->text[0] = '\0';
    *out = module;
    return 0;
}

void emu_module_free(struct emu_module *module) {
    if (module == NULL) return;
    emu_arena_free(&module->tree.arena);
    free(module);
}

const char *emu_module_entry(const struct emu_module *module, size_t index) {
    for (const struct ptx_function *f = module->tree.functions; f != NULL; f = f->next)
        if (f->entry && f->defined && index-- == 0) return f->name;
    return NULL;
}

static const struct ptx_function *find_entry(const struct emu_module *module, const char *name) {
    for (const struct ptx_function *f = module->tree.functions; f != NULL; f = f->next)
        if (f->entry && f->defined && strcmp(f->name, name) == 0) return f;
    return NULL;
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

static uint64_t symbol_address(const struct emu_machine *machine, const struct emu_cta *cta,
                               const struct ptx_symbol *symbol, bool generic) {
    uint64_t offset = symbol->offset;

    if (symbol->kind == SYM_FUNCTION) return symbol->function->first_pc;
    switch (symbol->space) {
    case SPACE_SHARED:
        offset = symbol->external ? cta->dynamic_offset : EMU_SMEM_RESERVED + symbol->offset;
        offset |= (uint64_t)cta->rank << EMU_RANK_SHIFT;
        return generic ? EMU_SHARED_WINDOW | offset : offset;
    case SPACE_LOCAL: return generic ? EMU_LOCAL_WINDOW | offset : offset;
    case SPACE_PARAM: return (symbol->of_entry ? EMU_PARAM_WINDOW : EMU_LOCAL_WINDOW) | offset;
    default: return machine->module->image_address + offset;
    }
}

static int bind_globals(struct emu_machine *machine, struct emu_error *error) {
    struct emu_module *module = machine->module;

    if (module->tree.global_bytes == 0 || module->image_memory == machine->memory) return 0;
    module->image_address =
        emu_memory_alloc(machine->memory, module->tree.global_bytes, "the module's variables");
    if (module->image_address == 0) {
        snprintf(error->text, sizeof error->text,
                 "no memory for the module's %llu bytes of variables",
                 (unsigned long long)module->tree.global_bytes);
        return -1;
    }
    module->image_memory = machine->memory;
    emu_memory_fill(machine->memory, module->image_address, 0, module->tree.global_bytes);
    for (struct ptx_global_data *data = module->tree.globals; data != NULL; data = data->next) {
        if (data->bytes == NULL) continue;
        uint64_t at = module->image_address + data->symbol->offset;
        emu_memory_write(machine->memory, at, data->bytes, data->symbol->bytes);
        for (struct ptx_relocation *r = data->relocations; r != NULL; r = r->next) {
            uint64_t value = symbol_address(machine, NULL, r->symbol, true) + (uint64_t)r->offset;
            emu_memory_write(machine->memory, at + r->at, &value, 8);
        }
    }
    return 0;
}

// ---- warps ----

static uint64_t special_value(const struct emu_warp *warp, unsigned lane, enum emu_special number) {
    const struct emu_cta *cta = warp->cta;
    const struct emu_cluster *cluster = cta->cluster;
    const struct emu_machine *machine = cluster->machine;
    unsigned thread = warp->index * EMU_LANES + lane, axis;
    const unsigned *block = machine->block, *size = machine->cluster_size;
    unsigned tid[3] = {thread % block[0], thread / block[0] % block[1],
                       thread / block[0] / block[1]};
    unsigned within[3] = {cta->rank % size[0], cta->rank / size[0] % size[1],
                          cta->rank / size[0] / size[1]};

    if (number < SPECIAL_CLUSTER_CTARANK) {
        axis = number % 3;
        switch (number - axis) {
        case SPECIAL_TID: return tid[axis];
        case SPECIAL_NTID: return block[axis];
        case SPECIAL_CTAID: return cta->id[axis];
        case SPECIAL_NCTAID: return machine->grid[axis];
        case SPECIAL_CLUSTERID: return cluster->id[axis];
        case SPECIAL_NCLUSTERID: return machine->grid[axis] / size[axis];
        case SPECIAL_CLUSTER_CTAID: return within[axis];
        default: return size[axis];
        }
    }
    unsigned sms = machine->launch->sms ? machine->launch->sms : DEFAULT_SMS;
    switch (number) {
    case SPECIAL_CLUSTER_CTARANK: return cta->rank;
    case SPECIAL_CLUSTER_NCTARANK: return cluster->cta_count;
    case SPECIAL_IS_EXPLICIT_CLUSTER: return cluster->cta_count > 1;
    case SPECIAL_LANEID: return lane;
    case SPECIAL_WARPID: return warp->index;
    case SPECIAL_NWARPID: return 64; /* of an SM: 2048 threads */
    case SPECIAL_SMID: return (cta->id[0] + cta->id[1] * machine->grid[0]) % sms;
    case SPECIAL_NSMID: return sms;
    case SPECIAL_GRIDID: return 1;
    case SPECIAL_LANEMASK_EQ: return 1u << lane;
    case SPECIAL_LANEMASK_LT: return (1u << lane) - 1;
    case SPECIAL_LANEMASK_LE: return (2u << lane) - 1;
    case SPECIAL_LANEMASK_GT: return ~((2u << lane) - 1);
    case SPECIAL_LANEMASK_GE: return ~((1u << lane) - 1);
    case SPECIAL_DYNAMIC_SMEM: return machine->launch->dynamic_smem;
    case SPECIAL_TOTAL_SMEM: return cta->smem_bytes;
    case SPECIAL_WARP_SIZE: return EMU_LANES;
    case SPECIAL_CLOCK:
    case SPECIAL_CLOCK64:
    case SPECIAL_GLOBALTIMER:
    case SPECIAL_GLOBALTIMER_LO: return machine->steps;
    case SPECIAL_CLOCK_HI:
    case SPECIAL_GLOBALTIMER_HI: return machine->steps >> 32;
    default: return 0;
    }
}

static void fill_constant(struct emu_warp *warp, const struct emu_constant *constant) {
    uint64_t value = constant->value;

    if (constant->kind == CONSTANT_SYMBOL)
        value += symbol_address(emu_machine(warp), warp->cta, constant->symbol, false);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        if (constant->kind == CONSTANT_SPECIAL)
            value = special_value(warp, lane, (enum emu_special)constant->value);
        emu_set(warp, constant->slot | (constant->wide ? EMU_WIDE : 0), lane, value);
    }
}

void emu_refresh_clocks(struct emu_warp *warp) {
    const struct emu_module *module = emu_machine(warp)->module;

    for (uint32_t i = 0; i < module->constant_count; i++)
        if (module->constants[i].kind == CONSTANT_SPECIAL &&
            module->constants[i].value >= SPECIAL_CLOCK)
            fill_constant(warp, &module->constants[i]);
}

static int start_warp(struct emu_warp *warp, struct emu_cta *cta, unsigned index, uint32_t agent) {
    const struct emu_machine *machine = cta->cluster->machine;
    const struct emu_module *module = machine->module;
    unsigned threads = cta->threads - index * EMU_LANES;

    warp->cta = cta;
    warp->index = index;
    warp->agent = agent;
    warp->live = warp->started = threads >= EMU_LANES ? UINT32_MAX : (1u << threads) - 1;
    size_t bytes = (size_t)module->slot_count * EMU_LANES * sizeof *warp->regs;
    warp->regs = aligned_alloc(128, bytes);
    warp->preds = calloc(module->tree.pred_count, sizeof *warp->preds);
    warp->local = calloc(EMU_LANES, module->tree.local_bytes + 16);
    if (warp->regs == NULL || warp->preds == NULL || warp->local == NULL ||
        emu_clock_new(cta->cluster, &warp->clock) || emu_clock_new(cta->cluster, &warp->fenced) ||
        emu_clock_new(cta->cluster, &warp->observed))
        return -1;
    memset(warp->regs, 0, bytes);
    warp->preds[0] = UINT32_MAX;
    warp->clock.seen[agent] = 1;
    for (uint32_t i = 0; i < module->constant_count; i++)
        fill_constant(warp, &module->constants[i]);
    warp->splits[0] = (struct emu_split){.pc = machine->entry->first_pc, .mask = warp->live};
    warp->split_count = 1;
    return 0;
}

static void free_warp(struct emu_warp *warp) {
    emu_joins_free(warp);
    emu_wgmma_free(warp);
    free(warp->regs);
    free(warp->preds);
    free(warp->local);
    emu_clock_free(&warp->clock);
    emu_clock_free(&warp->fenced);
    emu_clock_free(&warp->observed);
}

// ---- CTAs and clusters ----

static uint32_t dynamic_offset(const struct emu_module *module) {
    uint64_t align = 16, at = EMU_SMEM_RESERVED + module->tree.shared_bytes;

    for (const struct ptx_symbol *s = module->tree.symbols; s != NULL; s = s->next)
        if (s->kind == SYM_VARIABLE && s->external && s->align > align)
            align = s->align < 1024 ? s->align : 1024;
    return (uint32_t)((at + align - 1) & ~(align - 1));
}

static int start_barrier(struct emu_cluster *cluster, struct emu_named_barrier *barrier) {
    return emu_clock_new(cluster, &barrier->clock) || emu_clock_new(cluster, &barrier->released);
}

static int start_cta(struct emu_cluster *cluster, unsigned rank) {
    struct emu_machine *machine = cluster->machine;
    struct emu_cta *cta = &cluster->ctas[rank];
    const unsigned *size = machine->cluster_size;
    unsigned within[3] = {rank % size[0], rank / size[0] % size[1], rank / size[0] / size[1]};

    cta->cluster = cluster;
    cta->rank = rank;
    for (int i = 0; i < 3; i++) cta->id[i] = cluster->id[i] * size[i] + within[i];
    cta->threads = cta->live_threads = machine->block[0] * machine->block[1] * machine->block[2];
    cta->warp_count = cta->live_warps = (cta->threads + EMU_LANES - 1) / EMU_LANES;
    cta->dynamic_offset = dynamic_offset(machine->module);
    cta->smem_bytes = cta->dynamic_offset + machine->launch->dynamic_smem;
    cta->smem = malloc(cta->smem_bytes + 64);
    cta->warps = calloc(cta->warp_count, sizeof *cta->warps);
    cta->warpgroups = calloc(cta->warp_count / 4 + 1, sizeof *cta->warpgroups);
    cta->shadow = emu_shadow_new(cta->smem_bytes);
    if (cta->smem == NULL || cta->warps == NULL || cta->warpgroups == NULL || cta->shadow == NULL)
        return -1;
    memset(cta->smem, 0xff,
           cta->smem_bytes + 64);  // NaN in every format: what is not written shows
    for (int i = 0; i < EMU_NAMED_BARRIERS; i++)
        if (start_barrier(cluster, &cta->barriers[i])) return -1;
    for (unsigned i = 0; i < cta->warp_count; i++)
        if (start_warp(&cta->warps[i], cta, i, rank * cta->warp_count + i)) return -1;
    return 0;
}

struct emu_cluster *emu_cluster_new(struct emu_machine *machine, uint64_t index) {
    const unsigned *size = machine->cluster_size;
    unsigned count = size[0] * size[1] * size[2];
    unsigned threads = machine->block[0] * machine->block[1] * machine->block[2];
    struct emu_cluster *cluster = calloc(1, sizeof *cluster);
    bool failed = cluster == NULL;

    if (cluster != NULL) {
        uint64_t x = machine->grid[0] / size[0], y = machine->grid[1] / size[1];
        cluster->machine = machine;
        cluster->number = (uint32_t)index;
        cluster->id[0] = (unsigned)(index % x);
        cluster->id[1] = (unsigned)(index / x % y);
        cluster->id[2] = (unsigned)(index / x / y);
        cluster->cta_count = cluster->live_ctas = count;
        cluster->agent_count = count * ((threads + EMU_LANES - 1) / EMU_LANES);
        cluster->agent_capacity = cluster->agent_count + ASYNC_AGENTS;
        cluster->random = machine->launch->seed * UINT64_C(0x2545f4914f6cdd1d) + index;
        cluster->last_change = machine->steps;
        cluster->ctas = calloc(count, sizeof *cluster->ctas);
        cluster->agent_times = calloc(cluster->agent_capacity, sizeof *cluster->agent_times);
        failed = cluster->ctas == NULL || cluster->agent_times == NULL ||
                 start_barrier(cluster, &cluster->barrier) || emu_order_start(cluster);
        for (unsigned i = 0; i < count && !failed; i++) failed = start_cta(cluster, i);
    }
    if (failed) {
        emu_report_machine(machine, EMU_BAD_LAUNCH, "out of memory");
        emu_cluster_delete(cluster);
        return NULL;
    }
    return cluster;
}

static void free_barrier(struct emu_named_barrier *barrier) {
    emu_clock_free(&barrier->clock);
    emu_clock_free(&barrier->released);
}

void emu_cluster_delete(struct emu_cluster *cluster) {
    if (cluster == NULL) return;
    emu_async_free_all(cluster);
    for (unsigned i = 0; cluster->ctas != NULL && i < cluster->cta_count; i++) {
        struct emu_cta *cta = &cluster->ctas[i];
        emu_mbarriers_free(cta);
        for (unsigned w = 0; cta->warps != NULL && w < cta->warp_count; w++)
            free_warp(&cta->warps[w]);
        for (int b = 0; b < EMU_NAMED_BARRIERS; b++) free_barrier(&cta->barriers[b]);
        free(cta->smem);
        free(cta->warps);
        free(cta->warpgroups);
        emu_shadow_delete(cta->shadow);
    }
    free_barrier(&cluster->barrier);
    emu_syncs_free(cluster);
    free(cluster->ctas);
    free(cluster->agent_times);
    free(cluster->known);
    free(cluster);
}

void emu_clusters_delete(struct emu_machine *machine) {
    while (machine->clusters != NULL) {
        struct emu_cluster *next = machine->clusters->next;
        emu_cluster_delete(machine->clusters);
        machine->clusters = next;
    }
}

// ---- launches ----

static int refuse(struct emu_error *error, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return -1;
}

static int set_dimensions(struct emu_machine *machine, struct emu_error *error) {
    const struct emu_launch *launch = machine->launch;
    const struct ptx_function *entry = machine->entry;
    uint64_t threads = 1, ctas = 1, cluster = 1;

    for (int i = 0; i < 3; i++) {
        static const char axis[] = "xyz";
        machine->grid[i] = launch->grid[i] ? launch->grid[i] : 1;
        machine->block[i] = launch->block[i] ? launch->block[i] : 1;
        machine->cluster_size[i] = launch->cluster[i]  ? launch->cluster[i]
                                   : entry->cluster[i] ? entry->cluster[i]
                                                       : 1;
        threads *= machine->block[i];
        ctas *= machine->grid[i];
        cluster *= machine->cluster_size[i];
        if (threads > 1024) return refuse(error, "a block has more than 1024 threads");
        if (entry->reqntid[i] && entry->reqntid[i] != machine->block[i])
            return refuse(error, "block.%c is %u, but %s requires %u", axis[i], machine->block[i],
                          entry->name, entry->reqntid[i]);
        if (entry->cluster[i] && entry->cluster[i] != machine->cluster_size[i])
            return refuse(error, "cluster.%c is %u, but %s requires %u", axis[i],
                          machine->cluster_size[i], entry->name, entry->cluster[i]);
        if (machine->grid[i] % machine->cluster_size[i])
            return refuse(error, "grid.%c is %u, not a multiple of the cluster's %u", axis[i],
                          machine->grid[i], machine->cluster_size[i]);
    }
    if (cluster > 16)
        return refuse(error, "a cluster of %llu CTAs; the limit is 16",
                      (unsigned long long)cluster);
    if (entry->maxntid[0] &&
        threads > (uint64_t)entry->maxntid[0] * entry->maxntid[1] * entry->maxntid[2])
        return refuse(error, "a block of %llu threads; %s allows %u", (unsigned long long)threads,
                      entry->name, entry->maxntid[0] * entry->maxntid[1] * entry->maxntid[2]);
    machine->cluster_total = ctas / cluster;
    return 0;
}

static int set_params(struct emu_machine *machine, struct emu_error *error) {
    const struct emu_launch *launch = machine->launch;
    const struct ptx_function *entry = machine->entry;

    if (launch->param_count != entry->param_count)
        return refuse(error, "%s takes %u parameters, %zu were given", entry->name,
                      entry->param_count, launch->param_count);
    machine->params = calloc(1, entry->param_bytes + 128);
    if (machine->params == NULL) return refuse(error, "out of memory");
    for (uint32_t i = 0; i < entry->param_count; i++)
        memcpy(machine->params + entry->params[i]->offset, launch->params[i],
               entry->params[i]->bytes);
    return 0;
}

int emu_launch_run(struct emu_memory *memory, const struct emu_launch *launch,
                   struct emu_result *result, struct emu_error *error) {
    struct emu_module *module = (struct emu_module *)(uintptr_t)launch->module;
    struct emu_machine machine = {
        .memory = memory, .launch = launch, .module = module, .check = !launch->unchecked};

    *result = (struct emu_result){0};
    machine.entry = find_entry(module, launch->entry);
    if (machine.entry == NULL)
        return refuse(error, "there is no entry %s in %s", launch->entry, "the module");
    uint64_t smem = dynamic_offset(module) + (uint64_t)launch->dynamic_smem;
    if (smem > EMU_SMEM_MAX)
        return refuse(error, "%llu bytes of shared memory (%u dynamic); the limit is %u",
                      (unsigned long long)smem - EMU_SMEM_RESERVED, launch->dynamic_smem,
                      EMU_SMEM_MAX - EMU_SMEM_RESERVED);
    machine.max_steps = launch->max_steps ? launch->max_steps : UINT64_C(2000000000);
    if (set_dimensions(&machine, error) || bind_globals(&machine, error) ||
        set_params(&machine, error))
        return -1;
    emu_grid_run(&machine);
    free(machine.params);
    result->reports = machine.reports;
    result->report_count = machine.report_count;
    result->warp_instructions = machine.steps;
    result->thread_instructions = machine.thread_steps;
    return 0;
}

void emu_result_free(struct emu_result *result) {
    for (size_t i = 0; i < result->report_count; i++) free(result->reports[i].text);
    free(result->reports);
    *result = (struct emu_result){0};
}
