#include "tests/unit/lanes/desk.h"
#include "common/base/limits.h"

static const char *const kinds[] = {"enter", "move", "run", "evict", "leave"};
static const char *const reasons[] = {"finished", "cancelled", "client_died", "struck", "too_large"};

static void decide(void *context, const struct lanes_decision *d)
{
    struct desk *desk = context;
    const char *comma = desk->words.len ? ", " : "";
    enum err e;
    if (d->kind == LANES_LEAVE)
        e = buf_printf(&desk->words, "%sleave %d %s", comma, (int)d->tag, reasons[d->reason]);
    else if (d->kind == LANES_EVICT)
        e = buf_printf(&desk->words, "%sevict %d", comma, (int)d->tag);
    else
        e = buf_printf(&desk->words, "%s%s %d:%d.%d", comma, kinds[d->kind], (int)d->tag, d->device, d->lane);
    ck_assert_int_eq(e, ERR_OK);
}

struct desk *desk_make(const struct lanes_policy *policy, size_t num_devices, const int64_t *capacities,
                       int max_concurrent, int overtake_limit)
{
    struct desk *d = calloc(1, sizeof *d);
    struct lanes_config config = {.max_jobs = 16,
                                  .num_devices = num_devices,
                                  .max_concurrent = max_concurrent,
                                  .overtake_limit = overtake_limit,
                                  .policy = policy,
                                  .decide = decide,
                                  .context = d};
    struct fault fault = FAULT_NONE;
    ck_assert_ptr_nonnull(d);
    d->next_tag = 1;
    buf_init(&d->words, 64 * KIB);
    for (size_t i = 0; i < num_devices; i++)
        config.capacity_bytes[i] = capacities[i];
    enum err e = scheduler_new(&config, &d->s, &fault);
    ck_assert_msg(!e, "%s", fault.detail);
    return d;
}

void desk_free(struct desk *d)
{
    scheduler_free(d->s);
    buf_release(&d->words);
    free(d);
}

struct lanes_request desk_request(int64_t persistent, int64_t ephemeral)
{
    return (struct lanes_request){
        .steps = 10, .persistent_bytes = persistent, .ephemeral_bytes = ephemeral, .weight = 1};
}

lanes_job_id desk_submit(struct desk *d, int64_t persistent, int64_t ephemeral)
{
    struct lanes_request r = desk_request(persistent, ephemeral);
    struct fault fault = FAULT_NONE;
    lanes_job_id id;
    r.tag = r.client = d->next_tag++;
    enum err e = scheduler_submit(d->s, d->now, &r, &id, &fault);
    ck_assert_msg(!e, "%s", fault.detail);
    ck_assert_uint_eq(id, r.tag);
    return id;
}

void desk_step(struct desk *d, lanes_job_id id)
{
    d->now += 10;
    scheduler_iteration_done(d->s, d->now, id, 10, false);
}

void desk_last_step(struct desk *d, lanes_job_id id)
{
    d->now += 10;
    scheduler_iteration_done(d->s, d->now, id, 10, true);
}

void desk_said(struct desk *d, const char *words)
{
    ck_assert_str_eq(d->words.len ? d->words.data : "", words);
    buf_clear(&d->words);
    if (d->words.data)
        d->words.data[0] = '\0';
}
