/* Workers register with their devices: who is who, which ordinal is whose, and what may change. */
#include "tests/unit/core/lab.h"

static size_t claim(struct lab *lab, const char *worker_id, int64_t max, const char *const *holding,
                    size_t num_holding, struct task_offer **out)
{
    struct op_task_claim op = {.base = {.core = lab->core, .arena = &lab->arena},
                               .worker_id = worker_id,
                               .device_id = "",
                               .max = max,
                               .holding = holding,
                               .num_holding = num_holding};
    ck_assert_int_eq(store_write_wait(lab->store, op_task_claim, &op), ERR_OK);
    *out = op.out;
    return op.out_count;
}

START_TEST(test_a_worker_is_many_devices)
{
    struct lab lab;
    struct op_worker_register op;
    struct task_offer *offers;
    lab_open(&lab);
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", DEVICE(0, 4) "," DEVICE(1, 5)), &op), ERR_OK);
    ck_assert_uint_eq(op.out_num_devices, 2);
    ck_assert_int_eq(op.out_devices[1].ordinal, 1);
    ck_assert_int_eq(op.out_devices[1].num_examples, 5);
    ck_assert_str_eq(op.out_devices[1].worker_id, op.out.id);
    struct token_row token = lab_token(&lab, op.token_sha256);
    ck_assert_int_eq(token.role, ROLE_WORKER);
    ck_assert_str_eq(token.worker_id, op.out.id);
    lab_topics_clear(&lab);
    const char *id = lab_submit(&lab, "{}");
    ck_assert(lab_was_notified(&lab, "worker", op.out.id));
    ck_assert_uint_eq(claim(&lab, op.out.id, 1, NULL, 0, &offers), 1);
    const char *held = offers[0].task.id;
    ck_assert_uint_eq(claim(&lab, op.out.id, 10, NULL, 0, &offers), 1);
    ck_assert_str_ne(offers[0].task.id, held);
    ck_assert_uint_eq(claim(&lab, op.out.id, 10, NULL, 0, &offers),
                      0); /* it says nothing: all are under way */
    /* It says that it holds one: the other was lost. */
    ck_assert_uint_eq(claim(&lab, op.out.id, 10, &held, 1, &offers), 1);
    ck_assert_str_ne(offers[0].task.id, held);
    ck_assert_int_eq(offers[0].task.attempt, 2);
    ck_assert_int_eq(lab_run(&lab, id).status, RUN_RUNNING);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_worker_that_comes_back_is_the_same)
{
    struct lab lab;
    struct op_worker_register first, again;
    struct task_offer *offers;
    lab_open(&lab);
    const char *body = WORKER("i1", DEVICE(0, 4) "," DEVICE(1, 4));
    ck_assert_int_eq(lab_enrol(&lab, body, &first), ERR_OK);
    (void)lab_submit(&lab, "{}");
    ck_assert_uint_eq(claim(&lab, first.out.id, 10, NULL, 0, &offers), 2);
    const char *task_id = offers[0].task.id;
    ck_assert_int_eq(lab_enrol(&lab, body, &again), ERR_OK);
    ck_assert_str_eq(first.out.id, again.out.id);
    for (size_t i = 0; i < 2; i++)
        ck_assert_str_eq(first.out_devices[i].id, again.out_devices[i].id);
    struct token_row token = lab_token(&lab, first.token_sha256);
    ck_assert_int_gt(token.revoked_at, 0);
    ck_assert_str_eq(token.revoked_reason, TOKEN_REASON_REPLACED);
    ck_assert_int_eq(lab_token(&lab, again.token_sha256).revoked_at, 0);
    /* Its tasks are ready again at once, with the next attempt. */
    ck_assert_uint_eq(claim(&lab, again.out.id, 10, NULL, 0, &offers), 2);
    ck_assert_str_eq(offers[0].task.id, task_id);
    ck_assert_int_eq(offers[0].task.attempt, 2);
    lab_close(&lab);
}
END_TEST

START_TEST(test_ordinals_are_given_and_guarded)
{
    struct lab lab;
    struct op_worker_register op;
    lab_open(&lab);
#define FREE_DEVICE "{\"dataset\": \"hand\", \"num_examples\": 1}"
    ck_assert_int_eq(
        lab_enrol(&lab, WORKER("i1", FREE_DEVICE "," FREE_DEVICE "," DEVICE(7, 1) "," FREE_DEVICE), &op),
        ERR_OK);
    static const int64_t expected[] = {0, 1, 7, 8};
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(op.out_devices[i].ordinal, expected[i]);
    const char *ids[] = {op.out_devices[0].id, op.out_devices[3].id};
    /* Without ordinals, too, it gets its own back. */
    ck_assert_int_eq(
        lab_enrol(&lab, WORKER("i1", FREE_DEVICE "," FREE_DEVICE "," DEVICE(7, 1) "," FREE_DEVICE), &op),
        ERR_OK);
    ck_assert_str_eq(op.out_devices[0].id, ids[0]);
    ck_assert_str_eq(op.out_devices[3].id, ids[1]);
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i2", DEVICE(9, 1) "," DEVICE(7, 1)), &op), ERR_CONFLICT);
    ck_assert_str_eq(lab.fault.field, "devices[1].ordinal");
    ck_assert_ptr_nonnull(strstr(lab.fault.detail, "ordinal 7"));
    ck_assert_int_eq(lab_register(&lab, 8, 1), ERR_CONFLICT);
    ck_assert_int_eq(lab_register(&lab, 9, 1), ERR_OK); /* the refused worker took nothing */
    lab_close(&lab);
}
END_TEST

#define NAMED_DEVICE(name) "{\"dataset\": \"hand\", \"name\": \"" name "\", \"num_examples\": 1}"

/* Who says which one it is gets that one; only then do the others take what is left. */
START_TEST(test_devices_that_say_who_they_are_come_first)
{
    struct lab lab;
    struct op_worker_register op;
    lab_open(&lab);
    ck_assert_int_eq(
        lab_enrol(&lab, WORKER("i1", FREE_DEVICE "," NAMED_DEVICE("a") "," FREE_DEVICE "," FREE_DEVICE), &op),
        ERR_OK);
    const char *first = op.out_devices[0].id, *a = op.out_devices[1].id, *third = op.out_devices[2].id,
               *last = op.out_devices[3].id;
#define ORDINAL_0 "{\"dataset\": \"hand\", \"ordinal\": 0, \"num_examples\": 1}"
    ck_assert_int_eq(
        lab_enrol(&lab, WORKER("i1", FREE_DEVICE "," FREE_DEVICE "," NAMED_DEVICE("a") "," ORDINAL_0), &op),
        ERR_OK);
    ck_assert_str_eq(op.out_devices[3].id, first);
    ck_assert_str_eq(op.out_devices[2].id, a);
    ck_assert_str_eq(op.out_devices[0].id, third);
    ck_assert_str_eq(op.out_devices[1].id, last);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_worker_that_comes_back_with_less_frees_the_rest)
{
    struct lab lab;
    struct op_worker_register op;
    lab_open(&lab);
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", DEVICE(0, 4) "," DEVICE(1, 4)), &op), ERR_OK);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 1}");
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", DEVICE(0, 4)), &op), ERR_OK);
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.failed, 1);
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i2", DEVICE(1, 4)), &op), ERR_OK);
    lab_close(&lab);
}
END_TEST

START_TEST(test_data_may_not_change_silently)
{
    struct lab lab;
    struct op_worker_register op;
    lab_open(&lab);
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", DEVICE(0, 4)), &op), ERR_OK);
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", DEVICE(0, 5)), &op), ERR_CONFLICT);
    ck_assert_str_eq(lab.fault.field, "devices[0].num_examples");
    struct op_device_patch patch = {.base = {.core = lab.core, .arena = &lab.arena},
                                    .device_id = op.out_devices[0].id,
                                    .body = lab_json("{\"num_examples\": 5, \"labels\": {\"site\": \"a\"}}")};
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", DEVICE(0, 4)), &op), ERR_OK);
    patch.device_id = op.out_devices[0].id;
    ck_assert_int_eq(store_write_wait(lab.store, op_device_patch, &patch), ERR_OK);
    ck_assert_int_eq(patch.out.num_examples, 5);
    ck_assert_str_eq(patch.out.labels, "{\"site\":\"a\"}");
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", DEVICE(0, 5)), &op), ERR_OK);
    json_decref(patch.body);
    lab_close(&lab);
}
END_TEST

static const struct {
    const char *body, *field;
    enum err err;
} bad_workers[] = {
    {"{}", "name", ERR_MISSING_FIELD},
    {"{\"name\": \"w\", \"instance_id\": \"i\"}", "devices", ERR_MISSING_FIELD},
    {"{\"name\": \"w\", \"devices\": []}", "instance_id", ERR_MISSING_FIELD},
    {WORKER("i", ""), "devices", ERR_INVALID_FIELD},
    {WORKER("", DEVICE(0, 1)), "instance_id", ERR_INVALID_FIELD},
    {WORKER("i", "5"), "devices[0]", ERR_INVALID_FIELD},
    {WORKER("i", "{\"num_examples\": 1}"), "devices[0].dataset", ERR_MISSING_FIELD},
    {WORKER("i", "{\"dataset\": \"d\"}"), "devices[0].num_examples", ERR_MISSING_FIELD},
    {WORKER("i", DEVICE(0, 1) "," DEVICE(1, -1)), "devices[1].num_examples", ERR_INVALID_FIELD},
    {WORKER("i", DEVICE(-1, 1)), "devices[0].ordinal", ERR_INVALID_FIELD},
    {WORKER("i", DEVICE(0, 1) "," DEVICE(0, 1)), "devices[1].ordinal", ERR_CONFLICT},
    {WORKER("i", "{\"dataset\": \"d\", \"num_examples\": 1, \"input\": [0]}"), "devices[0].input",
     ERR_INVALID_FIELD},
    {WORKER("i", "{\"dataset\": \"d\", \"num_examples\": 1, \"labels\": {\"a\": 1}}"), "devices[0].labels",
     ERR_INVALID_FIELD},
    {WORKER("i", "{\"dataset\": \"d\", \"num_examples\": 1, \"gpu\": 1}"), "devices[0].gpu",
     ERR_UNKNOWN_FIELD},
};

START_TEST(test_bad_registrations)
{
    struct lab lab;
    struct op_worker_register op;
    lab_open(&lab);
    for (size_t i = 0; i < sizeof bad_workers / sizeof *bad_workers; i++) {
        enum err e = lab_enrol(&lab, bad_workers[i].body, &op);
        ck_assert_msg(e == bad_workers[i].err, "%s: %s", bad_workers[i].body, err_name(e));
        ck_assert_msg(strcmp(lab.fault.field, bad_workers[i].field) == 0, "%s: \"%s\"", bad_workers[i].body,
                      lab.fault.field);
    }
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i", DEVICE(0, 1)), &op), ERR_OK);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_worker_is_many_devices,
                                  test_a_worker_that_comes_back_is_the_same,
                                  test_ordinals_are_given_and_guarded,
                                  test_devices_that_say_who_they_are_come_first,
                                  test_a_worker_that_comes_back_with_less_frees_the_rest,
                                  test_data_may_not_change_silently,
                                  test_bad_registrations};
    return unit_run("registration", tests, sizeof tests / sizeof *tests);
}
