/* Where weights live: immutable byte strings with a number. What was put becomes durable at the next commit;
 * the metadata store commits the blobs before it commits the rows that name them, so a row never names a blob
 * that is not there. Blobs that no row names (a crash in between, a refused update) are orphans: `collect`
 * removes them at start. Thread-safe. */
#ifndef FEDLANE_STORE_BLOBS_H
#define FEDLANE_STORE_BLOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct blobs;
struct blob_put; /* one upload in progress; several may be open at once */

struct blob_ops {
    const char *name;
    enum err (*put_begin)(struct blobs *b, struct blob_put **out) MUST_CHECK;
    /* Any size. The bytes wait in memory and nobody waits for the disk: who may wait calls make_room first,
     * who may not asks is_full. */
    enum err (*put_write)(struct blob_put *p, const void *bytes, size_t n) MUST_CHECK;
    /* Whether n more bytes lie in memory that it has already, so that it need not wait for room. */
    bool (*put_has_room)(struct blob_put *p, size_t n);
    /* Whether as much waits for the file as all uploads together may hold; and waiting until that is written,
     * which takes as long as the disk does. An error of make_room: the disk takes nothing now. What waits
     * is not lost. */
    bool (*is_full)(struct blobs *b);
    enum err (*make_room)(struct blobs *b) MUST_CHECK;
    /* Ends the upload, frees p; *out_id > 0 is readable at once, durable after commit. An error leaves
     * nothing, or, of one that was resumed, what a put_resume finds. */
    enum err (*put_end)(struct blob_put *p, int64_t *out_id) MUST_CHECK;
    void (*put_abort)(struct blob_put *p); /* frees p; leaves nothing */
    /* An upload that goes on later, after a restart too: frees p; what was put, *out_size bytes in all, is
     * durable after commit. It cannot be read before it is resumed and ended; remove drops it. After an error
     * it can still be resumed, unless nothing is left of it. */
    enum err (*put_pause)(struct blob_put *p, int64_t *out_id, int64_t *out_size) MUST_CHECK;
    /* What is durable of it: *out_size bytes. ERR_NOT_FOUND where there is no such upload, ERR_CONFLICT where
     * it runs. */
    enum err (*put_resume)(struct blobs *b, int64_t id, struct blob_put **out, int64_t *out_size) MUST_CHECK;
    enum err (*size)(struct blobs *b, int64_t id, int64_t *out_size) MUST_CHECK; /* ERR_NOT_FOUND */
    /* Exactly n bytes from offset. ERR_NOT_FOUND, ERR_RANGE_NOT_SATISFIABLE past the end, ERR_CORRUPT where
     * the file is damaged. */
    enum err (*read)(struct blobs *b, int64_t id, int64_t offset, void *out, size_t n) MUST_CHECK;
    /* ERR_NOT_FOUND. It is gone at once, but its bytes leave the file in pieces, one with each commit: a
     * crash before the last leaves an orphan. An upload that runs, and was paused before, is dropped when it
     * is paused or ended, which then says ERR_NOT_FOUND. */
    enum err (*remove)(struct blobs *b, int64_t id) MUST_CHECK;
    /* All that was put so far, and a piece of what was removed; cheap when there is nothing. */
    enum err (*commit)(struct blobs *b) MUST_CHECK;
    /* A commit in two halves. begin starts it, on a thread of the store's own, and gives what end takes; end
     * waits until all that was put before begin is durable, and tries itself what the thread could not do. */
    int64_t (*commit_begin)(struct blobs *b);
    enum err (*commit_end)(struct blobs *b, int64_t begun) MUST_CHECK;
    bool (*has_garbage)(struct blobs *b); /* a commit would give back more of what was removed */
    /* Removes, as `remove` does, every blob for which is_named says false. Only while no upload runs. */
    enum err (*collect)(struct blobs *b, bool (*is_named)(void *ctx, int64_t id), void *ctx,
                        int64_t *out_removed) MUST_CHECK;
    int64_t (*total_bytes)(struct blobs *b);
    void (*close)(struct blobs *b); /* commits */
};

struct blobs {
    const struct blob_ops *ops;
};

enum err blobs_memory_open(struct blobs **out) MUST_CHECK;
enum err blobs_sqlite_open(const char *path, struct blobs **out, struct fault *fault) MUST_CHECK;

#endif
