/* G8: 100,000 random events. Beside the scheduler a book is kept of nothing but its decisions, and after each
 * event the book must agree with what it says of itself: sum(P) + sum(lanes) <= C, no lane with two
 * iterations, nothing lost, nobody idle without need, nobody overtaken more often than allowed. */
#include "common/base/rng.h"
#include "tests/unit/lanes/lab.h"

/* ck_assert writes to a file each time that it is passed, which millions of times take minutes. */
#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            ck_abort_msg("%s", #condition);                                                                  \
    } while (0)

#define DEVICES        2
#define OVERTAKE_LIMIT 5
#define MAX_JOBS       40
#define TAGS           200000

struct entry {
    bool is_there, is_resident, is_running;
    lanes_job_id id;
    int device, lane;
    int64_t persistent, ephemeral, steps_left;
};

struct book {
    struct scheduler *s;
    struct entry *jobs;       /* [TAGS] by tag */
    uint64_t num_tags, first; /* tags below first are gone */
    uint64_t key, drawn;
    int64_t now;
    int64_t capacity[DEVICES];
    bool is_lost[DEVICES];
    int left, refused, evicted, moved;
};

static uint64_t draw(struct book *b, uint64_t below)
{
    return rng_u64(b->key, b->drawn++) % below;
}

/* -- the book
 * ------------------------------------------------------------------------------------------------ */

static void decide(void *context, const struct lanes_decision *d)
{
    struct book *b = context;
    struct entry *job = &b->jobs[d->tag];
    REQUIRE(job->is_there && (job->id == 0 || job->id == d->job));
    job->id = d->job;
    switch (d->kind) {
    case LANES_ENTER:
        REQUIRE(!job->is_resident && !b->is_lost[d->device]);
        job->is_resident = true;
        job->device = d->device;
        job->lane = d->lane;
        break;
    case LANES_MOVE:
        REQUIRE(job->is_resident && !job->is_running && job->device == d->device && job->lane != d->lane);
        job->lane = d->lane;
        b->moved++;
        break;
    case LANES_RUN:
        REQUIRE(job->is_resident && !job->is_running && job->device == d->device && job->lane == d->lane);
        job->is_running = true;
        break;
    case LANES_EVICT:
        REQUIRE(job->is_resident && !job->is_running);
        job->is_resident = false;
        b->evicted++;
        break;
    case LANES_LEAVE:
        REQUIRE(!job->is_running);
        job->is_there = job->is_resident = false;
        b->left++;
        break;
    }
}

static void ck_device(struct book *b, int d)
{
    int64_t persistent = 0, largest[LANES_MAX_LANES] = {0}, in_lanes = 0;
    size_t jobs[LANES_MAX_LANES] = {0}, running[LANES_MAX_LANES] = {0}, lanes = 0, num_running = 0, idle = 0;
    for (uint64_t t = b->first; t < b->num_tags; t++) {
        const struct entry *job = &b->jobs[t];
        if (!job->is_resident || job->device != d)
            continue;
        persistent += job->persistent;
        largest[job->lane] = job->ephemeral > largest[job->lane] ? job->ephemeral : largest[job->lane];
        jobs[job->lane]++;
        running[job->lane] += job->is_running;
    }
    for (int l = 0; l < LANES_MAX_LANES; l++) {
        REQUIRE(running[l] <= 1);
        in_lanes += largest[l];
        lanes += jobs[l] > 0;
        num_running += running[l];
        idle += jobs[l] > running[l] && running[l] == 0;
    }
    struct lanes_device_view view = scheduler_device(b->s, d);
    REQUIRE(view.persistent_bytes == persistent);
    REQUIRE(view.lane_bytes == in_lanes);
    REQUIRE(view.num_lanes == lanes);
    REQUIRE(view.num_running == num_running);
    REQUIRE(persistent + in_lanes <= view.capacity_bytes);
    /* More than is wanted only as long as running iterations need it. */
    REQUIRE(view.capacity_bytes == b->capacity[d] ||
            (view.capacity_bytes == persistent + in_lanes && num_running > 0));
    /* Work-conserving. */
    REQUIRE(num_running >= (size_t)view.concurrent || idle == 0);
}

/* No device is empty while another has a job more than it runs that could run there. */
static void ck_balance(struct book *b)
{
    size_t resident[DEVICES] = {0};
    for (uint64_t t = b->first; t < b->num_tags; t++)
        if (b->jobs[t].is_resident)
            resident[b->jobs[t].device]++;
    for (uint64_t t = b->first; t < b->num_tags; t++) {
        const struct entry *job = &b->jobs[t];
        if (!job->is_resident || job->is_running)
            continue;
        int other = 1 - job->device;
        bool would_fit = !b->is_lost[other] && job->persistent + job->ephemeral <= b->capacity[other];
        bool is_too_much = resident[job->device] > (size_t)scheduler_device(b->s, job->device).concurrent;
        /* One that has few steps left stays. */
        struct lanes_job_view view;
        REQUIRE(scheduler_job(b->s, job->id, &view));
        int64_t rest = view.request.steps - view.steps_done;
        REQUIRE(resident[other] > 0 || !would_fit || !is_too_much || (rest > 0 && rest < 3));
    }
}

static void ck_book(struct book *b)
{
    size_t there = 0;
    while (b->first < b->num_tags && !b->jobs[b->first].is_there)
        b->first++;
    for (uint64_t t = b->first; t < b->num_tags; t++)
        there += b->jobs[t].is_there;
    REQUIRE(scheduler_num_jobs(b->s) == there);
    for (int d = 0; d < DEVICES; d++)
        ck_device(b, d);
    ck_balance(b);
    for (size_t i = 0; i < there; i++)
        REQUIRE(scheduler_job_at(b->s, i).overtaken <= OVERTAKE_LIMIT);
}

/* -- events
 * -------------------------------------------------------------------------------------------------- */

/* Any job for which a flag holds; NULL where there is none. */
static struct entry *any(struct book *b, bool wants_running)
{
    uint64_t n = 0, which;
    for (uint64_t t = b->first; t < b->num_tags; t++)
        n += wants_running ? b->jobs[t].is_running : b->jobs[t].is_there;
    if (n == 0)
        return NULL;
    which = draw(b, n);
    for (uint64_t t = b->first;; t++)
        if ((wants_running ? b->jobs[t].is_running : b->jobs[t].is_there) && which-- == 0)
            return &b->jobs[t];
}

static void submit(struct book *b)
{
    const struct lanes_request r = {.tag = b->num_tags,
                                    .client = draw(b, 12),
                                    .steps = (int64_t)draw(b, 30),
                                    .persistent_bytes = (int64_t)draw(b, 70),
                                    .ephemeral_bytes = (int64_t)draw(b, 140),
                                    .priority = (int)draw(b, 5),
                                    .weight = 1 + (int)draw(b, 4)};
    struct entry *job = &b->jobs[b->num_tags];
    lanes_job_id id;
    *job = (struct entry){.is_there = true,
                          .persistent = r.persistent_bytes,
                          .ephemeral = r.ephemeral_bytes,
                          .steps_left = 1 + (int64_t)draw(b, 30)};
    b->num_tags++;
    enum err e = scheduler_submit(b->s, b->now, &r, &id, NULL);
    if (!e) {
        job->id = id;
        return;
    }
    bool fits = false;
    for (int d = 0; d < DEVICES; d++)
        fits = fits || r.persistent_bytes + r.ephemeral_bytes <= b->capacity[d];
    REQUIRE(fits ? e == ERR_UNAVAILABLE && scheduler_num_jobs(b->s) == MAX_JOBS : e == ERR_PAYLOAD_TOO_LARGE);
    job->is_there = false;
    b->refused++;
}

static void end_iteration(struct book *b)
{
    struct entry *job = any(b, true);
    int64_t took = 1 + (int64_t)draw(b, 1000);
    if (!job)
        return;
    job->is_running = false;
    b->now += took;
    scheduler_iteration_done(b->s, b->now, job->id, took, --job->steps_left <= 0);
}

static void lose(struct book *b, int d)
{
    b->is_lost[d] = true;
    for (uint64_t t = b->first; t < b->num_tags; t++)
        if (b->jobs[t].is_resident && b->jobs[t].device == d)
            b->jobs[t].is_resident = b->jobs[t].is_running = false;
    scheduler_executor_lost(b->s, b->now, d);
}

static void come_back(struct book *b, int d)
{
    b->is_lost[d] = false;
    scheduler_executor_back(b->s, b->now, d);
}

static void resize(struct book *b, int d)
{
    b->capacity[d] = 60 + (int64_t)draw(b, 200);
    scheduler_resize(b->s, b->now, d, b->capacity[d]);
}

static void one_event(struct book *b, bool may_change_policy)
{
    uint64_t kind = draw(b, 1000);
    int d = (int)draw(b, DEVICES);
    struct entry *job = any(b, false);
    if (kind < 130)
        submit(b);
    else if (kind < 150 && job)
        scheduler_cancel(b->s, b->now, job->id);
    else if (kind < 155)
        scheduler_client_died(b->s, b->now, draw(b, 12));
    else if (kind < 165)
        b->is_lost[d] ? come_back(b, d) : lose(b, d);
    else if (kind < 180)
        resize(b, d);
    else if (kind < 190 && may_change_policy)
        scheduler_set_policy(b->s, b->now, lanes_policies[1 + draw(b, 6)]);
    else if (kind < 200 && job)
        scheduler_checkpointed(b->s, job->id, (int64_t)draw(b, 10));
    else
        end_iteration(b);
}

/* Everything that fits runs to its end, and then nothing is left. */
static void drain(struct book *b)
{
    for (int d = 0; d < DEVICES; d++)
        if (b->is_lost[d])
            come_back(b, d);
    for (int i = 0; scheduler_num_jobs(b->s) > 0; i++) {
        REQUIRE(i < 100000); /* or jobs wait for ever */
        REQUIRE(any(b, true));
        end_iteration(b);
        ck_book(b);
    }
    REQUIRE((size_t)b->left + (size_t)b->refused == b->num_tags);
    for (int d = 0; d < DEVICES; d++) {
        struct lanes_device_view view = scheduler_device(b->s, d);
        REQUIRE(view.persistent_bytes == 0 && view.lane_bytes == 0 && view.num_lanes == 0);
        REQUIRE(view.capacity_bytes == b->capacity[d]);
    }
}

static void random_events(const struct lanes_policy *policy, int concurrent, int count)
{
    struct book b = {.capacity = {200, 150}, .key = rng_key(8, RNG_MISC, (uint64_t)concurrent, 0, 0)};
    const struct lanes_config config = {.max_jobs = MAX_JOBS,
                                        .num_devices = DEVICES,
                                        .capacity_bytes = {200, 150},
                                        .max_concurrent = concurrent,
                                        .overtake_limit = OVERTAKE_LIMIT,
                                        .policy = policy,
                                        .decide = decide,
                                        .context = &b};
    b.jobs = calloc(TAGS, sizeof *b.jobs);
    ck_assert_ptr_nonnull(b.jobs);
    ck_assert_int_eq(scheduler_new(&config, &b.s, NULL), ERR_OK);
    for (int i = 0; i < count; i++) {
        one_event(&b, policy != &policy_auto);
        ck_book(&b);
    }
    drain(&b);
    /* It was no idle play. */
    ck_assert_int_gt(b.left, count / 20);
    ck_assert(b.refused > 0 && b.evicted > 0 && b.moved > 0);
    scheduler_free(b.s);
    free(b.jobs);
}

START_TEST(test_g8_random_events)
{
    random_events(&policy_srtf, 1, LAB_EVENTS);
}
END_TEST

START_TEST(test_g8_random_events_with_lanes_at_once)
{
    random_events(&policy_srtf, 3, LAB_EVENTS / 10);
}
END_TEST

START_TEST(test_g8_random_events_under_auto)
{
    random_events(&policy_auto, 1, LAB_EVENTS / 25);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_g8_random_events, test_g8_random_events_with_lanes_at_once,
                                  test_g8_random_events_under_auto};
    return unit_run("lanes random", tests, sizeof tests / sizeof *tests);
}
