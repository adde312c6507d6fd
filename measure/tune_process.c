// How the processes of a tuning are made, and how they speak to the one that writes.
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "measure/tune_state.h"

pid_t tune_spawn(void) {
    fflush(stdout);
    fflush(stderr);
    const pid_t parent = getpid(), child = fork();
    if (child < 0) perror("tmagen: error: fork");
    if (child) return child;
    // who interrupts us all means our parent, which would take our death for a kernel's fault
    const int ignored[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; ++i) signal(ignored[i], SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(TUNE_EXIT_BROKEN);
    return 0;
}

void tune_say(const struct tuning *t, const struct tune_message *message) {
    _Static_assert(sizeof *message < 4096, "a message is whole or not there");
    if (write(t->pipe, message, sizeof *message) != sizeof *message) _exit(TUNE_EXIT_BROKEN);
}
