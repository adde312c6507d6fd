// How many instructions a call takes, by stepping through a child of ours one by one: a measure of
// speed that no other load on the machine changes.
#pragma once

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

// The instructions between the two signals that [function] is called between; -1 where nothing may
// be traced here. [function] is called in the child alone.
static inline long count_steps(void (*function)(void *argument), void *argument) {
    int status;
    const pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) _exit(1);
        raise(SIGSTOP);
        function(argument);
        raise(SIGSTOP);
        _exit(0);
    }
    long steps = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return -1;
    do {
        ++steps;
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) || waitpid(child, &status, 0) != child)
            break;
    } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    const int ended = WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return ended ? steps : -1;
}
