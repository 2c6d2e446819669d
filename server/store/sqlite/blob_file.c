/* The connection to the file of blobs, and reading from it. */
#include <stdlib.h>
#include "common/base/log.h"
#include "server/store/sqlite/blobs.h"
#include "server/store/sqlite/migrate.h"

#define APPLICATION_ID 0x464c626c /* "FLbl" */

/* secure_delete, which some builds have on, would write every freed page again. */
static const char pragmas[] = "PRAGMA page_size = 32768;"
                              "PRAGMA locking_mode = EXCLUSIVE;"
                              "PRAGMA journal_mode = PERSIST;"
                              "PRAGMA synchronous = FULL;"
                              "PRAGMA secure_delete = OFF;"
                              "PRAGMA trusted_schema = OFF;"
                              "PRAGMA temp_store = MEMORY;"
                              "PRAGMA cache_size = -4096;"
                              "PRAGMA journal_size_limit = 67108864;";

static enum err prepare_statements(struct sqlite_blobs *b)
{
    const struct {
        const char *sql;
        sqlite3_stmt **stmt;
    } list[] = {
        {"BEGIN IMMEDIATE", &b->begin},
        {"COMMIT", &b->commit},
        /* A commit that reported an error may have reached the disk all the same: writing it again must do no
           harm. */
        {"INSERT INTO object (id, size) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET size = ?2",
         &b->put_object},
        {"INSERT OR REPLACE INTO chunk (id, data) VALUES (?1, ?2)", &b->put_chunk},
        {"DELETE FROM object WHERE id = ?1", &b->drop_object},
        {"DELETE FROM chunk WHERE id BETWEEN ?1 AND ?2", &b->drop_chunks},
        {"SELECT size FROM object WHERE id = ?1", &b->find_size},
        {"SELECT id FROM chunk WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1", &b->find_chunk},
        {"SELECT id FROM object ORDER BY id", &b->all_ids},
    };
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof list / sizeof list[0] && !e; i++)
        e = db_prepare(b->db, list[i].sql, list[i].stmt);
    return e;
}

enum err blob_file_open(struct sqlite_blobs *b, const char *path, struct fault *fault)
{
    enum err e = db_open_at(PACE_AHEAD, path, pragmas, &b->db, fault);
    if (e)
        return e;
    e = migrate(b->db, path, APPLICATION_ID, sql_blob_migrations, sql_blob_migrations_count, fault);
    if (e)
        return e;
    e = prepare_statements(b);
    if (!e)
        e = db_int(b->db, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'object'",
                   &b->last_id);
    if (!e)
        e = db_int(b->db, "SELECT coalesce(sum(size), 0) FROM object WHERE size > 0", &b->total_bytes);
    return e ? fault_set(fault, e, NULL, "cannot read %s: %s", path, sqlite3_errmsg(b->db)) : ERR_OK;
}

void blob_file_close(struct sqlite_blobs *b)
{
    sqlite3_stmt *stmt;
    while (b->db && (stmt = sqlite3_next_stmt(b->db, NULL)))
        (void)sqlite3_finalize(stmt);
    db_close(b->db);
}

/* The first column of the first row. */
static enum err query_int(struct sqlite_blobs *b, sqlite3_stmt *stmt, int64_t *out)
{
    int rc = sqlite3_step(stmt);
    enum err e = rc == SQLITE_DONE ? ERR_NOT_FOUND : db_error(b->db, rc, "looking for a blob");
    if (!e)
        *out = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_reset(stmt);
    return e;
}

enum err blob_file_size(struct sqlite_blobs *b, int64_t id, int64_t *out_size)
{
    (void)sqlite3_bind_int64(b->find_size, 1, id);
    enum err e = query_int(b, b->find_size, out_size);
    return !e && *out_size == SIZE_REMOVED ? ERR_NOT_FOUND : e;
}

enum err blob_file_last_chunk(struct sqlite_blobs *b, int64_t id, int64_t unit, int64_t *out_row)
{
    int64_t first = id * CHUNKS_PER_BLOB;
    (void)sqlite3_bind_int64(b->find_chunk, 1, first);
    (void)sqlite3_bind_int64(b->find_chunk, 2, first + unit);
    return query_int(b, b->find_chunk, out_row);
}

enum err blob_file_tail(struct sqlite_blobs *b, int64_t id, int64_t *out_offset, int64_t *out_size)
{
    sqlite3_blob *chunk = NULL;
    int64_t row = 0;
    *out_offset = *out_size = 0;
    enum err e = blob_file_last_chunk(b, id, CHUNKS_PER_BLOB - 1, &row);
    if (e)
        return e == ERR_NOT_FOUND ? ERR_OK : e;
    e = db_error(b->db, sqlite3_blob_open(b->db, "main", "chunk", "data", row, 0, &chunk), "opening a chunk");
    if (!e) {
        *out_offset = (row - id * CHUNKS_PER_BLOB) * CHUNK_UNIT;
        *out_size = sqlite3_blob_bytes(chunk);
    }
    (void)sqlite3_blob_close(chunk);
    return e;
}

static enum err damaged(int64_t id, int64_t offset)
{
    log_error("store", "blob %lld lacks the bytes at %lld: its file is damaged", (long long)id,
              (long long)offset);
    return ERR_CORRUPT;
}

enum err blob_file_read(struct sqlite_blobs *b, int64_t id, int64_t offset, void *out, size_t n)
{
    if (!n)
        return ERR_OK;
    int64_t row = 0;
    enum err e = blob_file_last_chunk(b, id, offset / CHUNK_UNIT, &row);
    if (e)
        return e == ERR_NOT_FOUND ? damaged(id, offset) : e;
    sqlite3_blob *chunk = NULL;
    int rc = sqlite3_blob_open(b->db, "main", "chunk", "data", row, 0, &chunk);
    while (!rc) {
        int64_t start = (row - id * CHUNKS_PER_BLOB) * CHUNK_UNIT, size = sqlite3_blob_bytes(chunk);
        int64_t skip = offset - start, take = size - skip;
        if (take <= 0) {
            e = damaged(id, offset);
            break;
        }
        take = take < (int64_t)n ? take : (int64_t)n;
        rc = sqlite3_blob_read(chunk, out, (int)take, (int)skip);
        out = (char *)out + take;
        offset += take;
        n -= (size_t)take;
        if (rc || !n)
            break;
        row = id * CHUNKS_PER_BLOB + offset / CHUNK_UNIT;
        rc = sqlite3_blob_reopen(chunk, row);
        if (rc == SQLITE_ERROR) { /* there is no such row */
            e = damaged(id, offset);
            break;
        }
    }
    if (!e)
        e = db_error(b->db, rc, "reading a blob");
    (void)sqlite3_blob_close(chunk);
    return e;
}

enum err blob_file_ids(struct sqlite_blobs *b, int64_t **out_ids, size_t *out_count)
{
    int64_t *ids = NULL;
    size_t count = 0, capacity = 0;
    enum err e = ERR_OK;
    int rc = SQLITE_ROW;
    while (!e && (rc = sqlite3_step(b->all_ids)) == SQLITE_ROW) {
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            int64_t *grown = realloc(ids, capacity * sizeof *ids);
            if (!grown) {
                e = ERR_NO_MEMORY;
                break;
            }
            ids = grown;
        }
        ids[count++] = sqlite3_column_int64(b->all_ids, 0);
    }
    if (!e)
        e = db_error(b->db, rc, "listing the blobs");
    (void)sqlite3_reset(b->all_ids);
    if (e) {
        free(ids);
        return e;
    }
    *out_ids = ids;
    *out_count = count;
    return ERR_OK;
}
