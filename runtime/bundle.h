// An open bundle: its index in memory, its payloads where they lie in the file.
// All of it is fixed when it is opened but which payloads were found intact.
#pragma once

#include "runtime/bundle_format.h"

// One more closes it: the last of them frees it.
void tmg_bundle_hold(tmagen_bundle *bundle);

// The text of the dispatch table [name], checked by its digest. TMAGEN_ERROR_MISS where there is
// none.
int tmg_bundle_table(tmagen_bundle *bundle, const char *name, const char **text, size_t *bytes);

// The manifest of the kernel [name] that belongs to the code which [device] would take.
// TMAGEN_ERROR_MISS where there is no such kernel, _NO_DEVICE where it is there for other devices.
int tmg_bundle_manifest(tmagen_bundle *bundle, const tmagen_device *device, const char *name,
                        const char **text, size_t *bytes);
