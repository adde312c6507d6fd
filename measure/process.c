// Processes made by fork() alone, side by side with ours: what they work on lies before them.
#include "measure/process.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t process_spawn(void) {
    fflush(stdout);
    fflush(stderr);
    const pid_t parent = getpid(), child = fork();
    if (child < 0) perror("tmagen: error: fork");
    if (child) return child;
    // who interrupts us all means our parent, which would take our death for a kernel's fault
    const int ignored[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; ++i) signal(ignored[i], SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    return 0;
}

void process_explain(int status, char *why, size_t size) {
    if (WIFSIGNALED(status))
        snprintf(why, size, "the process died: %s", strsignal(WTERMSIG(status)));
    else
        snprintf(why, size, "the process ended");
}
