// The files that a family's reference is: reference.c, and what it includes.
#pragma once
#include "gen/store.h"
#include "measure/reference.h"

// Those of [family], as the store finds them: a header that is included by #include "NAME" in the
// family's own folder, else in lib/, as templates are; what is in neither is left to the compiler.
// No files where the family has no reference.c. Texts live as long as the store.
struct reference_text reference_files(struct store *, const char *family);
