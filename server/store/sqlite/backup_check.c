/* Whether the two files of a backup are whole and fit together. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "common/base/str.h"
#include "common/crypto/sha256.h"
#include "server/store/backup.h"
#include "server/store/sqlite/blobs.h"

#define STEPS_PER_LOOK 1000 /* of SQLite's machine: far below a millisecond */

struct check {
    const char *dir;
    const struct backup_watch *watch;
    bool is_given_up;
    sqlite3 *meta, *blobs;
    struct backup_facts *facts;
    struct fault *fault;
};

static enum err bad(const struct check *c, const char *what, int64_t blob)
{
    return fault_set(c->fault, ERR_CORRUPT, NULL,
                     "the backup in %.200s is damaged: %s (blob %" PRId64 "). Use another one", c->dir, what,
                     blob);
}

/* What runs then fails with SQLITE_INTERRUPT. */
static int look(void *arg)
{
    struct check *c = arg;
    c->is_given_up = !c->watch->goes_on(c->watch->ctx, 0, 0);
    return c->is_given_up;
}

/* Without locks and without files beside it: "file:PATH?immutable=1". */
static enum err open_file(struct check *c, const char *name, sqlite3 **out)
{
    char path[PATH_MAX], uri[3 * PATH_MAX + 32];
    size_t n = 0;
    if (snprintf(path, sizeof path, "%s/%s", c->dir, name) >= (int)sizeof path)
        return fault_set(c->fault, ERR_USAGE, NULL, "the path %.200s... is too long", c->dir);
    n = (size_t)snprintf(uri, sizeof uri, "file:");
    for (const char *s = path; *s; s++)
        n +=
            (size_t)snprintf(uri + n, sizeof uri - n, strchr("%?#", *s) ? "%%%02X" : "%c", (unsigned char)*s);
    (void)snprintf(uri + n, sizeof uri - n, "?immutable=1");
    int rc = sqlite3_open_v2(uri, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    if (!rc)
        rc = sqlite3_exec(*out, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    if (!rc && c->watch)
        sqlite3_progress_handler(*out, STEPS_PER_LOOK, look, c);
    if (!rc)
        return ERR_OK;
    return fault_set(c->fault, ERR_CORRUPT, NULL, "cannot read %s: %s. Use another backup", path,
                     sqlite3_errmsg(*out));
}

/* The first line says what is wrong. */
static enum err check_pages(const struct check *c, sqlite3 *db, const char *name)
{
    sqlite3_stmt *stmt = NULL;
    char text[200] = "it cannot be read";
    int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &stmt, NULL);
    if (!rc && sqlite3_step(stmt) == SQLITE_ROW)
        (void)snprintf(text, sizeof text, "%s", (const char *)sqlite3_column_text(stmt, 0));
    (void)sqlite3_finalize(stmt);
    if (str_eq(text, "ok"))
        return ERR_OK;
    return fault_set(c->fault, ERR_CORRUPT, NULL, "%s in %.200s is damaged: %s. Use another backup", name,
                     c->dir, text);
}

static enum err add_chunks(struct check *c, int64_t id, int64_t size, struct sha256 *hash)
{
    sqlite3_stmt *stmt = NULL;
    int64_t first = id * CHUNKS_PER_BLOB, at = 0;
    int rc = sqlite3_prepare_v2(c->blobs, "SELECT id, data FROM chunk WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
                                -1, &stmt, NULL);
    enum err e = rc ? bad(c, sqlite3_errmsg(c->blobs), id) : ERR_OK;
    (void)sqlite3_bind_int64(stmt, 1, first);
    (void)sqlite3_bind_int64(stmt, 2, first + CHUNKS_PER_BLOB - 1);
    while (!e && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        int n = sqlite3_column_bytes(stmt, 1);
        if (sqlite3_column_int64(stmt, 0) != first + at / CHUNK_UNIT || at % CHUNK_UNIT)
            e = bad(c, "bytes of weights are missing", id);
        else
            e = sha256_update(hash, sqlite3_column_blob(stmt, 1), (size_t)n);
        at += n;
    }
    (void)sqlite3_finalize(stmt);
    if (!e && rc != SQLITE_DONE)
        e = bad(c, sqlite3_errmsg(c->blobs), id);
    return !e && at != size ? bad(c, "bytes of weights are missing", id) : e;
}

/* sha256: "" where it is not known. */
static enum err check_blob(struct check *c, int64_t id, int64_t size, const char *sha256)
{
    char sql[80], hex[SHA256_HEX_SIZE];
    uint8_t digest[SHA256_SIZE];
    struct sha256 *hash = NULL;
    int64_t found;
    (void)snprintf(sql, sizeof sql, "SELECT coalesce(max(size), -1) FROM object WHERE id = %" PRId64, id);
    enum err e = db_int(c->blobs, sql, &found);
    if (!e && found != size)
        e = bad(c, "weights that are named are missing", id);
    if (!e)
        e = sha256_new(&hash);
    if (!e)
        e = add_chunks(c, id, size, hash);
    if (!e)
        e = sha256_final(hash, digest);
    sha256_free(hash);
    if (e)
        return e;
    hex_encode(digest, sizeof digest, hex);
    c->facts->weights_bytes += size;
    return *sha256 && !str_eq(hex, sha256) ? bad(c, "a model has other bytes than its SHA-256 says", id)
                                           : ERR_OK;
}

/* sql gives blob, size and SHA-256. */
static enum err check_named(struct check *c, const char *sql, int64_t *count)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(c->meta, sql, -1, &stmt, NULL);
    enum err e = ERR_OK;
    while (!rc && !e && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *sha256 = (const char *)sqlite3_column_text(stmt, 2);
        e = check_blob(c, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1), sha256 ? sha256 : "");
        ++*count;
        rc = SQLITE_OK;
    }
    if (!e && rc != SQLITE_DONE)
        e = fault_set(c->fault, ERR_CORRUPT, NULL, "%s in %.200s cannot be read: %s", STORE_FILE, c->dir,
                      sqlite3_errmsg(c->meta));
    (void)sqlite3_finalize(stmt);
    return e;
}

static enum err count_rows(const struct check *c)
{
    const struct {
        const char *sql;
        int64_t *count;
    } list[] = {{"SELECT count(*) FROM run", &c->facts->runs},
                {"SELECT count(*) FROM round", &c->facts->rounds},
                {"SELECT count(*) FROM worker", &c->facts->workers},
                {"SELECT count(*) FROM device", &c->facts->devices}};
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof list / sizeof list[0] && !e; i++)
        e = db_int(c->meta, list[i].sql, list[i].count);
    return e ? fault_set(c->fault, ERR_CORRUPT, NULL, "%s in %.200s is no database of this program",
                         STORE_FILE, c->dir)
             : ERR_OK;
}

enum err backup_check(const char *dir, const struct backup_watch *watch, struct backup_facts *out,
                      struct fault *fault)
{
    struct check c = {.dir = dir, .watch = watch, .facts = out, .fault = fault};
    *out = (struct backup_facts){0};
    enum err e = open_file(&c, STORE_FILE, &c.meta);
    if (!e)
        e = open_file(&c, BLOBS_FILE, &c.blobs);
    if (!e)
        e = check_pages(&c, c.meta, STORE_FILE);
    if (!e)
        e = check_pages(&c, c.blobs, BLOBS_FILE);
    if (!e)
        e = count_rows(&c);
    if (!e)
        e = check_named(&c,
                        "SELECT DISTINCT blob_id, size_bytes, weights_sha256 FROM model WHERE blob_id > 0",
                        &out->models);
    /* Of a closed round only what the run keeps is there. */
    if (!e)
        e = check_named(
            &c,
            "SELECT u.blob_id, u.size_bytes, '' FROM update_record u JOIN round r ON r.run_id = u.run_id "
            "AND r.n = u.round WHERE u.blob_id > 0 AND r.status < 3",
            &out->updates);
    if (e && c.is_given_up)
        e = fault_set(fault, ERR_CANCELLED, NULL, "the check was given up");
    if (e && fault->err == ERR_OK)
        (void)fault_set(fault, e, NULL, "the backup in %.200s cannot be checked: %s", dir, err_name(e));
    (void)sqlite3_close(c.meta);
    (void)sqlite3_close(c.blobs);
    return e;
}
