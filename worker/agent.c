#include "worker/agent.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/crypto/random.h"
#include "common/http/retry.h"
#include "worker/agent_impl.h"
#include "worker/upload_time.h"

/* Retries of what is asked for again and again stay this close together: 8 s at most. */
#define MAX_RETRY_STEP 5
/* Between the signal and the end. */
#define STOP_MS 5000
/* Registrations in a row after which no claim worked. */
#define MAX_REGISTRATIONS 3

/* -- jobs ------------------------------------------------------------------------------------------------ */

void agent_drop_job(struct agent *a, struct job *job)
{
    struct job **link = &a->held;
    while (*link != job)
        link = &(*link)->next_held;
    *link = job->next_held;
    a->num_held--;
    job_done_with_weights(job, false);
    weights_put(&a->weights, job->weights);
    job_free(job);
}

struct job *agent_find_job(const struct agent *a, const char *task_id, const struct job *except)
{
    struct job *job = a->held;
    while (job && (job == except || !str_eq(job->task.task_id, task_id)))
        job = job->next_held;
    return job;
}

static void collect_done(struct agent *a)
{
    for (struct job *job = pool_take_done(a->pool), *next; job; job = next) {
        next = job->next_in_pool;
        a->num_computing--;
        if (job->outcome == WORK_CANCELLED && job->is_released) {
            agent_send_release(a, job);
        } else if (job->outcome == WORK_CANCELLED || !job->report.body) {
            agent_drop_job(a, job);
        } else {
            job->place = JOB_REPORTING;
            agent_send(a, &job->report, job->is_stored, job);
        }
    }
}

/* -- what the parts ask ---------------------------------------------------------------------------------- */

void agent_give_up(struct agent *a, enum err e, const struct fault *fault)
{
    if (a->fatal.err)
        return;
    a->fatal = *fault;
    a->fatal.err = e;
}

bool agent_lost_token(struct agent *a, enum err e, const struct fault *fault, int registration)
{
    struct fault why;
    switch (e) {
    case ERR_UNAUTHORIZED:
    case ERR_TOKEN_EXPIRED:
        if (registration != a->registration)
            return true;
        if (!a->must_register && !a->is_stopping)
            log_warning("worker", "the server does not know this worker any more, registering anew: %s",
                        fault->detail);
        if (a->num_registrations >= MAX_REGISTRATIONS)
            agent_give_up(a, e, fault);
        a->must_register = true;
        return true;
    case ERR_TOKEN_REVOKED:
        (void)fault_set(&why, e, NULL, "%s revoked this worker (token_revoked): %s",
                        http_client_base_url(a->client), fault->detail);
        agent_give_up(a, e, &why);
        return true;
    case ERR_DEVICE_BUSY:
        (void)fault_set(&why, e, NULL, "another process goes on as this worker (device_busy): %s",
                        fault->detail);
        agent_give_up(a, e, &why);
        return true;
    default:
        return false;
    }
}

int64_t agent_retry_at_ns(struct agent *a, int failures, int64_t retry_after_ms)
{
    int step = failures < MAX_RETRY_STEP ? failures : MAX_RETRY_STEP;
    return mono_ns() + retry_wait_ms(a->retry_seed, a->retry_nonce++, step, retry_after_ms) * 1000000;
}

/* -- life ------------------------------------------------------------------------------------------------ */

static void on_pool_done(void *ctx)
{
    http_loop_wakeup(((struct agent *)ctx)->loop);
}

static enum err start_parts(struct agent *a, struct fault *fault)
{
    const struct agent_config *c = &a->config;
    char user_agent[64] = "fedlane-worker/";
    enum err e =
        str_copy(user_agent + strlen(user_agent), sizeof user_agent - strlen(user_agent), c->version);
    if (e)
        bug("the version is too long: %s", c->version);
    e = outbox_open(c->state->path, &a->outbox, fault);
    if (e)
        return e;
    e = random_bytes(&a->retry_seed, sizeof a->retry_seed);
    if (e)
        return fault_set(fault, e, NULL, "the system gives no random bytes");
    const struct http_config http = {.base_url = c->server_url,
                                     .user_agent = user_agent,
                                     .ca_file = c->ca_file,
                                     .cert_file = c->cert_file,
                                     .key_file = c->key_file,
                                     .retry_seed = a->retry_seed,
                                     .log_as = "worker"};
    e = http_client_new(&http, &a->client, fault);
    if (e)
        return e;
    const struct pool_config pool = {.data = c->data,
                                     .ops = c->ops,
                                     .threads = c->threads,
                                     .slowdown = c->slowdown,
                                     .outbox = a->outbox,
                                     .on_done = on_pool_done,
                                     .ctx = a};
    e = http_loop_new(a->client, &a->loop);
    if (!e)
        e = pool_new(&pool, &a->pool);
    return e ? fault_set(fault, e, NULL, "not enough memory or threads for %d trainers", c->threads) : ERR_OK;
}

enum err agent_new(const struct agent_config *config, struct agent **out, struct fault *fault)
{
    struct agent *a = calloc(1, sizeof *a);
    if (!a)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory");
    a->config = *config;
    if (!a->config.max_request_bytes)
        a->config.max_request_bytes = DEFAULT_MAX_REQUEST;
    a->upload_ms = UPLOAD_MS_START;
    atomic_init(&a->stop_requested, false);
    enum err e = start_parts(a, fault);
    if (e) {
        agent_free(a);
        return e;
    }
    *out = a;
    return ERR_OK;
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    pool_free(a->pool);
    http_loop_free(a->loop);
    agent_send_free(a);
    while (a->held)
        agent_drop_job(a, a->held);
    weights_cache_release(&a->weights);
    http_client_free(a->client);
    free(a->claim_body);
    free(a->beat_body);
    free(a->outbox);
    free(a);
}

void agent_stop(struct agent *a)
{
    atomic_store(&a->stop_requested, true);
    http_client_cancel(a->client);
    http_loop_wakeup(a->loop);
}

bool agent_is_computing(const struct agent *a)
{
    return a->num_computing > 0;
}

/* Open tasks go back to the server, but where steps were done and are welcome: those are sent. */
static void begin_stop(struct agent *a)
{
    log_info("worker", "stopping: no new tasks; %zu are open", a->num_held);
    a->is_stopping = true;
    a->stop_by_ns = mono_ns() + (int64_t)STOP_MS * 1000000;
    agent_claim_restart(a);
    for (struct job *job = a->held, *next; job; job = next) {
        int64_t steps_done = 0;
        double train_loss;
        next = job->next_held;
        if (job->place == JOB_IN_POOL)
            pool_progress(a->pool, job, &steps_done, &train_loss);
        if (job->place == JOB_WAITING)
            agent_send_release(a, job);
        else if (job->place == JOB_IN_POOL && steps_done > 0 && job->task.accept_partial)
            pool_order(a->pool, job, ORDER_RETURN, false);
        else if (job->place == JOB_IN_POOL)
            pool_order(a->pool, job, ORDER_CANCEL, true);
    }
}

/* The server takes what we hold for lost, and will offer it again. Reports are kept. */
static enum err register_anew(struct agent *a, struct fault *fault)
{
    if (a->claim)
        http_loop_cancel(a->loop, a->claim);
    if (a->beat)
        http_loop_cancel(a->loop, a->beat);
    for (struct job *job = a->held, *next; job; job = next) {
        next = job->next_held;
        if (job->place == JOB_WAITING)
            agent_drop_job(a, job);
        else if (job->place == JOB_IN_POOL)
            pool_order(a->pool, job, ORDER_CANCEL, false);
    }
    return agent_register(a, fault);
}

/* All that is due; returns how long the loop may wait. */
static int64_t advance(struct agent *a)
{
    int64_t now_ns = mono_ns(), next_ns = now_ns + (int64_t)60 * 1000000000;
    collect_done(a);
    agent_fetch_advance(a, now_ns, &next_ns);
    agent_send_advance(a, now_ns);
    agent_heartbeat_advance(a, now_ns);
    agent_claim_advance(a, now_ns);
    if (!a->beat && !a->is_stopping && a->beat_at_ns < next_ns)
        next_ns = a->beat_at_ns;
    if (!a->claim && a->claim_at_ns > now_ns && a->claim_at_ns < next_ns)
        next_ns = a->claim_at_ns;
    if (a->num_leftovers > 0 && a->leftovers_until_ns > now_ns && a->leftovers_until_ns < next_ns)
        next_ns = a->leftovers_until_ns;
    if (a->sendings && a->send_at_ns > now_ns && a->send_at_ns < next_ns)
        next_ns = a->send_at_ns;
    if (a->is_stopping && a->stop_by_ns < next_ns)
        next_ns = a->stop_by_ns;
    /* Rounded up, or the last millisecond would be spent in many turns. */
    return next_ns <= now_ns ? 0 : (next_ns - now_ns + 999999) / 1000000;
}

static bool is_finished(const struct agent *a)
{
    bool is_idle = a->num_computing == 0 && !a->sendings && a->num_releases == 0;
    return a->is_stopping && (is_idle || mono_ns() >= a->stop_by_ns);
}

enum err agent_run(struct agent *a, struct fault *fault)
{
    enum err e = agent_register(a, fault);
    if (!e)
        e = agent_send_leftovers(a, fault);
    while (!e && !a->fatal.err) {
        if (atomic_load(&a->stop_requested) && !a->is_stopping)
            begin_stop(a);
        if (a->must_register && a->is_stopping)
            break;
        if (a->must_register)
            e = register_anew(a, fault);
        if (e)
            break;
        int64_t wait_ms = advance(a);
        if (is_finished(a))
            break;
        e = http_loop_run_once(a->loop, wait_ms);
        if (e)
            e = fault_set(fault, e, NULL, "the event loop failed: %s", err_name(e));
    }
    if (e == ERR_CANCELLED && atomic_load(&a->stop_requested))
        e = ERR_OK;
    if (!e && a->fatal.err) {
        *fault = a->fatal;
        e = a->fatal.err;
    }
    if (!e && a->sendings)
        log_info("worker", "reports that the server has not taken are in %s and are sent at the next start",
                 a->outbox);
    return e;
}
