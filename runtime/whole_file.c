// Reading a whole file.
// No mapping: a file that is cut short meanwhile would then kill the process.
#include "runtime/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/error.h"

// Reads [bytes] of [file]; a file that shrinks meanwhile gives fewer.
static size_t read_up_to(int file, char *to, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = read(file, to + done, bytes - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += (size_t)got;
    }
    return done;
}

static int read_open(int file, const char *path, size_t most, char **text, size_t *bytes) {
    struct stat about;
    if (fstat(file, &about)) return tmg_fail(TMAGEN_ERROR_FILE, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode)) return tmg_fail(TMAGEN_ERROR_FILE, "%s: is no plain file", path);
    if ((size_t)about.st_size > most)
        return tmg_fail(TMAGEN_ERROR_FILE, "%s: is larger than %zu bytes", path, most);
    char *data = malloc((size_t)about.st_size + 1);
    if (!data) return tmg_fail_memory();
    *bytes = read_up_to(file, data, (size_t)about.st_size);
    data[*bytes] = 0;
    *text = data;
    return TMAGEN_OK;
}

int tmg_file_read(const char *path, size_t most, char **text, size_t *bytes) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return tmg_fail(TMAGEN_ERROR_FILE, "%s: %s", path, strerror(errno));
    int status = read_open(file, path, most, text, bytes);
    close(file);
    return status;
}
