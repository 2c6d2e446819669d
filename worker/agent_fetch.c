#include <stdio.h>
#include <stdlib.h>
#include "common/api/api.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/retry.h"
#include "worker/agent_impl.h"

/* At the same time. */
#define MAX_FETCHES 4
/* Of weights for tasks at hand; a single model may be larger. */
#define MAX_WEIGHTS_BYTES (1 * GIB)
/* A file whose digest is wrong is fetched anew this many times. */
#define MAX_TRIES 3

/* One transfer. */
struct fetch {
    struct agent *agent;
    struct weights *weights; /* a reference */
    size_t offset;           /* where it began */
    int registration;
};

void agent_submit_ready(struct agent *a, const struct weights *w)
{
    if (w->state != WEIGHTS_READY && w->state != WEIGHTS_FAILED)
        return;
    for (struct job *job = a->held; job; job = job->next_held) {
        if (job->weights == w && job->place == JOB_WAITING) {
            job->place = JOB_IN_POOL;
            a->num_computing++;
            pool_submit(a->pool, job);
        }
    }
}

static enum err on_bytes(void *ctx, const void *bytes, size_t n)
{
    struct fetch *f = ctx;
    return weights_file_add(f->weights, bytes, n);
}

static void fail(struct weights *w, const char *code, const struct fault *fault)
{
    log_warning("worker", "cannot get the weights %s: %s", w->url, fault->detail);
    weights_fail(w, code, fault);
}

static void again_later(struct agent *a, struct weights *w, int64_t retry_after_ms)
{
    w->state = WEIGHTS_WANTED;
    w->retry_at_ns = agent_retry_at_ns(a, w->tries++, retry_after_ms);
}

static void again_from_the_start(struct agent *a, struct weights *w, const struct fault *fault)
{
    buf_release(&w->file);
    if (w->tries + 1 >= MAX_TRIES)
        fail(w, "download_failed", fault);
    else
        again_later(a, w, 0);
}

static void complete(struct agent *a, struct weights *w)
{
    struct fault fault = FAULT_NONE;
    enum err e = weights_file_end(w);
    if (e == ERR_OK) {
        w->download_ms = (double)(mono_ns() - w->started_ns) / 1e6;
        log_debug("worker", "weights %s: %zu bytes in %.1f ms", w->url, w->file.len, w->download_ms);
    } else if (e == ERR_DIGEST_MISMATCH) {
        (void)fault_set(&fault, e, NULL, "%s: what came is not what the task's weights_sha256 says", w->url);
        again_from_the_start(a, w, &fault);
    } else {
        (void)fault_set(&fault, e, NULL, "%s: %s", w->url, err_name(e));
        fail(w, e == ERR_NO_MEMORY ? "out_of_memory" : "internal", &fault);
    }
}

static void on_fetched(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct fetch *f = ctx;
    struct agent *a = f->agent;
    struct weights *w = f->weights;
    bool is_resumed = f->offset > 0, has_more = w->file.len > f->offset;
    a->num_fetches--;
    if (e == ERR_CANCELLED || (e && agent_lost_token(a, e, fault, f->registration))) {
        w->state = WEIGHTS_WANTED;
    } else if (is_resumed && (response->status == 200 || response->status == 416)) {
        /* The server does not continue where we ask it to, so what came does not fit behind what we have. */
        struct fault restarted = FAULT_NONE;
        (void)fault_set(&restarted, ERR_NETWORK, NULL, "%s: the server does not continue a transfer", w->url);
        again_from_the_start(a, w, &restarted);
    } else if (!e) {
        complete(a, w);
    } else if (retry_is_worth_it(e,
                                 response->status == 200 || response->status == 206 ? 0 : response->status)) {
        if (w->tries == 0)
            log_warning("worker", "the weights %s stopped at %zu bytes, going on trying: %s", w->url,
                        w->file.len, fault->detail);
        if (has_more)
            w->tries = 0;
        again_later(a, w, response->retry_after_ms);
    } else {
        fail(w, e == ERR_NO_MEMORY ? "out_of_memory" : "download_failed", fault);
    }
    agent_submit_ready(a, w);
    weights_put(&a->weights, w);
    free(f);
}

static enum err start(struct agent *a, struct weights *w)
{
    char range[64], etag[SHA256_HEX_SIZE + 2];
    enum err e = ERR_OK;
    if (w->file.len == 0) {
        weights_make_room(&a->weights);
        w->started_ns = mono_ns();
        e = weights_file_begin(w);
    }
    struct fetch *f = calloc(1, sizeof *f);
    if (e || !f) {
        free(f);
        return e ? e : ERR_NO_MEMORY;
    }
    *f = (struct fetch){.agent = a, .weights = w, .offset = w->file.len, .registration = a->registration};
    (void)snprintf(range, sizeof range, "bytes=%zu-", f->offset);
    /* Should the server have another file by now, it sends all of it: the digest of the two would be wrong.
     */
    (void)snprintf(etag, sizeof etag, "\"%s\"", w->sha256);
    const struct http_header headers[] = {{"Range", range}, {"If-Range", etag}};
    const struct http_request request = {.path = w->url,
                                         .headers = headers,
                                         .num_headers = f->offset > 0 ? 2 : 0,
                                         .errors_are_problems = true,
                                         .on_body = on_bytes,
                                         .on_body_ctx = f};
    e = http_loop_start(a->loop, &request, on_fetched, f, NULL);
    if (e) {
        free(f);
        return e;
    }
    w->state = WEIGHTS_LOADING;
    weights_ref(w);
    a->num_fetches++;
    /* cppcheck-suppress memleak ; on_fetched frees it */
    return ERR_OK;
}

void agent_fetch_advance(struct agent *a, int64_t now_ns, int64_t *next_ns)
{
    size_t in_use = weights_bytes_in_use(&a->weights);
    if (a->is_stopping)
        return;
    for (struct weights *w = a->weights.first; w && a->num_fetches < MAX_FETCHES; w = w->next) {
        if (w->state != WEIGHTS_WANTED || w->refs == 0)
            continue;
        if (now_ns < w->retry_at_ns) {
            *next_ns = w->retry_at_ns < *next_ns ? w->retry_at_ns : *next_ns;
            continue;
        }
        if (in_use > 0 && in_use + weights_bytes(w) > MAX_WEIGHTS_BYTES)
            continue;
        if (start(a, w) == ERR_OK)
            in_use += weights_bytes(w);
        else
            again_later(a, w, 0);
    }
}
