// Who holds what in the cache: locks, temporaries, dates and pins, where the system fails or others
// are in the way. The calls that matter are this program's own, so that it decides what they do.
#include "tests/unit/runtime/cache_fixture.h"

#include <errno.h>
#include <sys/syscall.h>

#include "runtime/entry.h"

// ---- The system as a test wants it

static struct {
    int no_locks;       // flock fails as on a file system without
    int locks_to_lose;  // so many locked files lose their name just before the lock is taken
    int another_comes;  // and somebody else's file gets it
    void (*on_sleep)(int nth);  // instead of sleeping
    int sleeps, syncs, unheld;  // [unheld]: locks removed that were not held
    int privileged;             // as in a setuid program
    int no_files;               // no entry can be opened: the process has too many open files
} world;

static int fresh_world(void **state) {
    memset(&world, 0, sizeof world);
    return fresh(state);
}

int flock(int file, int operation) {
    char link[64], path[4400];
    if (world.no_locks) return errno = ENOLCK, -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 5 && !memcmp(path + length - 5, ".lock", 5) && world.locks_to_lose-- > 0) {
        path[length] = 0;
        unlink(path);
        if (world.another_comes) close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    return (int)syscall(SYS_flock, file, operation);
}

int nanosleep(const struct timespec *wanted, struct timespec *left) {
    if (!wanted->tv_nsec) return 0;  // the stand-in for NVRTC
    ++world.sleeps;
    if (!world.on_sleep) return (int)syscall(SYS_nanosleep, wanted, left);
    world.on_sleep(world.sleeps);
    return 0;
}

int openat(int folder, const char *name, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (world.no_files && strlen(name) == TMAGEN_KEY_CHARS - 1) return errno = EMFILE, -1;
    return (int)syscall(SYS_openat, folder, name, flags, mode);
}

int fsync(int file) {
    ++world.syncs;
    return (int)syscall(SYS_fsync, file);
}

int unlinkat(int folder, const char *name, int flags) {
    size_t length = strlen(name);
    int is_lock = length > 5 && !strcmp(name + length - 5, ".lock");
    int file = is_lock && !world.no_locks ? openat(folder, name, O_RDONLY) : -1;
    if (file >= 0) {
        world.unheld += !syscall(SYS_flock, file, LOCK_EX | LOCK_NB);
        close(file);
    }
    return (int)syscall(SYS_unlinkat, folder, name, flags);
}

// A temporary is its writer's, and locked, as long as that is its name.
int renameat(int from, const char *name, int to, const char *later) {
    int file = world.no_locks ? -1 : openat(from, name, O_RDONLY);
    if (file >= 0) {
        world.unheld += !syscall(SYS_flock, file, LOCK_EX | LOCK_NB);
        close(file);
    }
    return (int)syscall(SYS_renameat2, from, name, to, later, 0);
}

char *secure_getenv(const char *name) { return world.privileged ? NULL : getenv(name); }

// ---- Files

static void lock_path(const char *key, char path[4500]) {
    snprintf(path, 4500, "%s/%s.lock", cache_dir, key);
}

static int exists(const char *path) { return !access(path, F_OK); }

static void set_date(const char *path, time_t seconds) {
    const struct timespec dates[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, dates, 0), 0);
}

static time_t date_of(const char *path) {
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_mtime;
}

static void make_file(const char *path, time_t seconds) {
    int file = open(path, O_CREAT | O_RDWR, 0600);
    assert_true(file >= 0);
    close(file);
    set_date(path, seconds);
}

static void collect(void) {
    tmagen_cache_stats stats;
    assert_int_equal(tmagen_cache_gc(NULL, -1, &stats), TMAGEN_OK);
}

static int forget_all(void) {
    tmagen_cache_stats stats;
    return tmagen_cache_clear(NULL, &stats);
}

// Makes the key of "source" one that is not in the cache.
static void forget(char key[TMAGEN_KEY_CHARS]) {
    hits(key);
    assert_int_equal(forget_all(), TMAGEN_OK);
}

// ---- Locks

static void test_without_locks_no_file_stays(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4500];
    world.no_locks = 1;
    assert_false(hits(key));
    lock_path(key, path);
    assert_false(exists(path));
}

static void test_without_locks_age_decides(void **state) {
    (void)state;
    char old[4400], young[4400], ahead[4400];
    time_t now = time(NULL);
    hits(NULL);
    entry_path(".new-1-1-1", old), make_file(old, now - 4000);
    entry_path(".new-1-1-2", young), make_file(young, now - 3000);
    entry_path("x.lock", ahead), make_file(ahead, now + 4000);
    world.no_locks = 1;
    collect();
    assert_false(exists(old));
    assert_true(exists(young));
    assert_false(exists(ahead));
}

static void test_left_over_from_the_future(void **state) {
    (void)state;
    char held[4400], free_one[4400];
    hits(NULL);
    entry_path(".new-1-1-1", held), make_file(held, time(NULL) + 100000);
    entry_path(".new-1-1-2", free_one), make_file(free_one, time(NULL) + 100000);
    int holder = open(held, O_RDONLY);
    assert_int_equal(flock(holder, LOCK_EX), 0);
    collect();
    assert_true(exists(held));
    assert_false(exists(free_one));
    close(holder);
}

static void test_locks_go_while_they_are_held(void **state) {
    (void)state;
    char path[4400];
    assert_false(hits(NULL));
    entry_path("x.lock", path);
    make_file(path, 1000);
    collect();
    assert_false(exists(path));
    assert_int_equal(world.unheld, 0);
}

// A lock whose file was removed in between keeps nobody out: it is taken anew.
static void test_lock_of_a_removed_file(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS];
    forget(key);
    for (world.another_comes = 0; world.another_comes < 2; ++world.another_comes) {
        world.locks_to_lose = 2;
        world.sleeps = 0;
        assert_false(hits(NULL));
        assert_int_equal(world.sleeps, 2);
        assert_int_equal(world.unheld, 0);
        assert_string_equal(tmagen_warning_last(), "");
        forget(key);
    }
}

static void do_not_sleep(int nth) { (void)nth; }

// A holder that is stopped costs ten seconds, and it is said who was waited for.
static void test_stopped_holder(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4500];
    forget(key);
    lock_path(key, path);
    make_file(path, time(NULL));
    int holder = open(path, O_RDONLY);
    assert_int_equal(flock(holder, LOCK_EX), 0);
    world.on_sleep = do_not_sleep;
    assert_false(hits(NULL));
    assert_int_equal(world.sleeps, 2000);  // of 5 ms
    if (!strstr(tmagen_warning_last(), ".lock has been at it for 10 seconds"))
        fail_msg("warned '%s'", tmagen_warning_last());
    assert_true(exists(path));
    assert_true(hits(NULL));
    close(holder);
}

static char aside[4600], home[4400];

static void put_entry_back(int nth) {
    if (nth == 3) assert_int_equal(rename(aside, home), 0);
}

// Whoever stores the entry frees all who wait, whatever becomes of the lock.
static void test_waiting_ends_with_the_entry(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4500];
    assert_false(hits(key));
    entry_path(key, home);
    snprintf(aside, sizeof aside, "%s.aside", home);
    assert_int_equal(rename(home, aside), 0);
    make_file(home, time(NULL));  // a damaged one in its place
    lock_path(key, path);
    make_file(path, time(NULL));
    int holder = open(path, O_RDONLY);
    assert_int_equal(flock(holder, LOCK_EX), 0);
    world.on_sleep = put_entry_back;
    assert_true(hits(NULL));
    assert_int_equal(world.sleeps, 3);
    assert_string_equal(tmagen_warning_last(), "");
    close(holder);
}

// ---- Dates

static int is_used_now(const tmagen_cache_entry *entry, void *context) {
    (void)context;
    return llabs((long long)(entry->last_used - time(NULL))) <= 60;
}

static void test_entry_from_the_future_ages(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400];
    time_t now = time(NULL);
    assert_false(hits(key));
    entry_path(key, path);
    set_date(path, now + 100000);
    assert_true(hits(NULL));
    assert_in_range(date_of(path), now - 60, now + 60);
    set_date(path, now + 100000);
    assert_int_equal(tmagen_cache_list(NULL, 0, is_used_now, NULL), 1);
    collect();
    assert_in_range(date_of(path), now - 60, now + 60);
}

// ---- Who removes what, beside others

static int remove_the_others(const tmagen_cache_entry *entry, void *context) {
    char path[4400];
    DIR *list = opendir(cache_dir);
    for (struct dirent *item; (item = readdir(list));) {
        if (strlen(item->d_name) != TMAGEN_KEY_CHARS - 1 || !strcmp(item->d_name, entry->key))
            continue;
        entry_path(item->d_name, path);
        assert_int_equal(unlink(path), 0);
    }
    closedir(list);
    assert_null(entry->fault);
    ++*(int *)context;
    return 0;
}

static void store(const char *source) {
    tmagen_code code;
    assert_int_equal(compile(source, 0, &code), TMAGEN_OK);
    tmagen_code_free(&code);
}

static void test_list_beside_gc(void **state) {
    (void)state;
    int seen = 0;
    for (int verify = 0; verify < 2; ++verify, seen = 0) {
        store("a"), store("b"), store("c");
        assert_int_equal(tmagen_cache_list(NULL, verify, remove_the_others, &seen), TMAGEN_OK);
        assert_int_equal(seen, 1);
    }
}

// A folder in an entry's place cannot be removed by unlink, not even by root.
static void test_what_cannot_be_removed_is_said(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400];
    tmagen_cache_stats stats = {0};
    forget(key);
    entry_path(key, path);
    assert_int_equal(mkdir(path, 0700), 0);
    store("a");
    assert_int_equal(tmagen_cache_clear(NULL, &stats), TMAGEN_ERROR_FILE);
    assert_non_null(strstr(tmagen_error_last(), "1 files cannot be removed"));
    assert_non_null(strstr(tmagen_error_last(), key));
    assert_int_equal(stats.removed, 1);
    assert_int_equal(stats.entries, 1);
    assert_int_equal(tmagen_cache_gc(NULL, 0, &stats), TMAGEN_ERROR_FILE);
    assert_int_equal(tmagen_cache_prune(NULL, &stats), TMAGEN_ERROR_FILE);
    setenv("TMAGEN_CACHE_LIMIT", "0", 1);
    store("a");
    unsetenv("TMAGEN_CACHE_LIMIT");
    assert_non_null(strstr(tmagen_warning_last(), "cannot be removed"));
}

// Who has no file left to open an entry with knows nothing of it, and does not remove it.
static void test_prune_without_means_removes_nothing(void **state) {
    (void)state;
    tmagen_cache_stats stats;
    assert_false(hits(NULL));
    world.no_files = 1;
    assert_int_equal(tmagen_cache_prune(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.removed, 0);
    world.no_files = 0;
    assert_true(hits(NULL));
}

// ---- Fail on miss takes the latest used entry that is intact

// Stores the entry of "source" as if [compiler] had made it, used at [seconds].
static void store_as(const char *from, const char *compiler, time_t seconds, char path[4400]) {
    static uint8_t data[65536], copy[65536];
    char key[TMAGEN_KEY_CHARS];
    struct tmg_entry entry;
    int file = open(from, O_RDONLY);
    ssize_t bytes = read(file, data, sizeof data);
    close(file);
    assert_null(tmg_entry_parse(data, (size_t)bytes, &entry));
    entry.compiler = compiler;
    tmg_entry_write(&entry, copy);
    tmg_entry_key(&entry, key);
    entry_path(key, path);
    file = open(path, O_CREAT | O_WRONLY, 0600);
    bytes = (ssize_t)tmg_entry_size(&entry);
    assert_int_equal(write(file, copy, (size_t)bytes), bytes);
    close(file);
    set_date(path, seconds);
}

static void expect_found(const char *path) {
    tmagen_code code;
    assert_int_equal(compile("source", TMAGEN_FAIL_ON_MISS, &code), TMAGEN_OK);
    assert_string_equal(code.key, strrchr(path, '/') + 1);
    tmagen_code_free(&code);
}

static void test_fail_on_miss_tries_older_entries(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], own[4400], paths[3][4400];
    tmagen_code code;
    time_t now = time(NULL);
    assert_false(hits(key));
    entry_path(key, own);
    store_as(own, "older", now - 3000, paths[0]);
    store_as(own, "newer", now - 2000, paths[1]);
    store_as(own, "as new", now - 2000, paths[2]);
    damage(own, 200, -1);
    damage(paths[1], 0, 100);
    expect_found(paths[2]);
    store_as(paths[0], "newer", now - 2000, paths[1]);  // two used at once: either may come first
    damage(paths[2], 0, 100);
    set_date(paths[2], now - 2000);
    expect_found(paths[1]);
    store_as(paths[0], "as new", now - 1000, paths[2]);
    damage(paths[1], 0, 100);
    assert_int_equal(chmod(paths[2], 0660), 0);
    expect_found(paths[0]);
    damage(paths[0], 0, 100);
    assert_int_equal(compile("source", TMAGEN_FAIL_ON_MISS, &code), TMAGEN_ERROR_MISS);
    assert_null(strstr(tmagen_error_last(), "there is no such entry"));
}

// ---- Pins

static void test_pinned_entries_stay(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400];
    tmagen_cache_stats stats;
    assert_false(hits(key));
    entry_path(key, path);
    set_date(path, 1000);
    world.syncs = 0;
    assert_int_equal(tmagen_cache_pin(NULL, key, 1), TMAGEN_OK);
    assert_int_equal(world.syncs, 2);  // file and folder
    store("other");
    setenv("TMAGEN_CACHE_LIMIT", "0", 1);
    store("third");
    unsetenv("TMAGEN_CACHE_LIMIT");
    assert_int_equal(tmagen_cache_stat(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.entries, 2);  // the pinned one and the one just made
    assert_int_equal(stats.pinned, 1);
    assert_true(stats.pinned_bytes > 4096 && stats.pinned_bytes < stats.bytes);
    assert_int_equal(tmagen_cache_gc(NULL, 0, &stats), TMAGEN_OK);
    assert_int_equal(stats.entries, 1);
    assert_int_equal(tmagen_cache_clear(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.removed, 0);
    assert_true(hits(NULL));
    assert_int_equal(tmagen_cache_pin(NULL, key, 0), TMAGEN_OK);
    assert_int_equal(tmagen_cache_clear(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.removed, 1);
}

// The limit is for what may go: pinned entries do not crowd out the others.
static void test_pinned_bytes_are_beside_the_limit(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400];
    tmagen_cache_stats stats;
    assert_false(hits(key));
    entry_path(key, path);
    assert_int_equal(tmagen_cache_pin(NULL, key, 1), TMAGEN_OK);
    set_date(path, time(NULL) + 30);  // the latest used
    store("a"), store("b");
    assert_int_equal(tmagen_cache_gc(NULL, 2 * 5000, &stats), TMAGEN_OK);
    assert_int_equal(stats.entries, 3);
    setenv("TMAGEN_CACHE_LIMIT", "0", 1);
    store("third");
    unsetenv("TMAGEN_CACHE_LIMIT");
    assert_int_equal(tmagen_cache_stat(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.entries, 2);  // the one just made stays, as without a pinned one
}

static void test_damage_does_not_unpin(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400];
    tmagen_cache_stats stats;
    assert_false(hits(key));
    entry_path(key, path);
    assert_int_equal(tmagen_cache_pin(NULL, key, 1), TMAGEN_OK);
    assert_int_equal(chmod(path, 0600), 0);
    damage(path, 200, -1);
    assert_int_equal(tmagen_cache_pin(NULL, key, 1), TMAGEN_ERROR_MISS);
    assert_non_null(strstr(tmagen_error_last(), "its digest is wrong"));
    assert_int_equal(chmod(path, 0400), 0);
    world.syncs = 0;
    assert_false(hits(NULL));
    assert_int_equal(world.syncs, 2);
    assert_int_equal(tmagen_cache_clear(NULL, &stats), TMAGEN_OK);
    assert_true(hits(NULL));  // it is pinned still
    assert_int_equal(chmod(path, 0600), 0);
    damage(path, 200, -1);
    assert_int_equal(chmod(path, 0400), 0);
    assert_int_equal(tmagen_cache_prune(NULL, &stats), TMAGEN_OK);
    assert_int_equal(stats.removed, 1);
}

static void test_what_cannot_be_pinned(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS];
    forget(key);
    assert_int_equal(tmagen_cache_pin(NULL, key, 1), TMAGEN_ERROR_MISS);
    assert_int_equal(tmagen_cache_pin(NULL, "../etc", 1), TMAGEN_ERROR_ARGUMENT);
    assert_int_equal(tmagen_cache_pin(NULL, NULL, 1), TMAGEN_ERROR_ARGUMENT);
    strcat(cache_dir, "/nowhere");
    assert_int_equal(tmagen_cache_pin(cache_dir, key, 1), TMAGEN_ERROR_FILE);
}

// ---- A program with more rights than its caller

static void test_privileged_programs_ignore_the_environment(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        char text[4096];
        tmagen_cache_stats stats;
        world.privileged = 1;
        if (!tmagen_cache_stat(NULL, &stats)) _exit(1);
        if (!strstr(tmagen_error_last(), "no cache directory")) _exit(2);
        if (!tmagen_compiler_describe(text, sizeof text) && strstr(text, "fake")) _exit(3);
        if (tmagen_cache_stat(cache_dir, &stats)) _exit(4);
        _exit(stats.limit == 1 << 30 ? 0 : 5);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static int with_limit(void **state) {
    setenv("TMAGEN_CACHE_LIMIT", "7", 1);
    return fresh_world(state);
}

static int without_limit(void **state) {
    (void)state;
    return unsetenv("TMAGEN_CACHE_LIMIT");
}

#define TEST(name) cmocka_unit_test_setup(name, fresh_world)

int main(void) {
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_privileged_programs_ignore_the_environment, with_limit,
                                        without_limit),
        TEST(test_without_locks_no_file_stays),
        TEST(test_without_locks_age_decides),
        TEST(test_left_over_from_the_future),
        TEST(test_locks_go_while_they_are_held),
        TEST(test_lock_of_a_removed_file),
        TEST(test_stopped_holder),
        TEST(test_waiting_ends_with_the_entry),
        TEST(test_entry_from_the_future_ages),
        TEST(test_list_beside_gc),
        TEST(test_what_cannot_be_removed_is_said),
        TEST(test_prune_without_means_removes_nothing),
        TEST(test_fail_on_miss_tries_older_entries),
        TEST(test_pinned_entries_stay),
        TEST(test_pinned_bytes_are_beside_the_limit),
        TEST(test_damage_does_not_unpin),
        TEST(test_what_cannot_be_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
