/* Model versions that tasks start from: each fetched once, decoded once, shared by all devices of the worker.
 *
 * A large model is there once only: the file's own memory becomes the parameters, and these are gone as soon
 * as the last task that is to start from them has them in its trainer, where they are the anchor.
 *
 * Fetching, references and the cache belong to the main thread; weights_params and weights_done are for the
 * threads that train. */
#ifndef FEDLANE_WORKER_WEIGHTS_H
#define FEDLANE_WORKER_WEIGHTS_H

#include <pthread.h>
#include "common/base/buf.h"
#include "common/crypto/sha256.h"
#include "common/model/arch.h"

enum weights_state { WEIGHTS_WANTED, WEIGHTS_LOADING, WEIGHTS_READY, WEIGHTS_FAILED };

struct weights {
    char sha256[SHA256_HEX_SIZE]; /* of the file: with the model, what they are found by */
    char *model, *url;
    struct arch *arch; /* NULL where the model could not be read */
    int refs;
    enum weights_state state;
    char code[32]; /* WEIGHTS_FAILED: what the tasks fail with, and why */
    struct fault fault;

    /* the file as it comes in */
    struct buf file;
    struct sha256 *hash;
    int tries;
    int64_t started_ns, retry_at_ns;
    double download_ms;

    pthread_mutex_t lock; /* guards what follows */
    float *params;        /* num_params, once decoded */
    enum err decode_err;
    int num_waiting; /* tasks that still want the parameters */

    struct weights *next; /* the most recently wanted first */
};

struct weights_cache {
    struct weights *first;
};

void weights_cache_release(struct weights_cache *c);
/* For a task: a reference to the weights with this digest, new ones (WEIGHTS_WANTED, or WEIGHTS_FAILED where
 * the model cannot be used) or known ones. NULL: out of memory. */
struct weights *weights_get(struct weights_cache *c, const char *sha256, const char *model, const char *url);
/* One more reference, which wants no parameters. */
void weights_ref(struct weights *w);
/* Gives a reference back; NULL is fine. What nobody refers to stays for later, as far as there is room. */
void weights_put(struct weights_cache *c, struct weights *w);
/* Frees what is only kept for later, but for small models: another version is about to be fetched. */
void weights_make_room(struct weights_cache *c);
/* Bytes that are held or being fetched for tasks at hand. */
size_t weights_bytes_in_use(const struct weights_cache *c);
size_t weights_bytes(const struct weights *w); /* of the parameters */

/* The file comes in: pieces in order. Errors end the transfer. */
enum err weights_file_begin(struct weights *w) MUST_CHECK; /* from the first byte on */
enum err weights_file_add(struct weights *w, const void *bytes, size_t n) MUST_CHECK;
/* The file is complete: digest checked. ERR_DIGEST_MISMATCH throws it away. */
enum err weights_file_end(struct weights *w) MUST_CHECK;
void weights_fail(struct weights *w, const char *code, const struct fault *fault);

/* The parameters in model order, valid until weights_done. Decodes at the first call; any thread.
 * Errors are safetensors_decode's. */
enum err weights_params(struct weights *w, const float **out_params, struct fault *fault) MUST_CHECK;
/* The task of one weights_get wants the parameters no longer; its reference stays. `was_trained`: a training
 * has begun from them. Then they go with the last task that wants them, unless they are small: who evaluated
 * them may be asked to train from them next. */
void weights_done(struct weights *w, bool was_trained);

#endif
