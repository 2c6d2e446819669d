/* Writing what waits, in one transaction. */
#include <stdlib.h>
#include "server/store/sqlite/blobs.h"

/* What the flush does with an object, fixed when it begins: the object itself may change its mind meanwhile.
 */
struct job {
    struct blob_object *object;
    int write_as; /* OBJECT_... */
    int64_t size;
    bool is_in_file;
};

static size_t add_jobs(struct object_list *list, struct job *jobs, size_t count)
{
    for (struct blob_object *o = list->first; o; o = o->next) {
        /* Of an upload that runs, only what has gathered. */
        if (o->wanted == OBJECT_OPEN && !o->pending.first)
            continue;
        object_take(o);
        jobs[count++] = (struct job){o, (int)o->wanted, o->size, o->is_in_file};
    }
    return count;
}

static enum err take_jobs(struct sqlite_blobs *b, bool with_open, struct job **out, size_t *out_count)
{
    enum err e = ERR_OK;
    *out_count = 0;
    (void)pthread_mutex_lock(&b->state);
    *out = malloc((size_t)(b->num_listed + 1) * sizeof **out);
    if (!*out) {
        e = ERR_NO_MEMORY;
    } else {
        *out_count = add_jobs(&b->waiting, *out, 0);
        if (with_open)
            *out_count = add_jobs(&b->open, *out, *out_count);
    }
    (void)pthread_mutex_unlock(&b->state);
    return e;
}

static enum err write_job(struct sqlite_blobs *b, const struct job *job)
{
    int64_t first = job->object->id * CHUNKS_PER_BLOB;
    enum err e = ERR_OK;
    if (job->write_as == OBJECT_DROPPED) {
        (void)sqlite3_bind_int64(b->drop_chunks, 1, first);
        (void)sqlite3_bind_int64(b->drop_chunks, 2, first + CHUNKS_PER_BLOB - 1);
        e = db_run(b->drop_chunks, "deleting a blob");
        (void)sqlite3_bind_int64(b->drop_object, 1, job->object->id);
        return e ? e : db_run(b->drop_object, "deleting a blob");
    }
    if (job->write_as == OBJECT_ENDED || !job->is_in_file) {
        (void)sqlite3_bind_int64(b->put_object, 1, job->object->id);
        (void)sqlite3_bind_int64(b->put_object, 2, job->write_as == OBJECT_ENDED ? job->size : -1);
        e = db_run(b->put_object, "writing a blob");
    }
    for (const struct blob_chunk *c = job->object->flushing.first; c && !e; c = c->next) {
        (void)sqlite3_bind_int64(b->put_chunk, 1, first + c->offset / CHUNK_UNIT);
        int rc = sqlite3_bind_blob64(b->put_chunk, 2, c->bytes, (sqlite3_uint64)c->size, SQLITE_STATIC);
        e = rc ? db_error(b->db, rc, "writing a blob") : db_run(b->put_chunk, "writing a blob");
        (void)sqlite3_clear_bindings(b->put_chunk);
    }
    return e;
}

static enum err write_jobs(struct sqlite_blobs *b, const struct job *jobs, size_t count)
{
    if (!count)
        return ERR_OK;
    enum err e = db_run(b->begin, "beginning to write blobs");
    for (size_t i = 0; i < count && !e; i++)
        e = write_job(b, &jobs[i]);
    if (!e)
        e = db_run(b->commit, "committing blobs");
    if (e)
        db_rollback(b->db);
    return e;
}

enum err blobs_flush(struct sqlite_blobs *b, bool with_open)
{
    struct job *jobs;
    size_t count;
    enum err e = take_jobs(b, with_open, &jobs, &count);
    if (e)
        return e;
    e = write_jobs(b, jobs, count);
    (void)pthread_mutex_lock(&b->state);
    for (size_t i = 0; i < count; i++)
        object_flushed(b, jobs[i].object, jobs[i].write_as, e);
    (void)pthread_mutex_unlock(&b->state);
    free(jobs);
    return e;
}
