// Tensor maps: what TMA needs to know of a tensor, encoded by the device.
// The runtime never looks inside one: the driver's and the emulator's differ.
#pragma once

#include "runtime/binding.h"
#include "runtime/device.h"

// Encodes [param], a tensor map of [manifest], for its tensor as [bound]. TMAGEN_ERROR_ARGUMENT
// names the tensor and the rule that it breaks; what the device itself refuses is reported with all
// arguments.
// Rows that begin anywhere need as many maps as so many rows are whole 16 bytes, rows_apart: map i
// is of the rows i, i + rows_apart, ... from the whole 16 bytes before row i on; one that would
// begin behind the last row is of that. What a box wants begins up to 15 bytes further along.
int tmg_tensor_map_encode(const tmagen_device *device, const struct tmg_manifest *manifest,
                          const struct tmg_param *param, const struct tmg_bound_tensor *bound,
                          struct tmg_tensor_map *maps);
