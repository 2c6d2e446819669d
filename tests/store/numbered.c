#include "tests/store/numbered.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/store/support.h"

#define ARENA ((size_t)64 << 20)

static void make_data(int64_t seq, char *out, size_t size)
{
    size_t n = (size_t)(seq * 37 % 3000) + 1;
    n = n < size ? n : size - 1;
    memset(out, 'a' + (int)(seq % 26), n);
    out[n] = '\0';
}

enum err add_event(struct store_txn *txn, void *arg)
{
    const struct event *event = arg;
    char data[4096], type[32];
    make_data(event->seq, data, sizeof data);
    (void)snprintf(type, sizeof type, "%lld", (long long)event->blob_id);
    struct event_row row;
    record_init(RECORD_EVENT, &row);
    row.run_id = event->run_id;
    row.seq = event->seq;
    row.type = type;
    row.data = data;
    return store_insert(txn, RECORD_EVENT, &row);
}

enum err find_events(struct store_txn *txn, void *arg)
{
    struct found *found = arg;
    struct arena arena = ARENA_INIT(ARENA);
    struct event_row *rows;
    size_t count;
    enum err e =
        store_find(txn, QUERY_EVENTS_OF_RUN, &arena, 0, &rows, &count, store_text(found->run_id), store_any);
    memset(found->has, 0, sizeof found->has);
    for (size_t i = 0; !e && i < count; i++) {
        char data[4096];
        make_data(rows[i].seq, data, sizeof data);
        ck_assert_str_eq(rows[i].data, data);
        ck_assert_int_lt(rows[i].seq, (int64_t)(sizeof found->has));
        found->has[rows[i].seq] = true;
        if (found->blob_ids && rows[i].seq < (int64_t)found->max)
            found->blob_ids[rows[i].seq] = strtoll(rows[i].type, NULL, 10);
    }
    found->count = (int64_t)count;
    arena_release(&arena);
    return e;
}

enum err put_blob(struct blobs *b, int64_t seed, size_t size, int64_t *out_id)
{
    struct blob_put *put;
    enum err e = b->ops->put_begin(b, &put);
    if (e)
        return e;
    static _Thread_local unsigned char piece[65536];
    for (size_t done = 0; !e && done < size;) {
        size_t n = size - done < sizeof piece ? size - done : sizeof piece;
        make_bytes((uint64_t)seed, done, piece, n);
        e = b->ops->make_room(b);
        if (!e)
            e = b->ops->put_write(put, piece, n);
        done += n;
    }
    if (e) {
        b->ops->put_abort(put);
        return e;
    }
    return b->ops->put_end(put, out_id);
}

bool blob_is_whole(struct blobs *b, int64_t id, int64_t seed, size_t size)
{
    int64_t found = -1;
    if (b->ops->size(b, id, &found) || found != (int64_t)size)
        return false;
    unsigned char *bytes = malloc(2 * size + 1), *wanted = bytes + size;
    ck_assert_ptr_nonnull(bytes);
    make_bytes((uint64_t)seed, 0, wanted, size);
    bool is_whole = b->ops->read(b, id, 0, bytes, size) == ERR_OK && memcmp(bytes, wanted, size) == 0;
    free(bytes);
    return is_whole;
}

void check_blob(struct blobs *b, int64_t id, int64_t seed, size_t size)
{
    ck_assert_msg(blob_is_whole(b, id, seed, size), "blob %lld is not there, or not as it was",
                  (long long)id);
}

static int64_t blobs_begun;

void begin_blobs(void *ctx)
{
    struct blobs *blobs = ctx;
    blobs_begun = blobs->ops->commit_begin(blobs);
}

enum err commit_blobs(void *ctx)
{
    struct blobs *blobs = ctx;
    return blobs->ops->commit_end(blobs, blobs_begun);
}
