/* Weights in SQLite, written behind: what is put waits in memory and goes to the file when a commit needs it
 * or when much has gathered. So a small upload waits for no fsync. A transaction is never open for longer
 * than it takes to write it, and one that fails loses nothing: it is tried again at the next commit.
 *
 * All uploads together hold HELD_BYTES, and each of them less than CHUNK_UNIT besides. From FLUSH_BYTES on
 * the flusher's thread writes out what there is, while the other half fills. A commit that is begun early
 * goes on there, too, while the operations run that need it.
 *
 * Two mutexes. `io` is held by who uses the connection, through an fsync too. `state` is held for moments
 * only. Who takes both takes `io` first. */
#ifndef FEDLANE_STORE_SQLITE_BLOBS_H
#define FEDLANE_STORE_SQLITE_BLOBS_H

#include <pthread.h>
#include "common/base/limits.h"
#include "server/store/blobs.h"
#include "server/store/idmap.h"
#include "server/store/sqlite/db.h"

/* A chunk begins at a multiple of CHUNK_UNIT: its row's id is object * CHUNKS_PER_BLOB + offset / CHUNK_UNIT.
 */
#define CHUNK_UNIT      ((int64_t)32 * 1024)
#define CHUNKS_PER_BLOB (LIMIT_BLOB_BYTES / CHUNK_UNIT)

/* Memory for bytes on their way to the file, at which uploads must wait, and at which it begins to be written
 * out: one transaction has about FLUSH_BYTES. */
#define HELD_BYTES  ((int64_t)16 * 1024 * 1024)
#define FLUSH_BYTES (HELD_BYTES / 2)
/* What an upload gathers into one chunk. */
#define FULL_CHUNK ((size_t)128 * 1024)
/* What one transaction removes at most: the writer waits for it. */
#define DROP_BLOBS ((size_t)128)
#define DROP_BYTES ((int64_t)8 * 1024 * 1024)

/* Has room for CHUNK_UNIT at most, or for FULL_CHUNK. */
struct chunk_buffer {
    char *bytes;
    size_t size, capacity;
};
struct blob_chunk {
    struct blob_chunk *next;
    int64_t offset;
    struct chunk_buffer buffer;
};
struct chunk_list {
    struct blob_chunk *first, *last;
};

/* What stands in the place of a size in the file. */
#define SIZE_UNFINISHED (-1) /* an upload that runs, is paused or was cut short */
#define SIZE_REMOVED    (-2) /* its chunks are still being removed */

/* A blob whose state in the file is not yet the one it shall have. */
struct blob_object {
    struct blob_object *previous, *next; /* in its list */
    int64_t id, size;                    /* size: of one that is dropped, what may still be in the file */
    enum { OBJECT_OPEN, OBJECT_PAUSED, OBJECT_ENDED, OBJECT_DROPPED } wanted;
    bool is_removed;                     /* while it is open: to be dropped when that ends */
    bool is_in_file;                     /* has rows */
    bool is_flushing;                    /* a flush works on it: it may not be freed */
    struct chunk_buffer filling;         /* while it is open: what comes behind `size` */
    struct chunk_list flushing, pending; /* in the order of offsets; what lies before them is in the file */
};
struct object_list {
    struct blob_object *first, *last;
};

struct sqlite_blobs {
    struct blobs base;
    int lock;
    bool has_flusher; /* of the thread that opens and closes */

    pthread_mutex_t io;
    sqlite3 *db;
    sqlite3_stmt *begin, *commit, *put_object, *put_chunk, *drop_object, *drop_chunks, *find_size,
        *find_chunk, *all_ids;

    pthread_mutex_t state;
    struct idmap objects; /* all of the lists, by id */
    /* Uploads that run; what a commit must write; what commits remove, piece by piece. */
    struct object_list open, waiting, garbage;
    int64_t num_listed; /* open and waiting */
    int64_t held_bytes; /* the room of all chunks, flushing ones too, and of fillings of FULL_CHUNK */
    char *spare[HELD_BYTES / (int64_t)FULL_CHUNK]; /* buffers of FULL_CHUNK that wait for their next use */
    size_t num_spare;
    int64_t last_id, total_bytes;
    int64_t num_wanted, num_written; /* changes of what is wanted so far, and those that are in the file */

    pthread_cond_t flusher_changed;
    pthread_t flusher;
    bool is_flush_asked, is_flush_running, is_flusher_ending;
    bool is_room_asked, is_room_running; /* a flush of what running uploads hold, too */
    enum err room_result;                /* of the last one */
    int64_t num_room_flushes;
};

/* --- blob_state.c: all with `state` held --- */
/* A new object, in the list that its `wanted` says. */
enum err object_add(struct sqlite_blobs *b, const struct blob_object *values,
                    struct blob_object **out) MUST_CHECK;
/* To the end of its list. */
void object_move_last(struct sqlite_blobs *b, struct blob_object *o);
/* Changes what is wanted of it (anything but OBJECT_OPEN), and its list. One that nothing is left to do for
 * is freed. */
void object_want(struct sqlite_blobs *b, struct blob_object *o, int wanted);
/* Appends to an open one. After an error a part of the bytes may be there. */
enum err object_write(struct sqlite_blobs *b, struct blob_object *o, const void *bytes, size_t n) MUST_CHECK;
/* Makes a chunk of the first n bytes of what fills. On an error nothing has changed. */
enum err object_seal(struct sqlite_blobs *b, struct blob_object *o, size_t n) MUST_CHECK;
/* Makes a chunk of the whole units of what fills, where they count as held. */
enum err object_gather(struct sqlite_blobs *b, struct blob_object *o) MUST_CHECK;
/* What a flush takes: the chunks that wait. */
void object_take(struct blob_object *o);
/* What a flush leaves: the chunks are written, or they wait again; frees an object that is as it shall be. */
void object_flushed(struct sqlite_blobs *b, struct blob_object *o, int written_as, enum err result);
/* What a flush leaves of an object whose removal goes on. */
void object_dropped_to(struct blob_object *o, int64_t size);
/* Copies what lies in memory of [offset, offset + n) and gives how many of the n, from the start, lie in the
 * file. */
size_t object_read(const struct blob_object *o, int64_t offset, void *out, size_t n);
int64_t chunks_bytes(const struct chunk_list *list);
void objects_release(struct sqlite_blobs *b);

/* --- blob_flush.c: with `io` held and `state` free --- */
/* Writes and commits what waits, and removes a piece of what is dropped; with_open: writes what running
 * uploads have so far as well. Nothing is lost on an error. */
enum err blobs_flush(struct sqlite_blobs *b, bool with_open) MUST_CHECK;

/* --- blob_flusher.c --- */
enum err blob_flusher_start(struct sqlite_blobs *b) MUST_CHECK;
void blob_flusher_stop(struct sqlite_blobs *b); /* also where it never started */
/* As in blobs.h. */
int64_t blob_flusher_begin(struct sqlite_blobs *b);
/* False: not all of it is in the file, and the flusher does no more for it. */
bool blob_flusher_end(struct sqlite_blobs *b, int64_t begun);
/* With `state` held: begins to write out what uploads hold, unless that failed last time. */
void blob_flusher_nudge(struct sqlite_blobs *b);
/* Waits until there is room. */
enum err blob_flusher_make_room(struct sqlite_blobs *b) MUST_CHECK;

/* --- blob_put.c: uploads, as in blobs.h --- */
enum err blob_put_begin(struct blobs *base, struct blob_put **out) MUST_CHECK;
enum err blob_put_write(struct blob_put *p, const void *bytes, size_t n) MUST_CHECK;
bool blob_put_has_room(struct blob_put *p, size_t n);
enum err blob_put_end(struct blob_put *p, int64_t *out_id) MUST_CHECK;
void blob_put_abort(struct blob_put *p);
enum err blob_put_pause(struct blob_put *p, int64_t *out_id, int64_t *out_size) MUST_CHECK;
enum err blob_put_resume(struct blobs *base, int64_t id, struct blob_put **out, int64_t *out_size) MUST_CHECK;

/* --- blob_file.c: with `io` held --- */
enum err blob_file_open(struct sqlite_blobs *b, const char *path, struct fault *fault) MUST_CHECK;
void blob_file_close(struct sqlite_blobs *b);
/* Or SIZE_UNFINISHED; ERR_NOT_FOUND, also of one that is being removed. */
enum err blob_file_size(struct sqlite_blobs *b, int64_t id, int64_t *out_size) MUST_CHECK;
enum err blob_file_read(struct sqlite_blobs *b, int64_t id, int64_t offset, void *out, size_t n) MUST_CHECK;
/* The row of the last chunk that begins at or before `unit` * CHUNK_UNIT. ERR_NOT_FOUND. */
enum err blob_file_last_chunk(struct sqlite_blobs *b, int64_t id, int64_t unit, int64_t *out_row) MUST_CHECK;
/* Where the last chunk begins in the blob and how long it is; 0 and 0 without one. */
enum err blob_file_tail(struct sqlite_blobs *b, int64_t id, int64_t *out_offset,
                        int64_t *out_size) MUST_CHECK;
/* All ids in the file, those of unfinished uploads too; the caller frees them. */
enum err blob_file_ids(struct sqlite_blobs *b, int64_t **out_ids, size_t *out_count) MUST_CHECK;

#endif
