/* The thread that writes out what running uploads hold, while they go on, and that goes on with a commit
 * while its caller does something else: on a disk that takes four syncs for it, the operations of a batch run
 * meanwhile. */
#include "server/store/sqlite/blobs.h"

static enum err flush(struct sqlite_blobs *b, bool with_open)
{
    (void)pthread_mutex_lock(&b->io);
    enum err e = blobs_flush(b, with_open);
    (void)pthread_mutex_unlock(&b->io);
    return e; /* it is logged; who waits tries again, and answers for it */
}

/* With `state` held, which is free meanwhile. */
static void work(struct sqlite_blobs *b)
{
    bool with_open = b->is_room_asked;
    b->is_flush_asked = b->is_room_asked = false;
    b->is_flush_running = true;
    b->is_room_running = with_open;
    (void)pthread_mutex_unlock(&b->state);
    enum err e = flush(b, with_open);
    (void)pthread_mutex_lock(&b->state);
    b->is_flush_running = b->is_room_running = false;
    if (with_open) {
        b->room_result = e;
        b->num_room_flushes++;
    }
    if (b->held_bytes >= FLUSH_BYTES)
        blob_flusher_nudge(b);
    (void)pthread_cond_broadcast(&b->flusher_changed);
}

static void *run(void *arg)
{
    struct sqlite_blobs *b = arg;
    (void)pthread_mutex_lock(&b->state);
    while (!b->is_flusher_ending) {
        if (b->is_flush_asked || b->is_room_asked)
            work(b);
        else
            (void)pthread_cond_wait(&b->flusher_changed, &b->state);
    }
    (void)pthread_mutex_unlock(&b->state);
    return NULL;
}

enum err blob_flusher_start(struct sqlite_blobs *b)
{
    (void)pthread_mutex_lock(&b->state); /* the thread reads what lies beside it */
    bool is_started = pthread_create(&b->flusher, NULL, run, b) == 0;
    b->has_flusher = is_started;
    (void)pthread_mutex_unlock(&b->state);
    return is_started ? ERR_OK : ERR_NO_MEMORY;
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

void blob_flusher_nudge(struct sqlite_blobs *b)
{
    if (b->is_room_asked || b->is_room_running || b->room_result)
        return;
    b->is_room_asked = true;
    (void)pthread_cond_broadcast(&b->flusher_changed);
}

enum err blob_flusher_make_room(struct sqlite_blobs *b)
{
    enum err e = ERR_OK;
    (void)pthread_mutex_lock(&b->state);
    while (!e && b->held_bytes >= HELD_BYTES) {
        if (!b->is_room_running)
            b->is_room_asked = true;
        (void)pthread_cond_broadcast(&b->flusher_changed);
        for (int64_t before = b->num_room_flushes; b->num_room_flushes == before;)
            (void)pthread_cond_wait(&b->flusher_changed, &b->state);
        e = b->room_result;
    }
    (void)pthread_mutex_unlock(&b->state);
    return e;
}
