// How long a launch takes, predicted from its manifest's cost rows and the rates of a GPU: each
// unit's time for a step of a CTA, the slowest of them for every step of every wave, and the floor
// that memory and power set to the whole. No kernel is run, and no device is needed.
#pragma once

#include "runtime/grid.h"
#include "runtime/node.h"
#include "runtime/rules.h"

// What a GPU does in a microsecond, and what takes how long, in microseconds. They are fitted to
// measurements: a rate is what kernels reach, and not what the data sheet says.
enum tmg_rate {
    TMG_RATE_TENSOR,     // flops of an SM's tensor cores
    TMG_RATE_SHARED,     // bytes that they read of an SM's shared memory
    TMG_RATE_L2_SM,      // bytes that an SM takes from the L2
    TMG_RATE_L2,         // bytes that all of them take
    TMG_RATE_DRAM,       // bytes of the GPU's memory
    TMG_RATE_STORE,      // bytes of results that an SM's epilogue hands over
    TMG_RATE_SUSTAINED,  // flops of all tensor cores that power allows in the long run
    TMG_RATE_LAUNCH,     // us: of a launch, its first load and its end
    TMG_RATE_LATENCY,    // us: from a load's issue to its arrival
    TMG_RATE_TURN,       // us: from a tile's last step to its first store
    TMG_RATE_TILE,       // us: from a tile to the CTA's next one
    TMG_RATE_CLUSTER,    // us: what CTAs of a cluster wait for each other
    TMG_RATE_SPLIT,      // us: what the last part of a split tile waits for the others
    // the share of L2 bytes that is added where rows begin at odd multiples of 64 bytes, of 32, or
    // of 16: a row of a box then lies in one line of 128 bytes more
    TMG_RATE_PITCH_64,
    TMG_RATE_PITCH_32,
    TMG_RATE_PITCH_16,
    TMG_RATE_NEEDED,  // the following are 0 where a file does not have them
    // of tensor memory: bytes of lines that an SM's L1 and shared memory move for loads, copies and
    // stores
    TMG_RATE_L1 = TMG_RATE_NEEDED,
    TMG_RATE_SUMS,   // bytes of sums that an SM's epilogue loads, with what it does to them
    TMG_RATE_STEP,   // us: of a step that has little to do: barriers, and the products' latency
    TMG_RATE_PART,   // us: from a part of a split tile to the CTA's next
    TMG_RATE_PARTS,  // bytes of the other parts that the last one adds up
    // SMs on which clusters of more than two CTAs find room: the rest of a GPC is too small for one
    TMG_RATE_CLUSTERED,
    TMG_RATE_SIXES,   // the same of six CTAs, of which a GPC leaves more over
    TMG_RATE_START,   // us: of a CTA's start on every SM
    TMG_RATE_WALK,    // us: before CTAs that walk from tile to tile begin the first
    TMG_RATE_WRITES,  // how many more bytes of DRAM one that is written costs
    TMG_RATE_PEER,    // us: for each CTA of a cluster whose sums another takes, as they divide K
    // bytes of boxes beyond a tensor's edges, of all SMs: they are zeros, but cost more than memory
    TMG_RATE_BEYOND,
    TMG_RATES
};

struct tmg_rates {
    double of[TMG_RATES];
};

// Reads the object [node]: rates by their names, a positive number each.
void tmg_rates_read(const struct tmg_node *node, struct tmg_rates *rates);

const char *tmg_rate_name(enum tmg_rate rate);

// What may bind a launch; the first ones bind a step of a CTA.
enum tmg_bound {
    TMG_BOUND_TENSOR,
    TMG_BOUND_SHARED,
    TMG_BOUND_L2,
    TMG_BOUND_DRAM,
    TMG_BOUND_LATENCY,
    TMG_BOUND_STEP,
    TMG_BOUND_STEPS,  // how many bind a step
    TMG_BOUND_EPILOGUE = TMG_BOUND_STEPS,
    TMG_BOUND_LAUNCH,
    TMG_BOUND_POWER,
    TMG_BOUNDS
};

const char *tmg_bound_name(enum tmg_bound bound);

struct tmg_estimate {
    double us;                 // in all
    double bound[TMG_BOUNDS];  // us that the launch would take if nothing else took time
    enum tmg_bound binds;      // the largest of them
    double waves;              // items of work of the busiest CTA
    double items;              // of work: tiles times splits
    double steps;              // of an item
    double blocks;             // of the grid
};

// What of an estimate is the same for all kernels of a set: what they are made of, worked out.
struct tmg_ground {
    const struct tmg_rates *rates;
    unsigned tensor_count, term_count;
    double us[TMG_RATES];  // of a flop or byte, where it is a rate
    // times that L2 bytes count: 1 first, then those of each tensor, by where its lines begin
    double pitch[1 + TMG_MAX_TENSORS];
    double terms[TMG_MAX_TERMS + 1];
};

void tmg_ground_of(const struct tmg_binding *binding, const struct tmg_terms *terms,
                   const struct tmg_rates *rates, struct tmg_ground *ground);

// The tiles along each axis of the grid of [binding], whose kernel's terms are the [ground]'s.
void tmg_ground_tiles(const struct tmg_binding *binding, const struct tmg_ground *ground,
                      int64_t tiles[3]);

// The SMs on which clusters of [ctas] find room.
static inline int64_t tmg_room_for_clusters(int64_t ctas, int sms, const struct tmg_rates *rates) {
    const double sixes = rates->of[TMG_RATE_SIXES];
    const double clustered = ctas == 6 && sixes > 0 ? sixes : rates->of[TMG_RATE_CLUSTERED];
    return ctas > 2 && clustered > 0 && clustered < sms ? (int64_t)clustered : sms;
}

// Whether its CTAs go from tile to tile.
static inline int tmg_walks(const struct tmg_manifest *manifest) {
    return manifest->grid.rule == TMG_GRID_PERSISTENT;
}

// The estimate of a launch that has these counts; else as tmg_estimate(). Where it takes more
// than [limit] us, estimate->us may be any number from there on, and nothing else of it is said.
int tmg_estimate_of(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                    const int64_t counts[TMG_PER_COUNT], const struct tmg_ground *ground,
                    double limit, struct tmg_estimate *estimate);

// The estimate of [binding], which is not empty. TMAGEN_ERROR_ARGUMENT for an illegal launch,
// or a kernel whose manifest does not say what its steps cost.
int tmg_estimate(const struct tmg_binding *binding, const struct tmg_capacity *capacity,
                 const struct tmg_rates *rates, struct tmg_estimate *estimate);
