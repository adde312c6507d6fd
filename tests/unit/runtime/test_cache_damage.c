// The cache where it is damaged, or where it cannot or must not be used: kernels compile all the
// same.
#include "tests/unit/runtime/cache_fixture.h"

// ---- Damage

static void test_damaged_entries_are_compiled_again(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400];
    struct stat about;
    assert_false(hits(key));
    entry_path(key, path);
    assert_int_equal(stat(path, &about), 0);
    for (off_t length = 0; length < about.st_size; length += 397) {
        damage(path, 0, length);
        assert_false(hits(NULL));
        assert_true(hits(NULL));
    }
    for (off_t at = 0; at < (off_t)sizeof(char[8]); ++at) {
        damage(path, at, -1);
        assert_false(hits(NULL));
    }
    damage(path, about.st_size - 100, -1);
    assert_false(hits(NULL));
    assert_true(hits(NULL));
    assert_string_equal(tmagen_warning_last(), "");
}

static void write_file(const char *path, const uint8_t *data, size_t bytes) {
    int file = open(path, O_WRONLY | O_TRUNC);
    assert_true(file >= 0);
    assert_int_equal(write(file, data, bytes), bytes);
    close(file);
}

// A number below [limit] that looks drawn.
static size_t draw(uint64_t *state, size_t limit) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((*state >> 33) % limit);
}

// Spoils [data] of *bytes bytes, of which there is room for twice as many, in one of five ways.
static void spoil(uint64_t *state, uint8_t *data, size_t *bytes) {
    size_t at = draw(state, *bytes), from = draw(state, *bytes), length = 1 + draw(state, 64);
    if (at + length > *bytes) length = *bytes - at;
    if (from + length > *bytes) from = *bytes - length;
    switch (draw(state, 5)) {
    case 0: data[at] ^= (uint8_t)(1 << draw(state, 8)); break;
    case 1: memset(data + at, (int)draw(state, 256), length); break;
    case 2: memmove(data + at, data + from, length); break;
    case 3: *bytes = at; break;
    default:  // something comes between
        memmove(data + at + length, data + at, *bytes - at);
        *bytes += length;
    }
}

// Thousands of damaged entries, by the whole way of a load: a miss, or the very code that was
// stored.
static void test_damage_never_gives_other_code(void **state) {
    (void)state;
    enum { ROOM = 1 << 16 };
    const char *wanted = getenv("DAMAGES");
    const int rounds = wanted ? atoi(wanted) : 10000;
    static uint8_t whole[ROOM], spoilt[2 * ROOM];
    uint64_t drawn = 1;
    char path[4400];
    tmagen_code first, code;
    int misses = 0;
    assert_int_equal(compile("source", TMAGEN_COMPILE_ON_MISS, &first), TMAGEN_OK);
    entry_path(first.key, path);
    int file = open(path, O_RDONLY);
    ssize_t size = read(file, whole, ROOM);
    close(file);
    assert_in_range(size, 4096, ROOM - 1);
    for (int i = 0; i < rounds; ++i) {
        size_t bytes = (size_t)size;
        memcpy(spoilt, whole, bytes);
        for (size_t n = 1 + draw(&drawn, 3); n > 0 && bytes > 0; --n) spoil(&drawn, spoilt, &bytes);
        write_file(path, spoilt, bytes);
        int status = compile("source", TMAGEN_FAIL_ON_MISS, &code);
        misses += status == TMAGEN_ERROR_MISS;
        if (status == TMAGEN_ERROR_MISS) continue;
        assert_int_equal(status, TMAGEN_OK);
        assert_int_equal(code.bytes, first.bytes);
        assert_memory_equal(code.data, first.data, first.bytes);
        assert_string_equal(code.log, first.log);
        tmagen_code_free(&code);
    }
    assert_in_range(misses, rounds / 2, rounds - 1);
    assert_int_equal(compiles(), 1);
    tmagen_code_free(&first);
}

static void test_foreign_entries_are_misses(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], other_key[TMAGEN_KEY_CHARS], path[4400], other[4400];
    tmagen_code code;
    assert_false(hits(key));
    assert_int_equal(compile("other", 0, &code), TMAGEN_OK);
    strcpy(other_key, code.key);
    tmagen_code_free(&code);
    entry_path(key, path);
    entry_path(other_key, other);
    assert_int_equal(rename(other, path), 0);  // a whole entry under another's name
    assert_false(hits(NULL));
    assert_true(hits(NULL));
}

static void test_links_and_folders_are_no_entries(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400], moved[4500];
    assert_false(hits(key));
    entry_path(key, path);
    snprintf(moved, sizeof moved, "%s.moved", path);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    assert_false(hits(NULL));  // and the link is replaced
    assert_true(hits(NULL));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(hits(NULL));
    assert_true(hits(NULL));
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(hits(NULL));
    assert_non_null(strstr(tmagen_warning_last(), "cannot be written"));
}

static void test_entries_that_others_may_write_are_misses(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400];
    assert_false(hits(key));
    entry_path(key, path);
    static const mode_t modes[] = {0620, 0602, 0622, 0660, 0666};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_false(hits(NULL));
        assert_true(hits(NULL));
    }
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_false(hits(NULL));
    }
}

// ---- Folders

static void test_folder_is_private(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400];
    struct stat about;
    hits(key);
    assert_int_equal(stat(cache_dir, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
    entry_path(key, path);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
}

// Compiles twice in the present folder: both work, with a warning that holds [words].
static void expect_unusable(const char *words) {
    for (int pass = 0; pass < 2; ++pass) {
        assert_false(hits(NULL));
        if (!strstr(tmagen_warning_last(), words)) fail_msg("warned '%s'", tmagen_warning_last());
    }
}

static void test_folder_of_others(void **state) {
    (void)state;
    mkdir(cache_dir, 0700);
    static const mode_t modes[] = {0720, 0702, 0777};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
        chmod(cache_dir, modes[i]);
        expect_unusable("belongs to another user, or others may write to it");
    }
    chmod(cache_dir, 0700);
    if (geteuid() == 0) {
        assert_int_equal(chown(cache_dir, 12345, 12345), 0);
        expect_unusable("belongs to another user");
    }
}

static void test_folder_that_is_a_link(void **state) {
    (void)state;
    assert_int_equal(symlink("/tmp", cache_dir), 0);
    expect_unusable("not a folder of its own");
    unlink(cache_dir);
    fclose(fopen(cache_dir, "w"));
    expect_unusable("not a folder of its own");
    tmagen_code code;
    assert_int_equal(compile("source", TMAGEN_FAIL_ON_MISS, &code), TMAGEN_ERROR_MISS);
}

static void test_no_folder_named(void **state) {
    (void)state;
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
    unsetenv("TMAGEN_CACHE");
    setenv("XDG_CACHE_HOME", "relative", 1);
    unsetenv("HOME");
    expect_unusable("none of TMAGEN_CACHE, XDG_CACHE_HOME and HOME is set");
    setenv("XDG_CACHE_HOME", cache_dir, 1);
    assert_false(hits(NULL));
    assert_true(hits(NULL));
    strcat(cache_dir, "/tmagen");
    assert_int_equal(access(cache_dir, F_OK), 0);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
    free(home);
}

enum { NOT_REACHABLE = 77 };

// Runs [check], which exits when it fails, in a child process as a user without rights.
static int as_nobody(void (*check)(void)) {
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) || setuid(65534))) _exit(3);
        if (access(cache_dir, R_OK | X_OK)) _exit(NOT_REACHABLE);
        check();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_hit_and_miss_without_writing(void) {
    tmagen_code code;
    if (compile("source", 0, &code) || !code.hit || *tmagen_warning_last()) _exit(4);
    if (compile("other", 0, &code) || code.hit ||
        !strstr(tmagen_warning_last(), "cannot be written"))
        _exit(5);
}

static void test_read_only_folder(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4400], parent[4200];
    assert_false(hits(key));  // as root, perhaps: whom everyone may trust
    entry_path(key, path);
    chmod(path, 0644);
    chmod(cache_dir, 0555);
    strcpy(parent, cache_dir);
    *strrchr(parent, '/') = 0;
    chmod(parent, 0755);
    int status = as_nobody(check_hit_and_miss_without_writing);
    chmod(cache_dir, 0700);
    if (status == NOT_REACHABLE) skip();
    assert_int_equal(status, 0);
}

static void check_full(void) {
    tmagen_code code;
    const struct rlimit none = {512, 512};  // no file may grow beyond: as on a full disk
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &none)) _exit(4);
    for (int pass = 0; pass < 2; ++pass)
        if (compile("full", 0, &code) || code.hit ||
            !strstr(tmagen_warning_last(), "cannot be written"))
            _exit(5);
}

static int files_in(const char *folder) {
    DIR *list = opendir(folder);
    int count = 0;
    assert_non_null(list);
    for (struct dirent *item; (item = readdir(list));)
        count += item->d_name[0] != '.' || item->d_name[1] == 'n';
    closedir(list);
    return count;
}

static void test_full_disk(void **state) {
    (void)state;
    assert_false(hits(NULL));
    pid_t child = fork();
    if (child == 0) check_full(), _exit(0);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(files_in(cache_dir), 1);  // nothing half, no temporary
    assert_true(hits(NULL));
}

// A lock that cannot be had does not keep anyone from compiling.
static void test_lock_that_cannot_be_had(void **state) {
    (void)state;
    char key[TMAGEN_KEY_CHARS], path[4500];
    assert_false(hits(key));
    tmagen_cache_stats stats;
    assert_int_equal(tmagen_cache_clear(NULL, &stats), TMAGEN_OK);
    snprintf(path, sizeof path, "%s/%s.lock", cache_dir, key);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(hits(NULL));
    assert_true(hits(NULL));
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(void) {
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    const struct CMUnitTest tests[] = {
        TEST(test_damaged_entries_are_compiled_again),
        TEST(test_damage_never_gives_other_code),
        TEST(test_foreign_entries_are_misses),
        TEST(test_links_and_folders_are_no_entries),
        TEST(test_entries_that_others_may_write_are_misses),
        TEST(test_folder_is_private),
        TEST(test_folder_of_others),
        TEST(test_folder_that_is_a_link),
        TEST(test_no_folder_named),
        TEST(test_read_only_folder),
        TEST(test_full_disk),
        TEST(test_lock_that_cannot_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
