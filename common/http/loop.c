#include <limits.h>
#include <stdlib.h>
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/http_impl.h"
#include "common/http/retry.h"

#define MAX_SPARE  16
#define LONGEST_MS ((int64_t)3600 * 1000) /* of one wait; the caller comes again */
#define NS_PER_MS  ((int64_t)1000000)

struct http_loop {
    struct http_client *client;
    CURLM *multi;
    struct http_call *first, *last; /* all calls, in the order they were started */
    size_t num_calls, num_waiting, num_running, num_cancelled;
    uint64_t num_started;
    CURL *spare[MAX_SPARE]; /* handles to use again */
    size_t num_spare;
};

enum err http_loop_new(struct http_client *client, struct http_loop **out)
{
    struct http_loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return ERR_NO_MEMORY;
    loop->client = client;
    loop->multi = curl_multi_init();
    if (!loop->multi ||
        curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, client->max_connections) != CURLM_OK) {
        http_loop_free(loop);
        return ERR_NO_MEMORY;
    }
    *out = loop;
    return ERR_OK;
}

static void list_add(struct http_loop *loop, struct http_call *call)
{
    call->prev = loop->last;
    *(loop->last ? &loop->last->next : &loop->first) = call;
    loop->last = call;
    loop->num_calls++;
}

static void list_remove(struct http_loop *loop, struct http_call *call)
{
    *(call->prev ? &call->prev->next : &loop->first) = call->next;
    *(call->next ? &call->next->prev : &loop->last) = call->prev;
    call->prev = call->next = NULL;
    loop->num_calls--;
}

/* Takes the call off its connection. */
static void end_try(struct http_loop *loop, struct http_call *call)
{
    if (call->state == CALL_WAITING)
        loop->num_waiting--;
    if (call->state != CALL_RUNNING)
        return;
    loop->num_running--;
    (void)curl_multi_remove_handle(loop->multi, call->easy);
    if (loop->num_spare < MAX_SPARE) {
        curl_easy_reset(call->easy); /* it points into the call */
        loop->spare[loop->num_spare++] = call->easy;
    } else {
        curl_easy_cleanup(call->easy);
    }
    call->easy = NULL;
}

static void finish(struct http_loop *loop, struct http_call *call, enum err e)
{
    end_try(loop, call);
    if (call->is_cancelled) {
        loop->num_cancelled--;
        e = fault_set(&call->fault, ERR_CANCELLED, NULL, "%s %.200s: given up before the reply was there",
                      call->request.method, call->url);
    }
    call->state = CALL_DONE;
    list_remove(loop, call);
    log_request_id_set(call->response.request_id);
    if (call->done)
        call->done(call->ctx, e, &call->response, &call->fault);
    log_request_id_set("");
    call_free(call);
}

static void log_retry(const struct http_call *call, int64_t wait_ms)
{
    if (!call->client->log_as)
        return;
    log_request_id_set(call->response.request_id);
    log_info(call->client->log_as, "%s %s: trying again in %.1f s: %s", call->request.method,
             call->request.path, (double)wait_ms / 1000, call->fault.detail);
    log_request_id_set("");
}

static void wait_again(struct http_loop *loop, struct http_call *call)
{
    const struct http_response *r = &call->response;
    int64_t wait_ms =
        retry_wait_ms(loop->client->retry_seed, call->nonce, r->num_tries - 1, r->retry_after_ms);
    log_retry(call, wait_ms);
    end_try(loop, call);
    call->state = CALL_WAITING;
    call->due_ns = mono_ns() + wait_ms * NS_PER_MS;
    loop->num_waiting++;
}

static void try_is_over(struct http_loop *loop, struct http_call *call, CURLcode rc)
{
    enum err e = call->is_cancelled ? ERR_CANCELLED : call_outcome(call, rc);
    const struct http_response *r = &call->response;
    bool is_last = r->num_tries >= call->request.max_tries || call->is_cancelled || call->callback_err ||
                   call->on_body_got_some;
    if (e && !is_last && retry_is_worth_it(e, r->status))
        wait_again(loop, call);
    else
        finish(loop, call, e);
}

static void begin_try(struct http_loop *loop, struct http_call *call)
{
    call_reset_response(call);
    call->response.num_tries++;
    call->easy = loop->num_spare ? loop->spare[--loop->num_spare] : curl_easy_init();
    enum err e = call->easy ? call_set_up(call, call->easy) : ERR_NO_MEMORY;
    if (!e && curl_multi_add_handle(loop->multi, call->easy) != CURLM_OK)
        e = ERR_NO_MEMORY;
    if (e) {
        curl_easy_cleanup(call->easy);
        call->easy = NULL;
        e = fault_set(&call->fault, e, NULL, "%s %.200s: not enough memory", call->request.method, call->url);
        finish(loop, call, e);
        return;
    }
    call->state = CALL_RUNNING;
    loop->num_waiting--;
    loop->num_running++;
}

/* Ends what was cancelled and starts what is due, as far as there are connections. A callback may start and
 * cancel others meanwhile, so each found call begins the search anew; true when a callback ran. */
static bool sweep(struct http_loop *loop)
{
    bool any_done = false;
    int64_t now_ns = mono_ns();
    struct http_call *call = loop->num_waiting || loop->num_cancelled ? loop->first : NULL;
    while (call) {
        struct http_call *next = call->next;
        bool may_run = call->state == CALL_WAITING && call->due_ns <= now_ns &&
                       loop->num_running < (size_t)loop->client->max_connections;
        size_t num_before = loop->num_calls;
        uint64_t started_before = loop->num_started;
        if (call->is_cancelled)
            finish(loop, call, ERR_CANCELLED);
        else if (may_run)
            begin_try(loop, call);
        bool is_changed = loop->num_calls != num_before || loop->num_started != started_before;
        any_done = any_done || is_changed;
        call = is_changed ? loop->first : next;
    }
    return any_done;
}

static bool take_messages(struct http_loop *loop)
{
    bool any = false;
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(loop->multi, &left));) {
        char *private = NULL;
        CURLcode rc = m->data.result;
        if (m->msg != CURLMSG_DONE ||
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &private) != CURLE_OK)
            continue;
        try_is_over(loop, (struct http_call *)(void *)private, rc);
        any = true;
    }
    return any;
}

static int64_t ms_until_due(const struct http_loop *loop)
{
    int64_t least = LONGEST_MS, now_ns = mono_ns();
    if (loop->num_running >= (size_t)loop->client->max_connections)
        return least;
    for (const struct http_call *call = loop->num_waiting ? loop->first : NULL; call; call = call->next) {
        int64_t ms = (call->due_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
        if (call->state == CALL_WAITING && ms < least)
            least = ms > 0 ? ms : 0;
    }
    return least;
}

static enum err of_multi(CURLMcode rc)
{
    if (rc == CURLM_OK)
        return ERR_OK;
    return rc == CURLM_OUT_OF_MEMORY ? ERR_NO_MEMORY : ERR_NETWORK;
}

static enum err perform(struct http_loop *loop, bool *any_done)
{
    int num_running;
    if (sweep(loop))
        *any_done = true;
    enum err e = of_multi(curl_multi_perform(loop->multi, &num_running));
    if (!e && take_messages(loop))
        *any_done = true;
    return e;
}

enum err http_loop_run_once(struct http_loop *loop, int64_t timeout_ms)
{
    bool any_done = false;
    enum err e = perform(loop, &any_done);
    if (e || any_done)
        return e;
    int64_t wait_ms = ms_until_due(loop);
    if (timeout_ms >= 0 && timeout_ms < wait_ms)
        wait_ms = timeout_ms;
    e = of_multi(curl_multi_poll(loop->multi, NULL, 0, (int)wait_ms, NULL));
    return e ? e : perform(loop, &any_done);
}

enum err http_loop_start(struct http_loop *loop, const struct http_request *request, http_done_fn *done,
                         void *ctx, struct http_call **out_call)
{
    struct http_call *call;
    enum err e = call_new(loop->client, request, &call);
    if (e)
        return e;
    call->done = done;
    call->ctx = ctx;
    call->nonce = loop->num_started++;
    call->state = CALL_WAITING;
    loop->num_waiting++;
    list_add(loop, call);
    if (out_call)
        *out_call = call;
    return ERR_OK;
}

void http_loop_cancel(struct http_loop *loop, struct http_call *call)
{
    if (call->is_cancelled || call->state == CALL_DONE)
        return;
    call->is_cancelled = true;
    loop->num_cancelled++;
}

void http_loop_wakeup(struct http_loop *loop)
{
    (void)curl_multi_wakeup(loop->multi);
}

size_t http_loop_num_calls(const struct http_loop *loop)
{
    return loop->num_calls;
}

void loop_end_all(struct http_loop *loop)
{
    while (loop->first) {
        http_loop_cancel(loop, loop->first);
        finish(loop, loop->first, ERR_CANCELLED);
    }
}

void http_loop_free(struct http_loop *loop)
{
    if (!loop)
        return;
    loop_end_all(loop);
    while (loop->num_spare > 0)
        curl_easy_cleanup(loop->spare[--loop->num_spare]);
    if (loop->multi)
        (void)curl_multi_cleanup(loop->multi);
    free(loop);
}
