// The identity of a shared library's build, read from its file.
// NVRTC's version is only "13.0" for many builds; the linker's build id tells them apart.
#pragma once

#include <stddef.h>

// Writes "build-id HEX" of the ELF file at [path] into [id], or "head HEX", a digest of size and
// first 64 KiB, for a file without one. Returns 0, or -1 when the file cannot be read. [size]
// >= 72.
int tmg_elf_identify(const char *path, char *id, size_t size);
