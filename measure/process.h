// What processes that work for a command have in common: how they are made, and how they ended.
#pragma once
#include <stddef.h>
#include <sys/types.h>

// As fork(), for a child that ends when we do; -1 after a message. Nothing that does not live
// through a fork may have been loaded: no driver, no NVRTC.
pid_t process_spawn(void);

// Says how a process ended that should not have, by [status] of waitpid().
void process_explain(int status, char *why, size_t size);
