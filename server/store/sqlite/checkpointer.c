#include "server/store/sqlite/checkpointer.h"
#include "common/base/log.h"

/* In pages of 4 KiB. The thread begins when so many have come. */
#define BEGIN_PAGES 4096
/* So few, which came while it copied, the writer copies itself; of more the thread makes another round. */
#define REST_PAGES 256
/* Where the thread cannot keep up the writer waits for it when so many have come, */
#define BEHIND_PAGES (2 * BEGIN_PAGES)
/* and copies all there is, so that a log of so many can begin anew. */
#define LONG_PAGES (2 * BEGIN_PAGES)

static const char pragmas[] = "PRAGMA synchronous = FULL;"
                              "PRAGMA trusted_schema = OFF;"
                              "PRAGMA cache_size = -16;"
                              "PRAGMA journal_size_limit = 67108864;";

/* It waits for no reader: the transaction of one that nobody uses would stay open until the writer comes to
 * its next batch. What it cannot copy now stays in the log for the next time. */
bool checkpoint(sqlite3 *db, int mode)
{
    int in_log = 0, copied = 0;
    (void)sqlite3_busy_timeout(db, 0);
    int rc = sqlite3_wal_checkpoint_v2(db, NULL, mode, &in_log, &copied);
    (void)sqlite3_busy_timeout(db, DB_BUSY_MS);
    if (rc != SQLITE_OK && rc != SQLITE_BUSY && rc != SQLITE_FULL)
        log_warning("store", "copying the write-ahead log into the database: %s", sqlite3_errmsg(db));
    return rc == SQLITE_OK && copied == in_log;
}

/* Only those that read just now are in its way. */
static bool copy_log(struct checkpointer *c, sqlite3 *db, int mode)
{
    readers_let_go(c->readers);
    return checkpoint(db, mode);
}

/* Where the log grew meanwhile, SQLite leaves the syncing of what was copied to the next one who copies, and
 * that is the writer. */
static bool sync_database(sqlite3 *db)
{
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(db, NULL, SQLITE_FCNTL_FILE_POINTER, &file);
    return rc == SQLITE_OK && file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) == SQLITE_OK;
}

/* True: all that was in the log when it began. A commit that ends just then may be in the way of the first
 * try. */
static bool copy_some(struct checkpointer *c)
{
    bool is_level = copy_log(c, c->db, SQLITE_CHECKPOINT_PASSIVE);
    return is_level || copy_log(c, c->db, SQLITE_CHECKPOINT_PASSIVE);
}

static void *run(void *arg)
{
    struct checkpointer *c = arg;
    (void)pthread_mutex_lock(&c->mutex);
    while (!c->is_ending || c->is_busy) {
        if (!c->is_busy) {
            (void)pthread_cond_wait(&c->changed, &c->mutex);
            continue;
        }
        (void)pthread_mutex_unlock(&c->mutex);
        bool is_level = copy_some(c) && sync_database(c->db);
        (void)pthread_mutex_lock(&c->mutex);
        c->is_level = is_level;
        c->is_busy = false;
        (void)pthread_cond_broadcast(&c->changed);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return NULL;
}

enum err checkpointer_start(struct checkpointer *c, const char *path, struct readers *readers,
                            struct fault *fault)
{
    *c = (struct checkpointer){.readers = readers};
    enum err e = db_open_at(PACE_IN_PIECES, path, pragmas, &c->db, fault);
    if (e)
        return e;
    /* A connection knows of a log only after it has read. */
    int64_t tables;
    if ((e = db_int(c->db, "SELECT count(*) FROM sqlite_schema", &tables))) {
        db_close(c->db);
        return fault_set(fault, e, NULL, "cannot read %s", path);
    }
    bool has_mutex = pthread_mutex_init(&c->mutex, NULL) == 0;
    bool has_cond = pthread_cond_init(&c->changed, NULL) == 0;
    if (has_mutex && has_cond && pthread_create(&c->thread, NULL, run, c) == 0)
        return ERR_OK;
    if (has_mutex)
        (void)pthread_mutex_destroy(&c->mutex);
    if (has_cond)
        (void)pthread_cond_destroy(&c->changed);
    db_close(c->db);
    return fault_set(fault, ERR_NO_MEMORY, NULL, "cannot start a thread for %s", path);
}

void checkpointer_stop(struct checkpointer *c)
{
    (void)pthread_mutex_lock(&c->mutex);
    c->is_ending = true;
    (void)pthread_cond_broadcast(&c->changed);
    (void)pthread_mutex_unlock(&c->mutex);
    (void)pthread_join(c->thread, NULL);
    (void)pthread_cond_destroy(&c->changed);
    (void)pthread_mutex_destroy(&c->mutex);
    db_close(c->db);
}

/* With the mutex held. */
static void wait_for_thread(struct checkpointer *c)
{
    while (c->is_busy)
        (void)pthread_cond_wait(&c->changed, &c->mutex);
}

enum step { NOTHING, ASK_THREAD, COPY_REST };

/* What there is to do about the log. With the mutex held. */
static enum step next_step(struct checkpointer *c, int pages)
{
    if (pages - c->tried >= BEHIND_PAGES)
        wait_for_thread(c);
    if (c->is_busy)
        return NOTHING;
    /* Fewer than before: it began anew. */
    if (pages < c->tried) {
        c->tried = 0;
        c->is_level = false;
    }
    int rest = pages - c->tried;
    if (c->is_level && rest > 0 && (rest <= REST_PAGES || pages >= LONG_PAGES))
        return COPY_REST;
    return rest > (c->is_level ? REST_PAGES : BEGIN_PAGES) ? ASK_THREAD : NOTHING;
}

/* Where a read holds back the pages, or the log cannot begin anew because somebody reads from it, it goes on
 * growing, and is tried again when as much has come as the first time. */
void checkpointer_tend(struct checkpointer *c, sqlite3 *db, int pages)
{
    (void)pthread_mutex_lock(&c->mutex);
    enum step step = next_step(c, pages);
    if (step != NOTHING) {
        c->tried = pages;
        c->is_level = false;
    }
    if (step == ASK_THREAD) {
        c->is_busy = true;
        (void)pthread_cond_broadcast(&c->changed);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    if (step == COPY_REST)
        (void)copy_log(c, db, SQLITE_CHECKPOINT_PASSIVE);
}

bool checkpointer_empty_log(struct checkpointer *c, sqlite3 *db)
{
    (void)pthread_mutex_lock(&c->mutex);
    wait_for_thread(c);
    (void)pthread_mutex_unlock(&c->mutex);
    return copy_log(c, db, SQLITE_CHECKPOINT_TRUNCATE);
}
