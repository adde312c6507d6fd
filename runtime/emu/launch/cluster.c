// Clusters to run, whose CTAs live together: what a CTA and its warps are made of, how they start,
// and how the next one gets the memory of the last. Memory that nobody has touched is left alone,
// so that small CTAs are cheap whatever they might have used.
#include "runtime/emu/launch/launch.h"
#include "runtime/emu/machine/mbarrier.h"

#include <stdlib.h>
#include <string.h>

enum { ASYNC_AGENTS = 512, SMEM_TAIL = 256, LOCAL_TAIL = 16 };

// ---- constants and special registers ----

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
    unsigned sms = machine->launch->sms ? machine->launch->sms : TMG_EMULATED_SMS;
    switch (number) {
    case SPECIAL_CLUSTER_CTARANK: return cta->rank;
    case SPECIAL_CLUSTER_NCTARANK: return cluster->cta_count;
    case SPECIAL_IS_EXPLICIT_CLUSTER: return cluster->cta_count > 1;
    case SPECIAL_LANEID: return lane;
    case SPECIAL_WARPID: return warp->index;
    case SPECIAL_NWARPID: return machine->module->tree.arch->warps_per_sm;
    case SPECIAL_SMID: return (cta->id[0] + cta->id[1] * machine->grid[0]) % sms;
    case SPECIAL_NSMID: return sms;
    case SPECIAL_GRIDID: return 1;
    case SPECIAL_LANEMASK_EQ: return 1u << lane;
    case SPECIAL_LANEMASK_LT: return (1u << lane) - 1;
    case SPECIAL_LANEMASK_LE: return (2u << lane) - 1;
    case SPECIAL_LANEMASK_GT: return ~((2u << lane) - 1);
    case SPECIAL_LANEMASK_GE: return ~((1u << lane) - 1);
    case SPECIAL_DYNAMIC_SMEM: return machine->launch->dynamic_smem;
    case SPECIAL_TOTAL_SMEM: return cta->smem_bytes - EMU_SMEM_RESERVED;
    case SPECIAL_AGGREGATE_SMEM: return cta->smem_bytes;
    case SPECIAL_RESERVED_BEGIN: return 0;
    case SPECIAL_RESERVED_END: return EMU_SMEM_RESERVED_END;
    case SPECIAL_RESERVED_CAP: return EMU_SMEM_RESERVED;
    case SPECIAL_RESERVED_0: return EMU_SMEM_RESERVED_0;
    case SPECIAL_RESERVED_1: return EMU_SMEM_RESERVED_1;
    case SPECIAL_ENVIRONMENT_HIGH: return machine->workspace >> 32;
    case SPECIAL_ENVIRONMENT_LOW: return (uint32_t)machine->workspace;
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
    uint32_t entry = constant->slot | (constant->wide ? EMU_WIDE : 0);
    uint64_t value = constant->value;

    if (constant->kind == CONSTANT_SHARED) value |= (uint64_t)warp->cta->rank << EMU_RANK_SHIFT;
    if (constant->kind == CONSTANT_IMAGE) value += emu_machine(warp)->image_address;
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        if (constant->kind == CONSTANT_SPECIAL)
            value = special_value(warp, lane, (enum emu_special)constant->value);
        emu_set(warp, entry, lane, value);
    }
}

// Those that are the same for all CTAs of a rank, or those that are not.
static void fill_constants(struct emu_warp *warp, bool special) {
    const struct emu_program *program = emu_machine(warp)->program;

    for (uint32_t i = 0; i < program->constant_count; i++)
        if ((program->constants[i].kind == CONSTANT_SPECIAL) == special)
            fill_constant(warp, &program->constants[i]);
}

void emu_refresh_clocks(struct emu_warp *warp) {
    const struct emu_program *program = emu_machine(warp)->program;

    for (uint32_t i = 0; i < program->constant_count; i++)
        if (program->constants[i].kind == CONSTANT_SPECIAL &&
            program->constants[i].value >= SPECIAL_CLOCK)
            fill_constant(warp, &program->constants[i]);
}

// ---- warps ----

static int make_warp(struct emu_warp *warp, struct emu_cta *cta, unsigned index) {
    const struct emu_program *program = cta->cluster->machine->program;
    size_t bytes = (size_t)program->slot_count * EMU_LANES * sizeof *warp->regs;

    warp->cta = cta;
    warp->index = index;
    warp->agent = cta->rank * cta->warp_count + index;
    warp->regs = aligned_alloc(128, bytes);
    warp->preds = calloc(program->pred_count, sizeof *warp->preds);
    warp->local = calloc(EMU_LANES, program->local_bytes + LOCAL_TAIL);
    if (warp->regs == NULL || warp->preds == NULL || warp->local == NULL ||
        emu_clock_new(cta->cluster, &warp->clock) || emu_clock_new(cta->cluster, &warp->fenced) ||
        emu_clock_new(cta->cluster, &warp->observed) ||
        emu_clock_new(cta->cluster, &warp->lanes.common))
        return -1;
    memset(warp->regs, 0, bytes);
    fill_constants(warp, false);
    return 0;
}

static void start_warp(struct emu_warp *warp) {
    const struct emu_program *program = emu_machine(warp)->program;
    unsigned threads = warp->cta->threads - warp->index * EMU_LANES;

    warp->live = warp->started = threads >= EMU_LANES ? UINT32_MAX : (1u << threads) - 1;
    warp->preds[0] = UINT32_MAX;
    warp->clock.seen[warp->agent] = 1;
    emu_lanes_start(warp);
    warp->owner = warp->cta->cluster->number * warp->cta->cluster->warp_count + warp->agent + 1;
    fill_constants(warp, true);
    warp->splits[0] = (struct emu_split){.pc = program->functions->first_pc, .mask = warp->live};
    warp->split_count = 1;
}

// Back to what make_warp gives.
static void clean_warp(struct emu_warp *warp) {
    const struct emu_cluster *cluster = warp->cta->cluster;
    const struct emu_program *program = cluster->machine->program;
    struct emu_warp clean = {.cta = warp->cta,
                             .index = warp->index,
                             .agent = warp->agent,
                             .regs = warp->regs,
                             .preds = warp->preds,
                             .local = warp->local,
                             .clock = warp->clock,
                             .fenced = warp->fenced,
                             .observed = warp->observed,
                             .lanes.common = warp->lanes.common};

    emu_joins_free(warp);
    emu_pending_free(warp);
    emu_watches_free(warp);
    memset(warp->regs, 0, (size_t)program->constant_slots * EMU_LANES * sizeof *warp->regs);
    memset(warp->preds, 0, program->pred_count * sizeof *warp->preds);
    for (unsigned lane = 0; lane < EMU_LANES && warp->local_end; lane++)
        memset(warp->local + lane * program->local_bytes, 0, warp->local_end);
    emu_clock_clear(cluster, &warp->clock);
    emu_clock_clear(cluster, &warp->fenced);
    emu_clock_clear(cluster, &warp->observed);
    emu_clock_clear(cluster, &warp->lanes.common);
    *warp = clean;
}

static void free_warp(struct emu_warp *warp) {
    emu_joins_free(warp);
    emu_pending_free(warp);
    emu_watches_free(warp);
    free(warp->regs);
    free(warp->preds);
    free(warp->local);
    emu_clock_free(&warp->clock);
    emu_clock_free(&warp->fenced);
    emu_clock_free(&warp->observed);
    emu_clock_free(&warp->lanes.common);
}

// ---- barriers ----

static int make_barrier(struct emu_cluster *cluster, struct emu_named_barrier *barrier) {
    return emu_clock_new(cluster, &barrier->clock) || emu_clock_new(cluster, &barrier->released);
}

static void clean_barrier(const struct emu_cluster *cluster, struct emu_named_barrier *barrier) {
    struct emu_named_barrier clean = {.clock = barrier->clock, .released = barrier->released};

    emu_clock_clear(cluster, &barrier->clock);
    emu_clock_clear(cluster, &barrier->released);
    *barrier = clean;
}

static void free_barrier(struct emu_named_barrier *barrier) {
    emu_clock_free(&barrier->clock);
    emu_clock_free(&barrier->released);
}

// ---- CTAs ----

static int make_cta(struct emu_cluster *cluster, unsigned rank) {
    const struct emu_machine *machine = cluster->machine;
    struct emu_cta *cta = &cluster->ctas[rank];

    cta->cluster = cluster;
    cta->rank = rank;
    cta->threads = machine->block[0] * machine->block[1] * machine->block[2];
    cta->warp_count = (cta->threads + EMU_LANES - 1) / EMU_LANES;
    cta->dynamic_offset = machine->program->dynamic_offset;
    cta->smem_bytes = cta->dynamic_offset + machine->launch->dynamic_smem;
    cta->smem = malloc(cta->smem_bytes + SMEM_TAIL);
    cta->warps = calloc(cta->warp_count, sizeof *cta->warps);
    cta->warpgroups = calloc(cta->warp_count / 4 + 1, sizeof *cta->warpgroups);
    cta->shadow = emu_shadow_new(&emu_shadowed_shared, cta, cta->smem_bytes);
    if (cta->smem == NULL || cta->warps == NULL || cta->warpgroups == NULL || cta->shadow == NULL)
        return -1;
    memset(cta->smem, EMU_SMEM_BLANK, cta->smem_bytes + SMEM_TAIL);
    for (int i = 0; i < EMU_NAMED_BARRIERS; i++)
        if (make_barrier(cluster, &cta->barriers[i])) return -1;
    for (unsigned i = 0; i < cta->warp_count; i++)
        if (make_warp(&cta->warps[i], cta, i)) return -1;
    return 0;
}

static void start_cta(struct emu_cta *cta) {
    const unsigned *size = cta->cluster->machine->cluster_size;
    unsigned rank = cta->rank;
    unsigned within[3] = {rank % size[0], rank / size[0] % size[1], rank / size[0] / size[1]};

    for (int i = 0; i < 3; i++) cta->id[i] = cta->cluster->id[i] * size[i] + within[i];
    if (cta->cluster->machine->program->uses_reserved) memset(cta->smem, 0, EMU_SMEM_RESERVED);
    cta->refused = false;
    cta->live_threads = cta->threads;
    cta->live_warps = cta->warp_count;
    for (unsigned i = 0; i < cta->warp_count; i++) start_warp(&cta->warps[i]);
}

static void clean_cta(struct emu_cta *cta) {
    const struct emu_machine *machine = cta->cluster->machine;

    emu_mbarriers_free(cta);
    for (unsigned w = 0; w < cta->warp_count; w++) clean_warp(&cta->warps[w]);
    for (int b = 0; b < EMU_NAMED_BARRIERS; b++) clean_barrier(cta->cluster, &cta->barriers[b]);
    memset(cta->warpgroups, 0, (cta->warp_count / 4 + 1) * sizeof *cta->warpgroups);
    emu_shadow_clean(cta->shadow, cta->smem);
    if (cta->tmem_shadow != NULL) emu_shadow_clean(cta->tmem_shadow, NULL);
    emu_tmem_clean(cta);
    if (!machine->check) memset(cta->smem, EMU_SMEM_BLANK, cta->smem_bytes);
}

static void free_cta(struct emu_cta *cta) {
    emu_mbarriers_free(cta);
    for (unsigned w = 0; cta->warps != NULL && w < cta->warp_count; w++) free_warp(&cta->warps[w]);
    for (int b = 0; b < EMU_NAMED_BARRIERS; b++) free_barrier(&cta->barriers[b]);
    free(cta->smem);
    free(cta->warps);
    free(cta->warpgroups);
    emu_shadow_delete(cta->shadow);
    emu_shadow_delete(cta->tmem_shadow);
    emu_tmem_delete(cta);
}

// ---- clusters ----

static void free_cluster(struct emu_cluster *cluster) {
    if (cluster == NULL) return;
    emu_async_free_all(cluster);
    for (unsigned i = 0; cluster->ctas != NULL && i < cluster->cta_count; i++)
        free_cta(&cluster->ctas[i]);
    free_barrier(&cluster->barrier);
    emu_syncs_free(cluster);
    emu_maps_free(cluster);
    free(cluster->ctas);
    free(cluster->agent_times);
    free(cluster->told);
    free(cluster->known);
    free(cluster);
}

static struct emu_cluster *make_cluster(struct emu_machine *machine) {
    const unsigned *size = machine->cluster_size;
    unsigned threads = machine->block[0] * machine->block[1] * machine->block[2];
    struct emu_cluster *cluster = calloc(1, sizeof *cluster);

    if (cluster == NULL) return NULL;
    cluster->machine = machine;
    cluster->cta_count = size[0] * size[1] * size[2];
    cluster->warp_count = cluster->cta_count * ((threads + EMU_LANES - 1) / EMU_LANES);
    cluster->has_tmem = machine->module->tree.arch->features & TMG_HAS_TENSOR_MEMORY;
    cluster->agent_count = emu_fixed_agents(cluster);
    cluster->agent_capacity = cluster->agent_count + ASYNC_AGENTS;
    cluster->ctas = calloc(cluster->cta_count, sizeof *cluster->ctas);
    cluster->agent_times = calloc(cluster->agent_capacity, sizeof *cluster->agent_times);
    cluster->told = calloc(cluster->warp_count, sizeof *cluster->told);
    bool failed = cluster->ctas == NULL || cluster->agent_times == NULL || cluster->told == NULL ||
                  make_barrier(cluster, &cluster->barrier);
    for (unsigned i = 0; i < cluster->cta_count && !failed; i++) failed = make_cta(cluster, i);
    if (!failed) return cluster;
    free_cluster(cluster);
    return NULL;
}

static int start_cluster(struct emu_cluster *cluster, uint64_t index) {
    const struct emu_machine *machine = cluster->machine;
    const unsigned *size = machine->cluster_size;
    uint64_t x = machine->grid[0] / size[0], y = machine->grid[1] / size[1];

    cluster->number = (uint32_t)index;
    cluster->id[0] = (unsigned)(index % x);
    cluster->id[1] = (unsigned)(index / x % y);
    cluster->id[2] = (unsigned)(index / x / y);
    cluster->live_ctas = cluster->cta_count;
    cluster->random = machine->launch->seed * UINT64_C(0x2545f4914f6cdd1d) + index;
    cluster->last_change = machine->steps;
    for (unsigned i = 0; i < cluster->cta_count; i++) start_cta(&cluster->ctas[i]);
    return emu_order_start(cluster);
}

// Back to what make_cluster gives.
static void clean_cluster(struct emu_cluster *cluster) {
    emu_async_free_all(cluster);
    for (unsigned i = 0; i < cluster->cta_count; i++) clean_cta(&cluster->ctas[i]);
    clean_barrier(cluster, &cluster->barrier);
    emu_syncs_free(cluster);
    emu_maps_free(cluster);
    memset(cluster->agent_times, 0, cluster->agent_count * sizeof *cluster->agent_times);
    free(cluster->known);
    *cluster = (struct emu_cluster){.machine = cluster->machine,
                                    .ctas = cluster->ctas,
                                    .cta_count = cluster->cta_count,
                                    .barrier = cluster->barrier,
                                    .warp_count = cluster->warp_count,
                                    .has_tmem = cluster->has_tmem,
                                    .agent_count = emu_fixed_agents(cluster),
                                    .agent_capacity = cluster->agent_capacity,
                                    .agent_times = cluster->agent_times,
                                    .told = cluster->told};
}

struct emu_cluster *emu_cluster_new(struct emu_machine *machine, uint64_t index) {
    struct emu_cluster *cluster = *machine->spare;

    if (cluster != NULL) {
        *machine->spare = cluster->next;
        cluster->machine = machine;
        clean_cluster(cluster);
    } else {
        cluster = make_cluster(machine);
    }
    if (cluster == NULL || start_cluster(cluster, index)) {
        emu_report_machine(machine, EMU_BAD_LAUNCH, "out of memory");
        free_cluster(cluster);
        return NULL;
    }
    return cluster;
}

void emu_cluster_retire(struct emu_cluster *cluster) {
    struct emu_cluster **spare = cluster->machine->spare;

    cluster->next = *spare;
    *spare = cluster;
}

void emu_clusters_retire(struct emu_machine *machine) {
    while (machine->clusters != NULL) {
        struct emu_cluster *next = machine->clusters->next;
        emu_cluster_retire(machine->clusters);
        machine->clusters = next;
    }
}

void emu_clusters_free(struct emu_cluster *clusters) {
    while (clusters != NULL) {
        struct emu_cluster *next = clusters->next;
        free_cluster(clusters);
        clusters = next;
    }
}
