/* The power is cut at every single write and sync in turn: what was acknowledged stays, and no row names a
 * blob that is not there.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/rng.h"
#include "tests/store/numbered.h"
#include "tests/store/power_vfs.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

#define MAX_SEQ 1000
#define LARGE                                                                                                \
    (MAX_SEQ - 1) /* the number of an event whose weights are written in pieces, while they arrive */

/* What the process that lost its power had said, by the number of the event. */
struct said {
    bool was_added[MAX_SEQ], was_removed[MAX_SEQ];
    int64_t last;
};

/* What was found afterwards. */
struct verdict {
    int lost, back, without_blob;
};

static size_t size_of(int64_t seq)
{
    static const size_t sizes[] = {31000, 120000, 5, 40000};
    return seq == LARGE ? (size_t)18 << 20 : sizes[seq % 4];
}

/* ---- the process whose power is cut ---- */

struct session {
    struct store *store;
    struct blobs *blobs;
    int pipe;
    bool has_large;
    bool has_log;    /* one that is long enough to be copied into the database while more is written */
    bool rows_first; /* as it should not be: what the metadata name is committed after them */
};

static void require(bool is_fine, int status)
{
    if (!is_fine)
        _exit(status);
}

static void begin(struct session *s, const char *dir)
{
    struct fault fault = FAULT_NONE;
    const struct backend *b = sqlite_backend();
    require(b->open_store(dir, &s->store, &fault) == ERR_OK, 10);
    require(b->open_blobs(dir, &s->blobs, &fault) == ERR_OK, 11);
    if (!s->rows_first)
        s->store->ops->before_commit(s->store, begin_blobs, commit_blobs, s->blobs);
}

static void say(const struct session *s, int64_t number)
{
    require(write(s->pipe, &number, sizeof number) == sizeof number, 12);
}

static int64_t add(const struct session *s, int64_t seq)
{
    struct event event = {"r", seq, 0};
    require(put_blob(s->blobs, seq, size_of(seq), &event.blob_id) == ERR_OK, 13);
    require(store_write_wait(s->store, add_event, &event) == ERR_OK, 14);
    if (s->rows_first)
        require(s->blobs->ops->commit(s->blobs) == ERR_OK, 15);
    say(s, seq);
    return event.blob_id;
}

static enum err remove_event(struct store_txn *txn, void *arg)
{
    const int64_t *seq = arg;
    struct arena arena = ARENA_INIT((size_t)1 << 20);
    struct event_row *rows;
    size_t count;
    enum err e = store_find(txn, QUERY_EVENTS_OF_RUN, &arena, 0, &rows, &count, store_text("r"), store_any);
    for (size_t i = 0; i < count && !e; i++)
        if (rows[i].seq == *seq)
            e = store_remove(txn, RECORD_EVENT, &rows[i]);
    arena_release(&arena);
    return e;
}

/* The row first, and the blob when that is durable: as the core does it. */
static void drop(const struct session *s, int64_t seq, int64_t blob_id)
{
    require(store_write_wait(s->store, remove_event, &seq) == ERR_OK, 16);
    say(s, -seq);
    require(s->blobs->ops->remove(s->blobs, blob_id) == ERR_OK, 17);
}

#define LONG_TEXT ((size_t)512 * 1024)
#define NUM_LONG  36 /* 18 MiB of log */

static enum err put_long(struct store_txn *txn, void *arg)
{
    struct idempotency_row row;
    record_init(RECORD_IDEMPOTENCY, &row);
    row.id = "one";
    row.reply = arg;
    return store_put(txn, RECORD_IDEMPOTENCY, &row);
}

static void lengthen_log(const struct session *s)
{
    static char text[LONG_TEXT];
    for (int i = 0; i < NUM_LONG; i++) {
        memset(text, 'a' + i % 26, sizeof text - 1);
        require(store_write_wait(s->store, put_long, text) == ERR_OK, 18);
    }
}

static void end(struct session *s)
{
    s->store->ops->close(s->store);
    s->blobs->ops->close(s->blobs);
}

/* Opens twice, so that cuts also meet the emptying of the log, the end and the taking up. */
static _Noreturn void child(const char *dir, struct session s, int64_t first, const struct power_plan *plan)
{
    int64_t ids[4];
    power_vfs_install(plan);
    begin(&s, dir);
    if (s.has_large)
        (void)add(&s, LARGE);
    if (s.has_log)
        lengthen_log(&s);
    for (int64_t i = 0; i < 4; i++)
        ids[i] = add(&s, first + i);
    drop(&s, first + 1, ids[1]);
    (void)add(&s, first + 4);
    end(&s);
    begin(&s, dir);
    drop(&s, first, ids[0]);
    (void)add(&s, first + 5);
    end(&s);
    _exit(0);
}

/* ---- and what is found when it is back ---- */

/* Whether the power was cut. */
static bool run_and_cut(const char *dir, struct said *said, struct session session,
                        const struct power_plan *plan)
{
    int ends[2], status;
    int64_t seq, first = said->last + 1;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)close(ends[0]);
        session.pipe = ends[1];
        child(dir, session, first, plan);
    }
    (void)close(ends[1]);
    said->last = first + 5;
    ck_assert_int_lt(said->last, LARGE);
    while (read(ends[0], &seq, sizeof seq) == sizeof seq)
        *(seq > 0 ? &said->was_added[seq] : &said->was_removed[-seq]) = true;
    (void)close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == POWER_CUT),
                  "cut %lld: the process ended with %d", (long long)plan->cut_at, status);
    return WEXITSTATUS(status) == POWER_CUT;
}

static void check_integrity(const char *dir, const char *name)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    ck_assert_int_eq(sqlite3_open_v2(path_in(dir, name), &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    ck_assert_str_eq((const char *)sqlite3_column_text(stmt, 0), "ok");
    ck_assert_int_eq(sqlite3_finalize(stmt), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

/* Opens it as the next process would. */
static struct verdict look(const char *dir, const struct said *said)
{
    static int64_t blob_ids[MAX_SEQ];
    static struct found found;
    struct verdict v = {0};
    struct store *store = open_store(sqlite_backend(), dir);
    struct blobs *blobs = open_blobs(sqlite_backend(), dir);
    found = (struct found){.run_id = "r", .blob_ids = blob_ids, .max = MAX_SEQ};
    ck_err(store->ops->read(store, find_events, &found), ERR_OK);
    for (int64_t seq = 1; seq < MAX_SEQ; seq++) {
        v.lost += said->was_added[seq] && !said->was_removed[seq] && !found.has[seq];
        v.back += said->was_removed[seq] && found.has[seq];
        v.without_blob += found.has[seq] && !blob_is_whole(blobs, blob_ids[seq], seq, size_of(seq));
    }
    store->ops->close(store);
    blobs->ops->close(blobs);
    check_integrity(dir, "meta.db");
    check_integrity(dir, "blobs.db");
    return v;
}

/* A removal that was under way when the power went may have been done, or not. */
static void forgive_removals(struct said *said)
{
    for (int64_t seq = said->last - 5; seq <= said->last - 4; seq++)
        if (!said->was_removed[seq])
            said->was_added[seq] = false;
}

static void check(const char *dir, struct said *said, const struct power_plan *plan)
{
    forgive_removals(said);
    struct verdict v = look(dir, said);
    ck_assert_msg(!v.lost && !v.back && !v.without_blob,
                  "cut %lld, seed %llu: %d acknowledged are lost, %d removed are back, %d lack their blob",
                  (long long)plan->cut_at, (unsigned long long)plan->survives, v.lost, v.back,
                  v.without_blob);
}

static void copy_file(const char *from, const char *to)
{
    struct buf bytes = BUF_INIT((size_t)8 << 20);
    ck_err(file_read(from, &bytes, NULL), ERR_OK);
    FILE *f = fopen(to, "we");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.len, f), bytes.len);
    ck_assert_int_eq(fclose(f), 0);
    buf_release(&bytes);
}

static char made[512];

/* A new folder with databases that are empty but for their tables: making these is a test of its own. */
static const char *new_dir(void)
{
    static const char *const names[] = {"meta.db", "blobs.db"};
    if (!made[0]) {
        (void)snprintf(made, sizeof made, "%s", make_dir());
        struct store *store = open_store(sqlite_backend(), made);
        struct blobs *blobs = open_blobs(sqlite_backend(), made);
        store->ops->close(store);
        blobs->ops->close(blobs);
    }
    const char *dir = make_dir();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        copy_file(path_in(made, names[i]), path_in(dir, names[i]));
    return dir;
}

/* One session that is cut at that point; false: it came to its end. */
static bool one_cut(const char *dir, struct session session, const struct power_plan *plan)
{
    static struct said said;
    said = (struct said){0};
    bool was_cut = run_and_cut(dir, &said, session, plan);
    check(dir, &said, plan);
    remove_dir(dir);
    return was_cut;
}

/* Every one when the longer proofs are asked for, else one of some. */
START_TEST(what_was_acknowledged_survives_every_cut)
{
    int stride = unit_is_full() ? 1 : 4 * FAULT_STRIDE;
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct power_plan plan = {.cut_at = 1 + (int64_t)seed * stride / 2, .survives = seed};
        while (one_cut(new_dir(), (struct session){0}, &plan))
            plan.cut_at += stride;
        ck_assert_int_gt(plan.cut_at, 100);
    }
    remove_dir(made);
}
END_TEST

/* The many calls of a large body are alike: one in some. */
START_TEST(a_large_body_survives_cuts)
{
    struct power_plan plan = {.cut_at = 5};
    while (one_cut(new_dir(), (struct session){.has_large = true}, &plan)) {
        plan.cut_at += (unit_is_full() ? 13 : 101) * FAULT_STRIDE;
        plan.survives = (uint64_t)plan.cut_at % 2;
    }
    ck_assert_int_gt(plan.cut_at, 500);
    remove_dir(made);
}
END_TEST

/* The thread that copies the log and the writer go on at once, each time a little differently. */
START_TEST(a_log_that_is_copied_survives_cuts)
{
    struct power_plan plan = {.cut_at = 8300};
    while (one_cut(new_dir(), (struct session){.has_log = true}, &plan)) {
        plan.cut_at += (unit_is_full() ? 7 : 97) * FAULT_STRIDE;
        plan.survives = (uint64_t)plan.cut_at % 2;
    }
    ck_assert_int_gt(plan.cut_at, 9500);
    remove_dir(made);
}
END_TEST

/* As it makes its databases, too: what is there then is begun anew, or gone on with. */
START_TEST(the_first_start_survives_cuts)
{
    struct power_plan plan = {.cut_at = 1};
    while (one_cut(make_dir(), (struct session){0}, &plan)) {
        plan.cut_at += 23 * FAULT_STRIDE;
        plan.survives = (uint64_t)plan.cut_at % 3;
    }
    ck_assert_int_gt(plan.cut_at, 300);
}
END_TEST

/* One cut after the other in the same folder, also in the midst of taking up what the one before left. */
START_TEST(what_was_acknowledged_survives_cut_upon_cut)
{
    const char *dir = make_dir();
    static struct said said;
    said = (struct said){0};
    for (uint64_t i = 0; i < 30; i += FAULT_STRIDE) {
        uint64_t far = rng_u64(31, i) % 3 ? 150 : 12;
        struct power_plan plan = {.cut_at = 1 + (int64_t)(rng_u64(32, i) % far), .survives = i % 4 ? i : 0};
        (void)run_and_cut(dir, &said, (struct session){0}, &plan);
        check(dir, &said, &plan);
    }
    remove_dir(dir);
}
END_TEST

/* The worst of all cuts. */
static struct verdict worst(bool rows_first, bool syncs_lie)
{
    struct verdict w = {0};
    for (struct power_plan plan = {.cut_at = 2, .syncs_lie = syncs_lie}; plan.cut_at < 100;
         plan.cut_at += 7) {
        const char *dir = new_dir();
        static struct said said;
        said = (struct said){0};
        (void)run_and_cut(dir, &said, (struct session){.rows_first = rows_first}, &plan);
        forgive_removals(&said);
        struct verdict v = look(dir, &said);
        w.lost = v.lost > w.lost ? v.lost : w.lost;
        w.without_blob = v.without_blob > w.without_blob ? v.without_blob : w.without_blob;
        remove_dir(dir);
    }
    remove_dir(made);
    return w;
}

/* That the tests above can fail. */
START_TEST(a_disk_that_lies_about_syncs_is_found_out)
{
    ck_assert_int_gt(worst(false, true).lost, 0);
}
END_TEST

START_TEST(rows_that_are_committed_before_their_blobs_are_found_out)
{
    ck_assert_int_gt(worst(true, false).without_blob, 0);
}
END_TEST

int main(void)
{
    log_init(LOG_WARNING, LOG_TEXT);
    const TTest *const tests[] = {what_was_acknowledged_survives_every_cut,
                                  the_first_start_survives_cuts,
                                  a_large_body_survives_cuts,
                                  a_log_that_is_copied_survives_cuts,
                                  what_was_acknowledged_survives_cut_upon_cut,
                                  a_disk_that_lies_about_syncs_is_found_out,
                                  rows_that_are_committed_before_their_blobs_are_found_out};
    return unit_run("store power", tests, sizeof tests / sizeof tests[0]);
}
