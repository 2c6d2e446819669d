/* The trainers of the last few models that one thread worked on, so that a round costs no set-up. */
#ifndef FEDLANE_WORKER_TRAINER_CACHE_H
#define FEDLANE_WORKER_TRAINER_CACHE_H

#include "worker/trainer.h"
#include "worker/update_block.h"

/* A model made trainable on this thread. */
struct trainer_slot {
    char *model; /* its JSON text: with batch_size and optimizer, what it is found by */
    int64_t batch_size;
    enum optimizer_kind optimizer;
    struct arch *arch;
    struct trainer *trainer;
    struct update_block block; /* for what comes out of a task */
    size_t bytes;              /* of all this */
    uint64_t last_use;
};

#define TRAINER_CACHE_SLOTS 4
#define TRAINER_CACHE_BYTES (256 * MIB) /* of all slots but the one in use */

struct trainer_cache {
    const struct trainer_ops *ops;
    const struct dataset *data;
    struct trainer_slot slots[TRAINER_CACHE_SLOTS]; /* those in use come first */
    size_t num_slots;
    uint64_t uses;
};

void trainer_cache_init(struct trainer_cache *c, const struct dataset *data, const struct trainer_ops *ops);
void trainer_cache_release(struct trainer_cache *c);
/* Finds or opens, with a block that is ready; what was not used for the longest gives way. Borrowed: until
 * the next call. On an error *out_code is what the task fails with: model_unsupported, data_mismatch,
 * out_of_memory or internal. */
enum err trainer_cache_get(struct trainer_cache *c, const char *model, int64_t batch_size,
                           enum optimizer_kind optimizer, struct trainer_slot **out, const char **out_code,
                           struct fault *fault) MUST_CHECK;

#endif
