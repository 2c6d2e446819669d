#include "server/store/sqlite/writer.h"
#include <pthread.h>
#include <stdlib.h>
#include "common/base/limits.h"
#include "common/base/log.h"

struct operation {
    struct operation *next;
    store_fn fn;
    void *arg;
    store_done_fn done;
    void *done_ctx;
    enum err result;
};

struct writer {
    struct store *store;
    struct conn *conn;
    struct readers *readers;
    struct checkpointer *checkpointer;
    sqlite3_stmt *begin, *commit, *savepoint, *release, *rollback_to;
    struct topics topics;
    int log_pages;          /* in the write-ahead log */
    bool is_short_of_space; /* the disk was full, and the log has not been emptied since */
    pthread_t thread;

    pthread_mutex_t mutex; /* over all that follows */
    pthread_cond_t wakeup;
    struct operation *first, **last;
    int64_t queued, commits, operations;
    bool is_closing;
    store_listener listener;
    void *listener_ctx;
    void (*begin_hook)(void *ctx);
    enum err (*before_commit)(void *ctx);
    void *before_commit_ctx;
};

/* Waits for work. The operations of the next batch, or NULL when it is time to end. */
static struct operation *take_batch(struct writer *w)
{
    (void)pthread_mutex_lock(&w->mutex);
    while (!w->first && !w->is_closing)
        (void)pthread_cond_wait(&w->wakeup, &w->mutex);
    struct operation *batch = w->first, **end = &w->first;
    for (int n = 0; *end && n < LIMIT_WRITER_BATCH; n++) {
        end = &(*end)->next;
        w->queued--;
    }
    w->first = *end;
    if (!w->first)
        w->last = &w->first;
    if (end != &w->first)
        *end = NULL;
    (void)pthread_mutex_unlock(&w->mutex);
    return batch;
}

/* The function itself. *out_lost: the transaction is gone, and all that was in it. */
static enum err call(struct writer *w, struct operation *op, enum err *out_lost)
{
    struct sqlite_txn txn = {.base = {w->store}, .conn = w->conn, .topics = &w->topics};
    size_t mark = topics_mark(&w->topics);
    w->conn->last_error = ERR_OK;
    op->result = op->fn(&txn.base, op->arg);
    /* A full disk and the like make SQLite roll back everything by itself. */
    if (sqlite3_get_autocommit(w->conn->db))
        return *out_lost = w->conn->last_error ? w->conn->last_error : ERR_INTERNAL;
    if (op->result)
        topics_cut(&w->topics, mark);
    return op->result;
}

/* In a savepoint of its own: for that SQLite keeps a copy of every page that the function changes. */
static void run_guarded(struct writer *w, struct operation *op, enum err *out_lost)
{
    enum err e = db_run(w->savepoint, "opening a savepoint");
    if (!e && call(w, op, out_lost) && !*out_lost)
        e = db_run(w->rollback_to, "undoing an operation");
    if (!e && !*out_lost)
        e = db_run(w->release, "ending a savepoint");
    if (e)
        *out_lost = e;
}

/* Without one. False: it failed after it had changed something, which only a rollback of all can undo. */
static bool run_bare(struct writer *w, struct operation *op, enum err *out_lost)
{
    sqlite3_int64 before = sqlite3_total_changes64(w->conn->db);
    return !call(w, op, out_lost) || *out_lost || sqlite3_total_changes64(w->conn->db) == before;
}

/* Most operations succeed, or find out what is wrong before they change anything: they need no savepoint.
 * When one fails later than that, the batch begins anew, each of its operations in a savepoint. */
static enum err run_operations(struct writer *w, struct operation *batch, bool *out_has_success)
{
    bool is_clean = true;
    enum err lost = db_run(w->begin, "beginning a transaction");
    for (struct operation *op = batch; op && is_clean && !lost; op = op->next)
        is_clean = run_bare(w, op, &lost);
    if (!is_clean && !lost) {
        db_rollback(w->conn->db);
        topics_cut(&w->topics, 0);
        lost = db_run(w->begin, "beginning a transaction again");
        for (struct operation *op = batch; op && !lost; op = op->next)
            run_guarded(w, op, &lost);
    }
    *out_has_success = false;
    for (struct operation *op = batch; op && !lost; op = op->next)
        *out_has_success = *out_has_success || !op->result;
    return lost;
}

static enum err run_batch(struct writer *w, struct operation *batch)
{
    bool has_success;
    readers_let_go(w->readers);
    if (w->begin_hook)
        w->begin_hook(w->before_commit_ctx);
    enum err lost = run_operations(w, batch, &has_success);
    if (!lost && has_success && w->before_commit)
        lost = w->before_commit(w->before_commit_ctx);
    if (!lost)
        lost = db_run(w->commit, "committing");
    if (lost)
        db_rollback(w->conn->db);
    else
        readers_note_commit(w->readers);
    return lost;
}

static void finish_batch(struct writer *w, struct operation *batch, enum err lost)
{
    int64_t n = 0;
    for (struct operation *op = batch; op; op = op->next)
        n++;
    (void)pthread_mutex_lock(&w->mutex);
    w->operations += n;
    w->commits += lost ? 0 : 1;
    (void)pthread_mutex_unlock(&w->mutex);
    if (lost)
        topics_cut(&w->topics, 0);
    topics_deliver(&w->topics, w->listener, w->listener_ctx);
    for (struct operation *op = batch, *next; op; op = next) {
        next = op->next;
        if (op->done)
            op->done(op->done_ctx, lost ? lost : op->result);
        free(op);
    }
}

/* The log can be far larger than what its pages come to in the database. Once the disk was full, its space is
 * given back at the first chance, or the log itself would fill what little is freed. */
static void give_back_space(struct writer *w, enum err lost)
{
    if (lost == ERR_STORAGE_FULL)
        w->is_short_of_space = true;
    if (w->is_short_of_space && checkpointer_empty_log(w->checkpointer, w->conn->db))
        w->is_short_of_space = false;
}

static int note_wal(void *ctx, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    ((struct writer *)ctx)->log_pages = pages;
    return SQLITE_OK;
}

static void *run(void *arg)
{
    struct writer *w = arg;
    struct operation *batch;
    while ((batch = take_batch(w))) {
        enum err lost = run_batch(w, batch);
        finish_batch(w, batch, lost);
        checkpointer_tend(w->checkpointer, w->conn->db, w->log_pages); /* no answer waits for it */
        give_back_space(w, lost);
    }
    return NULL;
}

static enum err prepare_statements(struct writer *w)
{
    enum err e = db_prepare(w->conn->db, "BEGIN IMMEDIATE", &w->begin);
    if (!e)
        e = db_prepare(w->conn->db, "COMMIT", &w->commit);
    if (!e)
        e = db_prepare(w->conn->db, "SAVEPOINT operation", &w->savepoint);
    if (!e)
        e = db_prepare(w->conn->db, "RELEASE operation", &w->release);
    if (!e)
        e = db_prepare(w->conn->db, "ROLLBACK TO operation", &w->rollback_to);
    return e;
}

enum err writer_new(struct store *store, struct conn *conn, struct readers *readers,
                    struct checkpointer *checkpointer, struct writer **out)
{
    struct writer *w = calloc(1, sizeof *w);
    if (!w) {
        conn_free(conn);
        return ERR_NO_MEMORY;
    }
    w->store = store;
    w->conn = conn;
    w->readers = readers;
    w->checkpointer = checkpointer;
    w->last = &w->first;
    topics_init(&w->topics);
    (void)sqlite3_wal_hook(conn->db, note_wal, w);
    bool has_mutex = pthread_mutex_init(&w->mutex, NULL) == 0;
    bool has_cond = pthread_cond_init(&w->wakeup, NULL) == 0;
    enum err e = has_mutex && has_cond ? prepare_statements(w) : ERR_NO_MEMORY;
    if (!e && pthread_create(&w->thread, NULL, run, w))
        e = ERR_NO_MEMORY;
    if (e) {
        if (has_mutex)
            (void)pthread_mutex_destroy(&w->mutex);
        if (has_cond)
            (void)pthread_cond_destroy(&w->wakeup);
        conn_free(conn);
        free(w);
        return e;
    }
    *out = w;
    return ERR_OK;
}

enum err writer_queue(struct writer *w, store_fn fn, void *arg, store_done_fn done, void *done_ctx)
{
    struct operation *op = malloc(sizeof *op);
    if (!op)
        return ERR_NO_MEMORY;
    *op = (struct operation){.fn = fn, .arg = arg, .done = done, .done_ctx = done_ctx};
    (void)pthread_mutex_lock(&w->mutex);
    bool is_refused = w->is_closing || w->queued >= LIMIT_WRITER_QUEUE;
    if (!is_refused) {
        *w->last = op;
        w->last = &op->next;
        if (w->queued++ == 0)
            (void)pthread_cond_signal(&w->wakeup);
    }
    (void)pthread_mutex_unlock(&w->mutex);
    if (is_refused) {
        free(op);
        return ERR_UNAVAILABLE;
    }
    /* cppcheck-suppress memleak ; it is in the queue */
    return ERR_OK;
}

void writer_listen(struct writer *w, store_listener listener, void *ctx)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->listener = listener;
    w->listener_ctx = ctx;
    (void)pthread_mutex_unlock(&w->mutex);
}

void writer_before_commit(struct writer *w, void (*begin)(void *ctx), enum err (*end)(void *ctx), void *ctx)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->begin_hook = begin;
    w->before_commit = end;
    w->before_commit_ctx = ctx;
    (void)pthread_mutex_unlock(&w->mutex);
}

void writer_stats(struct writer *w, struct store_stats *out)
{
    (void)pthread_mutex_lock(&w->mutex);
    *out = (struct store_stats){.commits = w->commits, .operations = w->operations, .queued = w->queued};
    (void)pthread_mutex_unlock(&w->mutex);
}

void writer_stop(struct writer *w)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->is_closing = true;
    (void)pthread_cond_signal(&w->wakeup);
    (void)pthread_mutex_unlock(&w->mutex);
    (void)pthread_join(w->thread, NULL);
}

void writer_free(struct writer *w)
{
    (void)checkpoint(w->conn->db, SQLITE_CHECKPOINT_TRUNCATE);
    conn_free(w->conn);
    topics_release(&w->topics);
    (void)pthread_cond_destroy(&w->wakeup);
    (void)pthread_mutex_destroy(&w->mutex);
    free(w);
}
