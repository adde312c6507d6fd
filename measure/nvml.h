// The GPU's clock and power, where NVML is there to tell.
// Only to explain a time, never to correct it.
#pragma once
#include <stdbool.h>

// Reads the SM clock in MHz and the power in W of the first device. False where NVML is not there.
bool nvml_sample(double *clock_mhz, double *watts);
