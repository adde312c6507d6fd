// The GPU's clock and power, where NVML is there to tell.
// Only to explain a time, never to correct it.
#pragma once
#include <stdbool.h>

// Of which device samples are taken from now on, by its PCI bus id, "0000:1B:00.0"; before, none.
// NVML counts other devices than the driver does where CUDA_VISIBLE_DEVICES hides some.
void nvml_choose(const char *bus_id);

// Reads the SM clock in MHz and the power in W of that device. False where NVML is not there.
bool nvml_sample(double *clock_mhz, double *watts);
