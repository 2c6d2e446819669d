/* What large updates are measured against: the same HTTP server and the same SHA-256, but a body is appended
 * to a plain file as it comes, synced after every 16 MiB and at its end. Serves PUT .../update on the port
 * that it prints, until its input ends. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/base/limits.h"
#include "server/httpd/httpd.h"
#include "server/httpd/reply.h"

#define BATCH (16 * MIB)

struct plain {
    int fd;
    pthread_mutex_t lock; /* over what follows, and the file's end */
    size_t unsynced;
};

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "bench_plain: %s\n", what);
    exit(EXIT_FAILURE);
}

static enum err sync_file(struct plain *p)
{
    p->unsynced = 0;
    return fdatasync(p->fd) == 0 ? ERR_OK : ERR_IO;
}

static enum err append(struct plain *p, const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = write(p->fd, bytes, n);
        if (done < 0)
            return ERR_IO;
        bytes += done;
        n -= (size_t)done;
        p->unsynced += (size_t)done;
    }
    return p->unsynced >= BATCH ? sync_file(p) : ERR_OK;
}

static enum err sink_open(void *ctx, struct request *rq, void **out_sink, struct fault *fault)
{
    (void)rq;
    (void)fault;
    *out_sink = ctx;
    return ERR_OK;
}

static enum err sink_write(void *sink, const void *bytes, size_t n, size_t *out_taken, struct fault *fault)
{
    struct plain *p = sink;
    (void)pthread_mutex_lock(&p->lock);
    enum err e = append(p, bytes, n);
    (void)pthread_mutex_unlock(&p->lock);
    *out_taken = n;
    return e ? fault_set(fault, e, NULL, "cannot write the file") : ERR_OK;
}

static void sink_abort(void *sink)
{
    (void)sink;
}

static enum err take(void *ctx, struct request *rq, struct fault *fault)
{
    struct plain *p = ctx;
    (void)request_sink_take(rq);
    (void)pthread_mutex_lock(&p->lock);
    enum err e = p->unsynced ? sync_file(p) : ERR_OK;
    (void)pthread_mutex_unlock(&p->lock);
    return e ? fault_set(fault, e, NULL, "cannot sync the file")
             : reply_bytes(rq, 200, "application/json", "{}", 2);
}

int main(int argc, char **argv)
{
    static const struct body_sink_ops sink = {.open = sink_open, .write = sink_write, .abort = sink_abort};
    static const struct route routes[] = {{.operation_id = "take",
                                           .method = HTTP_PUT,
                                           .path = "/api/v1/tasks/{task}/update",
                                           .body = BODY_STREAM,
                                           .sink = &sink,
                                           .handler = take}};
    struct plain p = {.lock = PTHREAD_MUTEX_INITIALIZER};
    const struct httpd_hooks hooks = {.ctx = &p};
    struct httpd_config config = {.address = "127.0.0.1"};
    struct fault fault = FAULT_NONE;
    struct httpd *h = NULL;
    if (argc != 2)
        fail("it takes the file's name");
    p.fd = open(argv[1], O_CREAT | O_WRONLY | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (p.fd < 0)
        fail("cannot make the file");
    if (waiters_new(1, &config.waiters) || httpd_start(&config, routes, 1, &hooks, &h, &fault))
        fail(fault.detail);
    (void)printf("%" PRIu16 "\n", httpd_port(h));
    (void)fflush(stdout);
    while (getchar() != EOF)
        continue;
    httpd_stop(h);
    waiters_free(config.waiters);
    (void)close(p.fd);
    return EXIT_SUCCESS;
}
