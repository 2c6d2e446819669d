/* What removing weights costs whoever commits meanwhile: the longest and the mean commit while a large blob
 * and many small ones leave the file piece by piece.
 *
 *     bench/bench_removal FOLDER [MIB]
 *
 * The folder must be empty; it is left with the file. MIB: the size of the large one (default 1024). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "server/store/blobs.h"

#define NUM_SMALL   20000
#define SMALL_BYTES 31000

static void must(const char *what, enum err e)
{
    if (!e)
        return;
    (void)fprintf(stderr, "bench_removal: %s: %s\n", what, err_name(e));
    exit(EXIT_FAILURE);
}

static int64_t put(struct blobs *b, size_t size)
{
    static char bytes[LIMIT_BLOB_CHUNK];
    struct blob_put *p;
    int64_t id;
    memset(bytes, 5, sizeof bytes);
    must("put_begin", b->ops->put_begin(b, &p));
    for (size_t at = 0, n; at < size; at += n) {
        n = size - at < sizeof bytes ? size - at : sizeof bytes;
        must("make_room", b->ops->make_room(b));
        must("put_write", b->ops->put_write(p, bytes, n));
    }
    must("put_end", b->ops->put_end(p, &id));
    return id;
}

/* Each commit has an update of its own to write, too, as while a server works. */
static void drain(struct blobs *b, const char *what)
{
    double longest = 0, sum = 0;
    int count = 0;
    for (; b->ops->has_garbage(b); count++) {
        (void)put(b, SMALL_BYTES);
        int64_t start = mono_ns();
        must("commit", b->ops->commit(b));
        double ms = (double)(mono_ns() - start) / 1e6;
        longest = ms > longest ? ms : longest;
        sum += ms;
    }
    (void)printf("%s: %d commits, %.1f ms each, the longest %.1f ms, %.1f s in all\n", what, count,
                 sum / count, longest, sum / 1e3);
}

int main(int argc, char **argv)
{
    static int64_t ids[NUM_SMALL];
    struct fault fault = FAULT_NONE;
    struct blobs *b = NULL;
    char path[4096], what[64];
    size_t mib = argc == 3 ? (size_t)strtoul(argv[2], NULL, 10) : 1024;
    if (argc < 2 || argc > 3 || !mib) {
        (void)fputs("usage: bench_removal FOLDER [MIB]\n", stderr);
        return 2;
    }
    (void)snprintf(path, sizeof path, "%s/blobs.db", argv[1]);
    if (blobs_sqlite_open(path, &b, &fault)) {
        (void)fprintf(stderr, "bench_removal: %s\n", fault.detail);
        return EXIT_FAILURE;
    }
    int64_t large = put(b, mib * MIB);
    must("commit", b->ops->commit(b));
    must("remove", b->ops->remove(b, large));
    (void)snprintf(what, sizeof what, "one blob of %zu MiB", mib);
    drain(b, what);
    for (int i = 0; i < NUM_SMALL; i++)
        ids[i] = put(b, SMALL_BYTES);
    must("commit", b->ops->commit(b));
    for (int i = 0; i < NUM_SMALL; i++)
        must("remove", b->ops->remove(b, ids[i]));
    (void)snprintf(what, sizeof what, "%d blobs of 31 KB", NUM_SMALL);
    drain(b, what);
    b->ops->close(b);
    return EXIT_SUCCESS;
}
