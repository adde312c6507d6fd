// Why nothing in a table serves a launch, and what would be served: in words.
#pragma once

#include "runtime/choose.h"

// Sets the error for a launch that tmg_choose() found nothing for, and returns its code.
int tmg_refuse(const struct tmg_question *question);
