// Each process is given a job at a time through a socket, and answers with its exit code: so who is
// lost, and over what, is known by the socket's end. What a job prints goes into files in memory.
#include "measure/jobs.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/parallel.h"
#include "measure/process.h"

enum { NONE = -1, STREAMS = 2 };

struct jobs_worker {
    pid_t process;
    int line;           // the socket; NONE: no process
    int job;            // that it is at, or NONE
    int said[STREAMS];  // what it has in the place of standard output and error
};

// What came of a job, until it is its turn to be shown.
struct jobs_outcome {
    bool done;
    int code;
    char *text[STREAMS];
    size_t bytes[STREAMS];
    char why[80];  // it is lost; "": it is not
};

struct jobs_crew {
    const struct jobs *jobs;
    int streams;  // 1: error goes where output goes, and keeps its place among its lines
    int count, next, shown, worst;
    struct jobs_worker workers[JOBS_MAX];
    struct jobs_outcome *outcomes;
};

static int count_streams(void) {
    struct stat output, error;
    const bool same = !fstat(STDOUT_FILENO, &output) && !fstat(STDERR_FILENO, &error) &&
                      output.st_dev == error.st_dev && output.st_ino == error.st_ino;
    return same ? 1 : STREAMS;
}

// ---- A process

static _Noreturn void serve(const struct jobs_crew *crew, const struct jobs_worker *worker,
                            int line) {
    dup2(worker->said[0], STDOUT_FILENO);
    dup2(worker->said[crew->streams - 1], STDERR_FILENO);
    for (int job; read(line, &job, sizeof job) == sizeof job && job != NONE;) {
        const int code = crew->jobs->work(crew->jobs->context, job);
        fflush(stdout);
        if (write(line, &code, sizeof code) != sizeof code) break;
    }
    _exit(0);
}

// Gives it the next job, or the word that there is none. Where it is dead its line says so later.
static void give(struct jobs_crew *crew, struct jobs_worker *worker) {
    worker->job = crew->next < crew->jobs->count ? crew->next++ : NONE;
    send(worker->line, &worker->job, sizeof worker->job, MSG_NOSIGNAL);
}

static bool start(struct jobs_crew *crew, struct jobs_worker *worker) {
    int line[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line)) return false;
    worker->process = process_spawn();
    if (worker->process == 0) serve(crew, worker, line[1]);
    close(line[1]);
    worker->line = line[0];
    if (worker->process > 0) return give(crew, worker), true;
    close(line[0]);
    worker->line = NONE;
    return false;
}

static bool open_streams(const struct jobs_crew *crew, struct jobs_worker *worker) {
    for (int i = 0; i < STREAMS; ++i)
        worker->said[i] = i < crew->streams ? memfd_create("tmagen job", MFD_CLOEXEC) : NONE;
    return worker->said[0] >= 0 && worker->said[crew->streams - 1] >= 0;
}

static void close_streams(const struct jobs_worker *worker) {
    for (int i = 0; i < STREAMS; ++i)
        if (worker->said[i] >= 0) close(worker->said[i]);
}

// ---- What came of the jobs

// Takes what was said out of the file, which parent and child have one place in.
static void take_text(int file, char **text, size_t *bytes) {
    const off_t size = lseek(file, 0, SEEK_END);
    *text = size > 0 ? malloc((size_t)size) : NULL;
    const ssize_t got = *text ? pread(file, *text, (size_t)size, 0) : 0;
    *bytes = got > 0 ? (size_t)got : 0;
    if (!ftruncate(file, 0)) lseek(file, 0, SEEK_SET);
}

static void show(struct jobs_crew *crew) {
    FILE *const streams[STREAMS] = {stdout, stderr};
    for (; crew->shown < crew->jobs->count && crew->outcomes[crew->shown].done; ++crew->shown) {
        struct jobs_outcome *outcome = &crew->outcomes[crew->shown];
        for (int i = 0; i < crew->streams; ++i) {
            if (outcome->bytes[i]) fwrite(outcome->text[i], 1, outcome->bytes[i], streams[i]);
            fflush(streams[i]);
            free(outcome->text[i]);
        }
        if (*outcome->why)
            outcome->code = crew->jobs->lost(crew->jobs->context, crew->shown, outcome->why);
        if (outcome->code > crew->worst) crew->worst = outcome->code;
    }
}

static struct jobs_outcome *finish(struct jobs_crew *crew, const struct jobs_worker *worker) {
    struct jobs_outcome *outcome = &crew->outcomes[worker->job];
    for (int i = 0; i < crew->streams; ++i)
        take_text(worker->said[i], &outcome->text[i], &outcome->bytes[i]);
    outcome->done = true;
    return outcome;
}

// The process has ended: over a job, or because there is none.
static void bury(struct jobs_crew *crew, struct jobs_worker *worker) {
    int status = 0;
    close(worker->line);
    worker->line = NONE;
    waitpid(worker->process, &status, 0);
    if (worker->job == NONE) return;
    struct jobs_outcome *outcome = finish(crew, worker);
    process_explain(status, outcome->why, sizeof outcome->why);
    if (crew->next < crew->jobs->count) start(crew, worker);
}

static void hear(struct jobs_crew *crew, struct jobs_worker *worker) {
    int code;
    if (recv(worker->line, &code, sizeof code, 0) != sizeof code) return bury(crew, worker);
    finish(crew, worker)->code = code;
    give(crew, worker);
}

// ---- The run

static bool wait_for_any(struct jobs_crew *crew) {
    struct pollfd lines[JOBS_MAX];
    bool any = false;
    for (int i = 0; i < crew->count; ++i) {
        lines[i] = (struct pollfd){.fd = crew->workers[i].line, .events = POLLIN};
        any |= lines[i].fd != NONE;
    }
    if (!any || poll(lines, (nfds_t)crew->count, -1) < 0) return any;
    for (int i = 0; i < crew->count; ++i)
        if (lines[i].fd != NONE && lines[i].revents) hear(crew, &crew->workers[i]);
    return true;
}

// Starts as many as are wanted, or as the system grants.
static void start_all(struct jobs_crew *crew) {
    int wanted = crew->jobs->processes ? crew->jobs->processes : parallel_cores();
    if (wanted > crew->jobs->count) wanted = crew->jobs->count;
    if (wanted > JOBS_MAX) wanted = JOBS_MAX;
    for (bool started = true; crew->count < wanted && started; ++crew->count) {
        struct jobs_worker *worker = &crew->workers[crew->count];
        worker->line = NONE;
        started = open_streams(crew, worker) && start(crew, worker);
    }
}

int jobs_run(const struct jobs *jobs) {
    struct jobs_crew crew = {.jobs = jobs, .streams = count_streams()};
    crew.outcomes = calloc((size_t)jobs->count + 1, sizeof *crew.outcomes);
    if (!crew.outcomes) return jobs->lost(jobs->context, 0, "no memory is left");
    start_all(&crew);
    while (wait_for_any(&crew)) show(&crew);
    for (; crew.next < jobs->count; ++crew.next) {
        struct jobs_outcome *outcome = &crew.outcomes[crew.next];
        outcome->done = true;
        snprintf(outcome->why, sizeof outcome->why, "no process could be started");
    }
    show(&crew);
    for (int i = 0; i < crew.count; ++i) close_streams(&crew.workers[i]);
    free(crew.outcomes);
    return crew.worst;
}
