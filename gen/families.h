// Where families are found: the store of templates that commands share.
#pragma once
#include "gen/diag.h"
#include "gen/generate.h"

// Remarks once that ./templates has the [family] too, but not as it was generated from: whoever
// edits there expects to see it. Not where the user has said which templates are meant.
void families_note(struct diag *, const struct gen_options *, const char *family);
