// SQLite with a rollback journal and not WAL: databases of tunings lie on file systems of clusters,
// where no memory can be shared, and one process writes each.
#include "measure/tune_db.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/error.h"

#define TEXT_OF(number)  TEXT_OF_(number)
#define TEXT_OF_(number) #number

#define APPLICATION 0x746d6774  // "tmgt"
#define VERSION     1
#define VERDICTS    "('ok', 'wrong', 'refused', 'compile', 'fault', 'hang')"
#define CONDEMNED   "('wrong', 'fault', 'hang')"  // in one part, so in the whole

enum { SET_ASIDE_MOST = 1000, BUSY_MS = 20000 };
enum { CLAIM = 0x40001000 };  // a byte behind those that SQLite locks

// The text that each object of the database must have, to the letter.
static const char *const schema[] = {
    "CREATE TABLE kernel (\n"
    "  key TEXT NOT NULL PRIMARY KEY CHECK (length(key) = 64),\n"
    "  name TEXT NOT NULL, family TEXT NOT NULL, arch TEXT NOT NULL,\n"
    "  spec TEXT NOT NULL, manifest TEXT NOT NULL,\n"
    "  tmagen TEXT NOT NULL, compiler TEXT NOT NULL,\n"
    "  registers INTEGER, spill_bytes INTEGER, compile_ms REAL,\n"
    "  verdict TEXT CHECK (verdict IN " VERDICTS "),\n"
    "  checks TEXT, why TEXT\n"
    ") STRICT",
    "CREATE TABLE result (\n"
    "  device TEXT NOT NULL, dtype TEXT NOT NULL, shape TEXT NOT NULL,\n"
    "  key TEXT NOT NULL REFERENCES kernel (key), splits INTEGER NOT NULL,\n"
    "  verdict TEXT NOT NULL CHECK (verdict IN " VERDICTS "),\n"
    "  level INTEGER NOT NULL, rounds INTEGER NOT NULL,\n"
    "  ms REAL CHECK (ms > 0 AND ms < 1e9), lower REAL CHECK (lower > 0 AND lower < 1e9),\n"
    "  upper REAL CHECK (upper > 0 AND upper < 1e9),\n"
    "  clock_mhz INTEGER, watts INTEGER,\n"
    "  checked INTEGER NOT NULL, worst REAL, why TEXT,\n"
    "  driver INTEGER NOT NULL, tmagen TEXT NOT NULL, seed INTEGER NOT NULL,\n"
    "  PRIMARY KEY (device, dtype, shape, key, splits),\n"
    "  CHECK (verdict <> 'ok' OR (ms > 0 AND lower > 0 AND upper > 0))\n"
    ") STRICT"};

enum { OBJECTS = sizeof schema / sizeof *schema };

static const char *const verdicts[TUNE_VERDICTS] = {"",        "ok",    "wrong", "refused",
                                                    "compile", "fault", "hang"};

const char *tune_verdict_name(enum tune_verdict verdict) { return verdicts[verdict]; }

static enum tune_verdict verdict_of(const char *name) {
    for (int i = 1; i < TUNE_VERDICTS; ++i)
        if (!strcmp(verdicts[i], name)) return (enum tune_verdict)i;
    return TUNE_UNKNOWN;
}

static bool is_condemned(enum tune_verdict verdict) {
    return verdict == TUNE_WRONG || verdict == TUNE_FAULT || verdict == TUNE_HANG;
}

struct tune_db {
    sqlite3 *handle;
    char path[4096];
    sqlite3_stmt *put_kernel, *put_result, *put_better;
    int claim;  // a descriptor that holds a lock; 0: none
    bool made;  // by us: nothing was there
};

static int fail(const struct tune_db *db) {
    return tmg_fail(TMAGEN_ERROR_FILE, "%s: %s", db->path, sqlite3_errmsg(db->handle));
}

static int run(struct tune_db *db, const char *sql) {
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? TMAGEN_OK : fail(db);
}

// The first column of the first row, an integer; -1 where there is none.
static int64_t ask(struct tune_db *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

// ---- Opening

// What a file is that was opened.
enum content { EMPTY, WHOLE, FOREIGN, DAMAGED };

static const char *column(sqlite3_stmt *statement, int index) {
    const unsigned char *text = sqlite3_column_text(statement, index);
    return text ? (const char *)text : "";
}

// Whether the tables are those of [schema], and nothing else is there but what SQLite made.
static bool is_ours(struct tune_db *db) {
    static const char sql[] =
        "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_autoindex%' ORDER BY name";
    sqlite3_stmt *statement = NULL;
    int count = 0;
    bool same = sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL) == SQLITE_OK;
    while (same && sqlite3_step(statement) == SQLITE_ROW) {
        same = count < OBJECTS && !strcmp(column(statement, 0), schema[count]);
        ++count;
    }
    sqlite3_finalize(statement);
    return same && count == OBJECTS;
}

// Pages, and what the tables say of their columns.
static bool is_whole(struct tune_db *db) {
    sqlite3_stmt *statement = NULL;
    const bool whole = sqlite3_prepare_v2(db->handle, "PRAGMA quick_check(1)", -1, &statement,
                                          NULL) == SQLITE_OK &&
                       sqlite3_step(statement) == SQLITE_ROW && !strcmp(column(statement, 0), "ok");
    sqlite3_finalize(statement);
    return whole;
}

// Whether all rows keep what their tables check: where a file may only be read, quick_check does
// not look (SQLite 3.40).
static bool is_checked(struct tune_db *db) {
    return ask(db, "SELECT NOT EXISTS (SELECT 1 FROM kernel WHERE length(key) <> 64"
                   "  OR verdict NOT IN " VERDICTS ") AND NOT EXISTS"
                   " (SELECT 1 FROM result WHERE verdict NOT IN " VERDICTS
                   "  OR NOT (ms > 0 AND ms < 1e9 AND lower > 0 AND lower < 1e9"
                   "    AND upper > 0 AND upper < 1e9) OR (verdict = 'ok' AND ms + lower + upper IS"
                   " NULL))") == 1;
}

static enum content look_at(struct tune_db *db) {
    const int64_t objects = ask(db, "SELECT count(*) FROM sqlite_schema");
    const int64_t application = ask(db, "PRAGMA application_id");
    if (objects < 0) return DAMAGED;
    if (!objects && !application) return EMPTY;
    if (application != APPLICATION) return FOREIGN;
    if (ask(db, "PRAGMA user_version") > VERSION) return FOREIGN;
    return is_ours(db) && is_whole(db) && is_checked(db) ? WHOLE : DAMAGED;
}

static int create(struct tune_db *db) {
    int status = run(db, "BEGIN IMMEDIATE");
    for (int i = 0; i < OBJECTS && status == TMAGEN_OK; ++i) status = run(db, schema[i]);
    if (status == TMAGEN_OK)
        status = run(db, "PRAGMA application_id = " TEXT_OF(
                             APPLICATION) ";"
                                          "PRAGMA user_version = " TEXT_OF(VERSION) "; COMMIT");
    return status;
}

// Who only reads opens it for writing too, where it may: a tuning that was killed while it wrote
// has left a journal, by which SQLite first brings back what was there before.
static int connect(struct tune_db *db, enum tune_db_mode mode) {
    signal(SIGXFSZ, SIG_IGN);  // a file that cannot grow is an error of a write
    const int flags = SQLITE_OPEN_READWRITE | (mode == TUNE_DB_WRITE ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(db->path, &db->handle, flags, NULL) != SQLITE_OK) return fail(db);
    sqlite3_busy_timeout(db->handle, BUSY_MS);
    // nothing that a file says of itself is run: no function, no trigger, no view
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return run(db, mode == TUNE_DB_READ ? "PRAGMA cell_size_check = ON; PRAGMA query_only = ON"
                                        : "PRAGMA cell_size_check = ON");
}

static void disconnect(struct tune_db *db) {
    sqlite3_finalize(db->put_kernel);
    sqlite3_finalize(db->put_result);
    sqlite3_finalize(db->put_better);
    sqlite3_close(db->handle);
    db->put_kernel = db->put_result = db->put_better = NULL;
    db->handle = NULL;
}

// Gives the file, and the journal that belongs to it, a name that nothing has yet.
static int set_aside(struct tune_db *db) {
    char name[sizeof db->path + 16], journal[sizeof name + 16], old[sizeof name + 16];
    struct stat unused;
    int number = 0;
    do {
        snprintf(name, sizeof name, number ? "%s.damaged.%d" : "%s.damaged", db->path, number);
    } while (!lstat(name, &unused) && ++number < SET_ASIDE_MOST);
    if (number == SET_ASIDE_MOST || rename(db->path, name))
        return tmg_fail(TMAGEN_ERROR_FILE, "%s: is damaged, and cannot be set aside: %s", db->path,
                        strerror(errno));
    snprintf(old, sizeof old, "%s-journal", db->path);
    snprintf(journal, sizeof journal, "%s-journal", name);
    rename(old, journal);
    fprintf(stderr, "tmagen: warning: %s: is damaged; it was set aside as %s\n", db->path, name);
    return TMAGEN_OK;
}

static int open_again(struct tune_db *db, enum tune_db_mode mode) {
    disconnect(db);
    int status = set_aside(db);
    db->made = status == TMAGEN_OK;
    if (status == TMAGEN_OK) status = connect(db, mode);
    return status == TMAGEN_OK ? create(db) : status;
}

static int check_file(const char *path, enum tune_db_mode mode, bool *made) {
    struct stat found;
    if (stat(path, &found)) {
        if (errno != ENOENT || mode != TUNE_DB_WRITE)
            return tmg_fail(TMAGEN_ERROR_FILE, "%s: %s", path, strerror(errno));
        const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        *made = file >= 0;  // and by nobody else at the same time
        if (*made) close(file);
        return TMAGEN_OK;  // where it cannot be made SQLite says why
    }
    return S_ISREG(found.st_mode) ? TMAGEN_OK
                                  : tmg_fail(TMAGEN_ERROR_FILE, "%s: is no regular file", path);
}

int tune_db_open(const char *path, enum tune_db_mode mode, struct tune_db **made) {
    struct tune_db *db = *made = calloc(1, sizeof *db);
    if (!db) return tmg_fail_memory();
    // SQLite would take these for a file that is gone at the end, or for a URI
    if (!*path) return tmg_fail(TMAGEN_ERROR_FILE, "the database's name is empty");
    const bool odd = *path == ':' || !strncmp(path, "file:", 5);
    if ((size_t)snprintf(db->path, sizeof db->path, "%s%s", odd ? "./" : "", path) >=
        sizeof db->path)
        return tmg_fail(TMAGEN_ERROR_FILE, "%.60s...: a path that long cannot be opened", path);
    int status = check_file(path, mode, &db->made);
    if (status == TMAGEN_OK) status = connect(db, mode);
    if (status != TMAGEN_OK) return status;
    switch (look_at(db)) {
    case WHOLE: return TMAGEN_OK;
    case EMPTY:
        if (mode == TUNE_DB_WRITE) return create(db);
        return tmg_fail(TMAGEN_ERROR_FILE, "%s: holds nothing", path);
    case FOREIGN:
        return tmg_fail(TMAGEN_ERROR_FILE, "%s: is no database of a tuning, or of a later tmagen",
                        path);
    default: break;
    }
    // Nobody knows that of a file that could not be read: its disk may be at fault, or a lock.
    const int why = sqlite3_errcode(db->handle) & 0xff;
    if (why == SQLITE_BUSY || why == SQLITE_IOERR || why == SQLITE_NOMEM ||
        why == SQLITE_CANTOPEN || why == SQLITE_READONLY)
        return fail(db);
    if (mode == TUNE_DB_READ) return tmg_fail(TMAGEN_ERROR_FILE, "%s: is damaged", path);
    return open_again(db, mode);
}

// The lock belongs to the descriptor and to our children, who inherit it: it holds until the last
// of them is gone.
int tune_db_claim(struct tune_db *db) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = CLAIM, .l_len = 1};
    const int file = open(db->path, O_RDWR | O_CLOEXEC);
    if (file <= 0) return TMAGEN_OK;  // then nothing can be written either, which SQLite says
    db->claim = file;
    if (!fcntl(file, F_OFD_SETLK, &lock) || (errno != EAGAIN && errno != EACCES)) return TMAGEN_OK;
    return tmg_fail(TMAGEN_ERROR_FILE,
                    "%s: another tuning writes to it; give each a database of its own, and then "
                    "merge them",
                    db->path);
}

void tune_db_close(struct tune_db *db) {
    if (db) disconnect(db);
    if (db && db->claim) close(db->claim);  // after SQLite: a close ends the process's own locks
    free(db);
}

void tune_db_discard(struct tune_db *db) {
    char path[sizeof db->path] = "", journal[sizeof path + 16];
    if (db && db->made) snprintf(path, sizeof path, "%s", db->path);
    tune_db_close(db);
    if (!*path) return;
    snprintf(journal, sizeof journal, "%s-journal", path);
    unlink(path);  // first: a journal without its file is nobody's
    unlink(journal);
}

// ---- Writing

int tune_db_begin(struct tune_db *db) { return run(db, "BEGIN IMMEDIATE"); }
int tune_db_commit(struct tune_db *db) { return run(db, "COMMIT"); }

void tune_db_rollback(struct tune_db *db) {
    if (!sqlite3_get_autocommit(db->handle)) sqlite3_exec(db->handle, "ROLLBACK", 0, 0, 0);
}

#define NEWER "verdict IS NULL OR verdict = 'ok' AND ifnull(excluded.verdict, '') IN " CONDEMNED

static const char put_kernel_sql[] =
    "INSERT INTO kernel VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
    " ON CONFLICT (key) DO UPDATE SET registers = ifnull(registers, excluded.registers),"
    " spill_bytes = ifnull(spill_bytes, excluded.spill_bytes),"
    " compile_ms = ifnull(compile_ms, excluded.compile_ms),"
    " checks = iif(" NEWER ", excluded.checks, checks), why = iif(" NEWER ", excluded.why, why),"
    " verdict = iif(" NEWER ", excluded.verdict, verdict)";

#define RESULT_COLUMNS \
    "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19"

static const char put_result_sql[] = "INSERT OR REPLACE INTO result VALUES (" RESULT_COLUMNS ")";

// The same, but of two results the condemned one, that of more rounds, of the higher level, the
// faster.
static const char put_better_sql[] =
    "INSERT OR REPLACE INTO result SELECT " RESULT_COLUMNS " WHERE NOT EXISTS (SELECT 1 FROM result"
    " WHERE device = ?1 AND dtype = ?2 AND shape = ?3 AND key = ?4 AND splits = ?5"
    " AND (verdict IN " CONDEMNED ", rounds, level, -ifnull(ms, 0))"
    " >= (?6 IN " CONDEMNED ", ?8, ?7, -ifnull(?9, 0)))";

static int prepare(struct tune_db *db, const char *sql, sqlite3_stmt **statement) {
    if (*statement) return TMAGEN_OK;
    return sqlite3_prepare_v2(db->handle, sql, -1, statement, NULL) == SQLITE_OK ? TMAGEN_OK
                                                                                 : fail(db);
}

// "" becomes null.
static void put_text(sqlite3_stmt *statement, int index, const char *text) {
    if (*text) sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

static void put_present(sqlite3_stmt *statement, int index, bool present, double value) {
    if (present) sqlite3_bind_double(statement, index, value);
}

static void put_count(sqlite3_stmt *statement, int index, bool present, int64_t value) {
    if (present) sqlite3_bind_int64(statement, index, value);
}

// Runs a statement whose columns were bound, and makes it ready for the next.
static int finish(struct tune_db *db, sqlite3_stmt *statement) {
    const int code = sqlite3_step(statement);
    const int status = code == SQLITE_DONE ? TMAGEN_OK : fail(db);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return status;
}

int tune_db_put_kernel(struct tune_db *db, const struct tune_kernel *row) {
    const int status = prepare(db, put_kernel_sql, &db->put_kernel);
    if (status != TMAGEN_OK) return status;
    sqlite3_stmt *s = db->put_kernel;
    const char *const texts[] = {row->key,  row->name,     row->family, row->arch,
                                 row->spec, row->manifest, row->tmagen, row->compiler};
    for (int i = 0; i < 8; ++i) sqlite3_bind_text(s, i + 1, texts[i], -1, SQLITE_STATIC);
    put_count(s, 9, row->registers >= 0, row->registers);
    put_count(s, 10, row->spill_bytes >= 0, row->spill_bytes);
    put_present(s, 11, row->compile_ms > 0, row->compile_ms);
    put_text(s, 12, verdicts[row->verdict]);
    put_text(s, 13, row->checks);
    put_text(s, 14, row->why);
    return finish(db, s);
}

static int put_result(struct tune_db *db, const char *sql, sqlite3_stmt **statement,
                      const struct tune_result *row) {
    const int status = prepare(db, sql, statement);
    if (status != TMAGEN_OK) return status;
    sqlite3_stmt *s = *statement;
    const char *const texts[] = {row->device, row->dtype, row->shape, row->key};
    for (int i = 0; i < 4; ++i) sqlite3_bind_text(s, i + 1, texts[i], -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 5, row->splits);
    sqlite3_bind_text(s, 6, verdicts[row->verdict], -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 7, row->level);
    sqlite3_bind_int(s, 8, row->rounds);
    put_present(s, 9, row->ms > 0, row->ms);
    put_present(s, 10, row->ms > 0, row->lower);
    put_present(s, 11, row->ms > 0, row->upper);
    put_count(s, 12, row->clock_mhz > 0, row->clock_mhz);
    put_count(s, 13, row->watts > 0, row->watts);
    sqlite3_bind_int64(s, 14, row->checked);
    put_present(s, 15, row->checked > 0, row->worst);
    put_text(s, 16, row->why);
    sqlite3_bind_int(s, 17, row->driver);
    sqlite3_bind_text(s, 18, row->tmagen, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 19, (int64_t)row->seed);
    return finish(db, s);
}

int tune_db_put_result(struct tune_db *db, const struct tune_result *row) {
    return put_result(db, put_result_sql, &db->put_result, row);
}

static int merge_kernel(void *into, const struct tune_kernel *row) {
    return tune_db_put_kernel(into, row);
}

static int merge_result(void *into, const struct tune_result *row, const struct tune_kernel *of) {
    struct tune_db *db = into;
    (void)of;
    return put_result(db, put_better_sql, &db->put_better, row);
}

int tune_db_merge(struct tune_db *db, struct tune_db *from) {
    const int status = tune_db_kernels(from, merge_kernel, db);
    return status == TMAGEN_OK ? tune_db_results(from, merge_result, db) : status;
}

// ---- Reading

static const char read_kernels_sql[] = "SELECT * FROM kernel ORDER BY key";
static const char read_results_sql[] =
    "SELECT result.*, kernel.* FROM result JOIN kernel ON kernel.key = result.key"
    " ORDER BY device, dtype, family, shape, result.verdict <> 'ok', ms, result.key, splits";

// The columns of a kernel from [first] on; with its key at [key].
static struct tune_kernel read_kernel(sqlite3_stmt *s, int key, int first) {
    return (struct tune_kernel){
        .key = column(s, key),
        .name = column(s, first),
        .family = column(s, first + 1),
        .arch = column(s, first + 2),
        .spec = column(s, first + 3),
        .manifest = column(s, first + 4),
        .tmagen = column(s, first + 5),
        .compiler = column(s, first + 6),
        .registers = sqlite3_column_type(s, first + 7) == SQLITE_NULL
                         ? -1
                         : sqlite3_column_int(s, first + 7),
        .spill_bytes = sqlite3_column_type(s, first + 8) == SQLITE_NULL
                           ? -1
                           : sqlite3_column_int(s, first + 8),
        .compile_ms = sqlite3_column_double(s, first + 9),
        .verdict = verdict_of(column(s, first + 10)),
        .checks = column(s, first + 11),
        .why = column(s, first + 12),
    };
}

static struct tune_result read_result(sqlite3_stmt *s) {
    return (struct tune_result){
        .device = column(s, 0),
        .dtype = column(s, 1),
        .shape = column(s, 2),
        .key = column(s, 3),
        .splits = sqlite3_column_int(s, 4),
        .verdict = verdict_of(column(s, 5)),
        .level = sqlite3_column_int(s, 6),
        .rounds = sqlite3_column_int(s, 7),
        .ms = sqlite3_column_double(s, 8),
        .lower = sqlite3_column_double(s, 9),
        .upper = sqlite3_column_double(s, 10),
        .clock_mhz = sqlite3_column_int(s, 11),
        .watts = sqlite3_column_int(s, 12),
        .checked = sqlite3_column_int64(s, 13),
        .worst = sqlite3_column_double(s, 14),
        .why = column(s, 15),
        .driver = sqlite3_column_int(s, 16),
        .tmagen = column(s, 17),
        .seed = (uint64_t)sqlite3_column_int64(s, 18),
    };
}

// Reads a query's rows to the last, or the first that [visit] wants no more after.
static int read_rows(struct tune_db *db, const char *sql,
                     int (*visit)(void *, sqlite3_stmt *, void *), void *how, void *context) {
    sqlite3_stmt *statement = NULL;
    int status = prepare(db, sql, &statement), code = SQLITE_DONE;
    while (status == TMAGEN_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
        status = visit(how, statement, context);
    if (status == TMAGEN_OK && code != SQLITE_DONE) status = fail(db);
    sqlite3_finalize(statement);
    return status;
}

struct kernel_visit {
    int (*visit)(void *, const struct tune_kernel *);
};

static int visit_kernel(void *how, sqlite3_stmt *statement, void *context) {
    const struct tune_kernel row = read_kernel(statement, 0, 1);
    return ((const struct kernel_visit *)how)->visit(context, &row);
}

int tune_db_kernels(struct tune_db *db, int (*visit)(void *, const struct tune_kernel *),
                    void *context) {
    return read_rows(db, read_kernels_sql, visit_kernel, &(struct kernel_visit){visit}, context);
}

struct result_visit {
    int (*visit)(void *, const struct tune_result *, const struct tune_kernel *);
};

// What a kernel was seen to do at small shapes goes for all others.
static int visit_result(void *how, sqlite3_stmt *statement, void *context) {
    const struct tune_kernel kernel = read_kernel(statement, 19, 20);
    struct tune_result row = read_result(statement);
    if (row.verdict == TUNE_OK && is_condemned(kernel.verdict)) row.verdict = kernel.verdict;
    return ((const struct result_visit *)how)->visit(context, &row, &kernel);
}

int tune_db_results(struct tune_db *db,
                    int (*visit)(void *, const struct tune_result *, const struct tune_kernel *),
                    void *context) {
    return read_rows(db, read_results_sql, visit_result, &(struct result_visit){visit}, context);
}
