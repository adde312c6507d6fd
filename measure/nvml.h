// The GPU's clock and power, where NVML is there to tell.
// Only to explain a time, never to correct it.
#pragma once
#include <stdbool.h>

// Of which device samples are taken from now on; before the first of them. Without, of the first.
void nvml_choose(int device);

// Reads the SM clock in MHz and the power in W of that device. False where NVML is not there.
bool nvml_sample(double *clock_mhz, double *watts);
