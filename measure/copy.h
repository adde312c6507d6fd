// A copy of as many bytes as a shape moves, as a contestant: how fast a launch of that length can
// be.
#pragma once
#include "measure/contest.h"
#include "measure/rotation.h"

struct copy;

// Copies half of [bytes], which is written, from each copy of [rotation] in turn to memory of its
// own. The caller frees *copy, which may be NULL.
int copy_make(struct gpu *gpu, const struct rotation *rotation, double bytes, struct copy **copy);
void copy_free(struct gpu *gpu, struct copy *copy);

// A contestant's launch; [context] is the copy.
int copy_launch(void *context, CUstream stream, int set);
