// Who runs what: a launch's grid, its clusters as they come and go, the scheduler of their warps.
// This room knows all others, and none of them knows it.
//
// The rooms use each other in one direction only, and so do their files:
//   ptx -> decode -> model -> machine -> check -> exec -> launch
// A room uses what stands before it, never what stands behind; tests/cli/rooms.sh holds it.
#ifndef TMG_EMU_LAUNCH_H
#define TMG_EMU_LAUNCH_H

#include "runtime/emu/check/check.h"

// ---- cluster.c ----

// Cluster number [index] of the grid, from *machine->spare or new; NULL and a report when memory is
// out.
struct emu_cluster *emu_cluster_new(struct emu_machine *machine, uint64_t index);
// Leaves an ended cluster in *machine->spare.
void emu_cluster_retire(struct emu_cluster *cluster);
// All that are resident.
void emu_clusters_retire(struct emu_machine *machine);
// A list of clusters: what *machine->spare has become.
void emu_clusters_free(struct emu_cluster *clusters);
// Refreshes the slots of %clock and friends.
void emu_refresh_clocks(struct emu_warp *warp);

// ---- sched.c ----

// Runs the machine's clusters until all have ended or one report stops them.
void emu_run(struct emu_machine *machine);

// ---- clusters.c ----

// Runs all clusters of the grid; then none is resident.
void emu_grid_run(struct emu_machine *machine);

#endif
