/* Many devices at once, each on a thread of its own, and the background on another: the same bits as one
 * after the other. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "tests/unit/core/lab.h"

#define NUM_DEVICES 6
#define SPEC                                                                                                 \
    "{\"num_rounds\": 10, \"model\": {\"init\": \"glorot_uniform\"}, \"selection\": "                        \
    "{\"devices_per_round\": 4, \"population\": 6},"                                                         \
    "\"evaluation\": {\"on\": \"all_devices\"}, \"systems\": {\"straggler_fraction\": 0.5}, \"training\": "  \
    "{\"local_epochs\": 4}}"

struct hand {
    struct lab lab; /* the same core, but memory of its own */
    int64_t ordinal;
    atomic_bool *is_over;
};

static void answer(struct lab *lab, const struct task_offer *offer)
{
    struct op_task_update op;
    struct task_report r = lab_report(lab, offer, offer->task.max_steps);
    if (offer->task.wants & WANT_EVALUATION) {
        r.eval_train_loss = 1.0 / (double)(1 + offer->task.ordinal);
        r.eval_train_examples = offer->task.num_examples;
    }
    ck_assert_int_eq(
        lab_send(lab, offer, &r, 0.1f * (float)(1 + offer->task.ordinal + offer->task.round), &op), ERR_OK);
}

static void *hand_run(void *arg)
{
    struct hand *h = arg;
    struct lab *mine = &h->lab;
    struct task_offer offer;
    struct progress progress;
    arena_init(&mine->arena, 64 * MIB);
    while (!atomic_load(h->is_over)) {
        core_seen(mine->core, "", mine->devices[h->ordinal]);
        if (!lab_claim(mine, h->ordinal, &offer)) {
            sched_yield();
            continue;
        }
        core_progress_set(mine->core, offer.task.id, &(struct progress){.steps_done = 1});
        (void)core_progress_get(mine->core, offer.task.id, &progress);
        ck_assert_int_eq(lab_directive(mine, &offer), DIRECTIVE_NONE);
        answer(mine, &offer);
    }
    arena_release(&mine->arena);
    return NULL;
}

static const char *begin(struct lab *lab)
{
    lab_open(lab);
    for (int k = 0; k < NUM_DEVICES; k++)
        ck_assert_int_eq(lab_register(lab, k, 3 + k), ERR_OK);
    return lab_submit(lab, SPEC);
}

START_TEST(test_threads_change_no_bit)
{
    struct lab lab;
    struct task_offer offer;
    char expected[SHA256_HEX_SIZE];
    const char *id = begin(&lab);
    while (lab_run(&lab, id).status != RUN_FINISHED)
        for (int k = 0; k < NUM_DEVICES; k++)
            if (lab_claim(&lab, k, &offer)) {
                answer(&lab, &offer);
                lab_advance(&lab);
            }
    memcpy(expected, lab_round(&lab, id, 10).aggregate_sha256, sizeof expected);
    lab_close(&lab);

    pthread_t threads[NUM_DEVICES];
    static struct hand hands[NUM_DEVICES];
    atomic_bool is_over = false;
    id = begin(&lab);
    for (int k = 0; k < NUM_DEVICES; k++)
        hands[k] = (struct hand){lab, k, &is_over};
    for (int k = 0; k < NUM_DEVICES; k++)
        ck_assert_int_eq(pthread_create(&threads[k], NULL, hand_run, &hands[k]), 0);
    for (;;) {
        struct arena saved = lab.arena;
        lab.arena = ARENA_INIT(MIB);
        lab_advance(&lab);
        bool is_done = lab_run(&lab, id).status == RUN_FINISHED;
        arena_release(&lab.arena);
        lab.arena = saved;
        if (is_done)
            break;
        sched_yield();
    }
    atomic_store(&is_over, true);
    for (int k = 0; k < NUM_DEVICES; k++)
        ck_assert_int_eq(pthread_join(threads[k], NULL), 0);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    ck_assert_str_eq(lab_round(&lab, id, 10).aggregate_sha256, expected);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_threads_change_no_bit};
    return unit_run("threads", tests, sizeof tests / sizeof *tests);
}
