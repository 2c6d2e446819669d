/* The thread that goes on with a commit while its caller does something else: on a disk that takes four syncs
 * for it, the operations of a batch run meanwhile. */
#include "server/store/sqlite/blobs.h"

static void flush(struct sqlite_blobs *b)
{
    (void)pthread_mutex_lock(&b->io);
    enum err e = blobs_flush(b, false);
    (void)pthread_mutex_unlock(&b->io);
    (void)e; /* it is logged; who waits tries again, and answers for it */
}

static void *run(void *arg)
{
    struct sqlite_blobs *b = arg;
    (void)pthread_mutex_lock(&b->state);
    for (;;) {
        while (!b->is_flush_asked && !b->is_flusher_ending)
            (void)pthread_cond_wait(&b->flusher_changed, &b->state);
        if (b->is_flusher_ending)
            break;
        b->is_flush_asked = false;
        b->is_flush_running = true;
        (void)pthread_mutex_unlock(&b->state);
        flush(b);
        (void)pthread_mutex_lock(&b->state);
        b->is_flush_running = false;
        (void)pthread_cond_broadcast(&b->flusher_changed);
    }
    (void)pthread_mutex_unlock(&b->state);
    return NULL;
}

enum err blob_flusher_start(struct sqlite_blobs *b)
{
    b->has_flusher = pthread_create(&b->flusher, NULL, run, b) == 0;
    return b->has_flusher ? ERR_OK : ERR_NO_MEMORY;
}

void blob_flusher_stop(struct sqlite_blobs *b)
{
    if (!b->has_flusher)
        return;
    (void)pthread_mutex_lock(&b->state);
    b->is_flusher_ending = true;
    (void)pthread_cond_broadcast(&b->flusher_changed);
    (void)pthread_mutex_unlock(&b->state);
    (void)pthread_join(b->flusher, NULL);
    b->has_flusher = false;
}

int64_t blob_flusher_begin(struct sqlite_blobs *b)
{
    (void)pthread_mutex_lock(&b->state);
    int64_t begun = b->num_wanted;
    if (b->waiting.first || b->garbage.first) {
        b->is_flush_asked = true;
        (void)pthread_cond_broadcast(&b->flusher_changed);
    } else {
        b->num_written = begun;
    }
    (void)pthread_mutex_unlock(&b->state);
    return begun;
}

bool blob_flusher_end(struct sqlite_blobs *b, int64_t begun)
{
    (void)pthread_mutex_lock(&b->state);
    while (b->num_written < begun && (b->is_flush_asked || b->is_flush_running))
        (void)pthread_cond_wait(&b->flusher_changed, &b->state);
    bool is_written = b->num_written >= begun;
    (void)pthread_mutex_unlock(&b->state);
    return is_written;
}
