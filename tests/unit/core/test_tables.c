/* The core's small parts. */
#include "tests/unit/core/lab.h"

#include <math.h>
#include "server/core/budget.h"
#include "server/core/id_table.h"

START_TEST(test_an_id_table_finds_what_was_put)
{
    struct id_table t = {0};
    char id[ID_SIZE];
    ck_assert_ptr_null(id_table_find(&t, "x"));
    ck_assert_ptr_null(id_table_put(&t, ""));
    ck_assert_ptr_null(id_table_put(&t, "a text that is longer than any id can ever be"));
    id_table_remove(&t, "x");
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(id, sizeof id, "id-%d", i);
        id_table_put(&t, id)->count = i;
    }
    ck_assert_uint_eq(t.count, 1000);
    for (int i = 0; i < 1000; i += 3) {
        (void)snprintf(id, sizeof id, "id-%d", i);
        id_table_remove(&t, id);
        ck_assert_ptr_null(id_table_find(&t, id));
    }
    ck_assert_uint_eq(t.count, 666);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(id, sizeof id, "id-%d", i);
        const struct id_entry *e = id_table_find(&t, id);
        ck_assert_int_eq(e != NULL, i % 3 != 0);
        if (e)
            ck_assert_int_eq(e->count, i);
    }
    id_table_put(&t, "id-1")->count = 7; /* the same, not another */
    ck_assert_uint_eq(t.count, 666);
    id_table_release(&t);
    ck_assert_uint_eq(t.capacity, 0);
}
END_TEST

START_TEST(test_old_progress_is_forgotten)
{
    struct lab lab;
    struct progress progress;
    char id[ID_SIZE];
    lab_open(&lab);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(id, sizeof id, "task-%d", i);
        lab.clock.ms = LAB_START_MS + i;
        core_progress_set(lab.core, id, &(struct progress){.steps_done = i});
    }
    lab_wait(&lab, (int64_t)100 * 12 * 10000 - 99);
    ck_assert(!core_progress_get(lab.core, "task-0", &progress));
    ck_assert(!core_progress_get(lab.core, "task-99", &progress));
    ck_assert(core_progress_get(lab.core, "task-100", &progress));
    ck_assert(core_progress_get(lab.core, "task-199", &progress));
    ck_assert_int_eq(progress.steps_done, 199);
    lab_close(&lab);
}
END_TEST

START_TEST(test_names_go_both_ways)
{
    int64_t v;
    enum presence p;
    for (int64_t s = RUN_PENDING; s <= RUN_FINISHED; s++) {
        ck_assert_int_eq(run_status_parse(run_status_name(s), &v), ERR_OK);
        ck_assert_int_eq(v, s);
    }
    for (int64_t s = TASK_READY; s <= TASK_CANCELLED; s++) {
        ck_assert_int_eq(task_status_parse(task_status_name(s), &v), ERR_OK);
        ck_assert_int_eq(v, s);
    }
    for (int64_t role = ROLE_ADMIN; role <= ROLE_ENROLLMENT; role *= 2) {
        ck_assert_int_eq(token_role_parse(token_role_name(role), &v), ERR_OK);
        ck_assert_int_eq(v, role);
    }
    for (int i = PRESENCE_ONLINE; i <= PRESENCE_REVOKED; i++) {
        ck_assert_int_eq(presence_parse(presence_name((enum presence)i), &p), ERR_OK);
        ck_assert_int_eq((int)p, i);
    }
    ck_assert_str_eq(run_status_name(RUN_WAITING_FOR_DEVICES), "waiting_for_devices");
    ck_assert_str_eq(run_outcome_name(RUN_OUTCOME_NONE), "");
    ck_assert_str_eq(run_outcome_name(RUN_STOPPED), "stopped");
    ck_assert_str_eq(round_type_name(ROUND_FINAL), "final");
    ck_assert_str_eq(round_status_name(ROUND_AGGREGATING), "aggregating");
    ck_assert_str_eq(round_outcome_name(ROUND_SKIPPED), "skipped");
    ck_assert_str_eq(task_type_name(TASK_EVALUATE), "evaluate");
    ck_assert_str_eq(token_role_name(3), "");
    ck_assert_str_eq(run_status_name(99), "");
    ck_assert_int_eq(run_status_parse("asleep", &v), ERR_INVALID_FIELD);
    ck_assert_int_eq(run_status_parse(NULL, &v), ERR_INVALID_FIELD);
    ck_assert_int_eq(token_role_parse("root", &v), ERR_INVALID_FIELD);
    ck_assert_int_eq(presence_parse("", &p), ERR_INVALID_FIELD);
}
END_TEST

START_TEST(test_speed_is_a_moving_average)
{
    ck_assert(budget_speed(NAN, 100, 2000) == 50);
    ck_assert(fabs(budget_speed(50, 100, 1000) - 65) < 1e-12);
    ck_assert(budget_speed(50, 0, 1000) == 50);
    ck_assert(budget_speed(50, 100, 0) == 50);
    ck_assert(budget_speed(50, 100, NAN) == 50);
    ck_assert(budget_speed(50, 100, INFINITY) == 50);
    ck_assert(isnan(budget_speed(NAN, 0, 5)));
}
END_TEST

START_TEST(test_plans_are_cached_by_run_and_config)
{
    struct lab lab;
    struct plan_cache cache = {0};
    const struct plan *a, *b, *c;
    struct run_row one, two;
    lab_open(&lab);
    ck_assert_int_eq(lab_create(&lab, "{}", &one), ERR_OK);
    ck_assert_int_eq(lab_create(&lab, "{\"seed\": 2}", &two), ERR_OK);
    ck_assert_int_eq(plan_cache_get(&cache, &one, one.config, &a), ERR_OK);
    ck_assert_int_eq(plan_cache_get(&cache, &two, two.config, &b), ERR_OK);
    ck_assert_int_eq(a->spec.seed, 1);
    ck_assert_int_eq(b->spec.seed, 2);
    ck_assert_int_eq(plan_cache_get(&cache, &one, one.config, &c), ERR_OK);
    ck_assert_ptr_eq(a, c);
    ck_assert_int_eq(plan_cache_get(&cache, &one, "{\"training\": {\"learning_rate\": 0.5}}", &c), ERR_OK);
    ck_assert_ptr_ne(a, c);
    ck_assert(c->spec.training.learning_rate == 0.5);
    for (int i = 0; i < 3 * PLAN_CACHE_SIZE; i++) {
        char config[100];
        (void)snprintf(config, sizeof config, "{\"training\": {\"batch_size\": %d}}", 1 + i);
        ck_assert_int_eq(plan_cache_get(&cache, &two, config, &c), ERR_OK);
        ck_assert_int_eq(c->spec.training.batch_size, 1 + i);
    }
    ck_assert_int_eq(plan_cache_get(&cache, &one, "{\"training\": {\"batch_size\": 0}}", &c), ERR_CORRUPT);
    plan_cache_release(&cache);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_an_id_table_finds_what_was_put, test_old_progress_is_forgotten,
                                  test_names_go_both_ways, test_speed_is_a_moving_average,
                                  test_plans_are_cached_by_run_and_config};
    return unit_run("tables", tests, sizeof tests / sizeof *tests);
}
