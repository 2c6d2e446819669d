/* Copies of a store and its blobs that fit together: fedlane.db and blobs.db of one moment. */
#ifndef FEDLANE_STORE_BACKUP_H
#define FEDLANE_STORE_BACKUP_H

#include "server/store/blobs.h"
#include "server/store/store.h"

#define STORE_FILE "fedlane.db"
#define BLOBS_FILE "blobs.db"

/* Asked now and then; false: give up (ERR_CANCELLED). */
struct backup_watch {
    bool (*goes_on)(void *ctx, int64_t done_bytes, int64_t total_bytes);
    void *ctx;
};

/* Copies both, which are in use (`from_dir` is where they lie), into to_dir, which must have neither. The
 * writer is held for 2 MiB at a time. What a crash at that moment would have left is in the copies:
 * everything acknowledged before, and every blob that a row names. The copies are on the disk at the end. */
enum err backup_online(struct store *store, struct blobs *blobs, const char *from_dir, const char *to_dir,
                       const struct backup_watch *watch, struct fault *fault) MUST_CHECK;
/* The same while nobody has them open. ERR_CONFLICT: somebody has. Leaves the schema as it is. */
enum err backup_offline(const char *from_dir, const char *to_dir, const struct backup_watch *watch,
                        struct fault *fault) MUST_CHECK;

/* Gives the space that removed rows and weights left back to the disk: writes both databases anew, each in
 * one transaction, while nobody has them open. Needs room for a second copy of the larger one meanwhile. */
enum err compact_offline(const char *dir, struct fault *fault) MUST_CHECK;

struct backup_facts {
    int64_t runs, rounds, workers, devices, models,
        updates;           /* rows; of models and updates those with weights */
    int64_t weights_bytes; /* of the models and updates */
};
/* Reads the whole of both files in `dir`, without writing there: the pages fit together, every blob that a
 * row names is there as long as the row says, and the models' bytes have their SHA-256. ERR_CORRUPT says what
 * is wrong. `watch` is told no bytes. */
enum err backup_check(const char *dir, const struct backup_watch *watch, struct backup_facts *out,
                      struct fault *fault) MUST_CHECK;

#endif
