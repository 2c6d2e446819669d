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
    bool is_done; /* false: of one that is dropped, more is in the file */
};

static struct job job_of(struct blob_object *o)
{
    object_take(o);
    return (struct job){o, (int)o->wanted, o->size, o->is_in_file, o->wanted != OBJECT_DROPPED};
}

static size_t add_jobs(const struct object_list *list, struct job *jobs, size_t count, size_t max)
{
    for (struct blob_object *o = list->first; o && count < max; o = o->next)
        jobs[count++] = job_of(o);
    return count;
}

/* Of uploads that run: all that some hold rather than a little of each, as each costs the transaction a page
 * that lies in the file already and is written twice. Those that are passed over are first the next time. */
static enum err add_open_jobs(struct sqlite_blobs *b, struct job *jobs, size_t *count)
{
    struct blob_object *last = b->open.last;
    int64_t bytes = 0;
    for (struct blob_object *o = b->open.first, *next; o && bytes < FLUSH_BYTES; o = next) {
        next = o == last ? NULL : o->next;
        enum err e = object_gather(b, o);
        if (e)
            return bytes ? ERR_OK : e;
        if (!o->pending.first)
            continue;
        jobs[(*count)++] = job_of(o);
        bytes += chunks_bytes(&o->flushing);
        object_move_last(b, o);
    }
    return ERR_OK;
}

static enum err take_jobs(struct sqlite_blobs *b, bool with_open, struct job **out, size_t *out_count,
                          int64_t *out_wanted)
{
    *out_count = 0;
    (void)pthread_mutex_lock(&b->state);
    *out_wanted = b->num_wanted;
    size_t max = (size_t)b->num_listed + DROP_BLOBS;
    *out = malloc(max * sizeof **out);
    enum err e = *out ? ERR_OK : ERR_NO_MEMORY;
    if (!e && with_open)
        e = add_open_jobs(b, *out, out_count);
    if (!e) {
        *out_count = add_jobs(&b->waiting, *out, *out_count, max);
        *out_count = add_jobs(&b->garbage, *out, *out_count, *out_count + DROP_BLOBS);
    } else {
        free(*out);
        *out = NULL;
    }
    (void)pthread_mutex_unlock(&b->state);
    return e;
}

static enum err put_object(struct sqlite_blobs *b, int64_t id, int64_t size)
{
    (void)sqlite3_bind_int64(b->put_object, 1, id);
    (void)sqlite3_bind_int64(b->put_object, 2, size);
    return db_run(b->put_object, "writing a blob");
}

/* Removes at most *bytes from the blob's end, but a chunk at least. What is cut short is no blob any more. */
static enum err drop_piece(struct sqlite_blobs *b, struct job *job, int64_t *bytes)
{
    int64_t id = job->object->id, first = id * CHUNKS_PER_BLOB, last = first;
    enum err e = blob_file_last_chunk(b, id, CHUNKS_PER_BLOB - 1, &last);
    if (!e) {
        int64_t start = (last - first) * CHUNK_UNIT, end = start + (int64_t)LIMIT_BLOB_CHUNK;
        end = job->size > start && job->size < end ? job->size : end;
        int64_t from = end > *bytes ? (end - *bytes + CHUNK_UNIT - 1) / CHUNK_UNIT * CHUNK_UNIT : 0;
        from = from < start ? from : start;
        (void)sqlite3_bind_int64(b->drop_chunks, 1, first + from / CHUNK_UNIT);
        (void)sqlite3_bind_int64(b->drop_chunks, 2, last);
        e = db_run(b->drop_chunks, "deleting a blob");
        *bytes -= end - from;
        job->size = from;
        if (e || from > 0)
            return e ? e : put_object(b, id, SIZE_REMOVED);
    }
    job->is_done = !e || e == ERR_NOT_FOUND;
    if (!job->is_done)
        return e;
    (void)sqlite3_bind_int64(b->drop_object, 1, id);
    return db_run(b->drop_object, "deleting a blob");
}

static enum err write_job(struct sqlite_blobs *b, const struct job *job)
{
    int64_t first = job->object->id * CHUNKS_PER_BLOB;
    enum err e = ERR_OK;
    if (job->write_as == OBJECT_ENDED || !job->is_in_file)
        e = put_object(b, job->object->id, job->write_as == OBJECT_ENDED ? job->size : SIZE_UNFINISHED);
    for (const struct blob_chunk *c = job->object->flushing.first; c && !e; c = c->next) {
        (void)sqlite3_bind_int64(b->put_chunk, 1, first + c->offset / CHUNK_UNIT);
        int rc = sqlite3_bind_blob64(b->put_chunk, 2, c->buffer.bytes, (sqlite3_uint64)c->buffer.size,
                                     SQLITE_STATIC);
        e = rc ? db_error(b->db, rc, "writing a blob") : db_run(b->put_chunk, "writing a blob");
        (void)sqlite3_clear_bindings(b->put_chunk);
    }
    return e;
}

static enum err write_jobs(struct sqlite_blobs *b, struct job *jobs, size_t count)
{
    int64_t bytes = DROP_BYTES;
    if (!count)
        return ERR_OK;
    enum err e = db_run(b->begin, "beginning to write blobs");
    for (size_t i = 0; i < count && !e; i++) {
        if (jobs[i].write_as != OBJECT_DROPPED)
            e = write_job(b, &jobs[i]);
        else if (bytes > 0)
            e = drop_piece(b, &jobs[i], &bytes);
    }
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
    int64_t wanted;
    enum err e = take_jobs(b, with_open, &jobs, &count, &wanted);
    if (e)
        return e;
    e = write_jobs(b, jobs, count);
    (void)pthread_mutex_lock(&b->state);
    if (!e && b->num_written < wanted)
        b->num_written = wanted;
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].is_done || e)
            object_flushed(b, jobs[i].object, jobs[i].write_as, e);
        else
            object_dropped_to(jobs[i].object, jobs[i].size);
    }
    (void)pthread_mutex_unlock(&b->state);
    free(jobs);
    return e;
}
