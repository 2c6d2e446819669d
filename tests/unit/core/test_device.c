/* Devices: revocation, tokens, presence, and what runs make of them. */
#include "tests/unit/core/lab.h"

START_TEST(test_a_revoked_device_fails_its_task_and_another_takes_its_place)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 3}");
    struct op_revoke op = {.base = {.core = lab.core, .arena = &lab.arena}, .id = lab.devices[1]};
    ck_assert_int_eq(store_write_wait(lab.store, op_device_revoke, &op), ERR_OK);
    ck_assert_int_eq(store_write_wait(lab.store, op_device_revoke, &op), ERR_OK);
    ck_assert(!lab_claim(&lab, 1, &offer));
    lab_work(&lab, 0, 1, 0);
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.received, 1);
    ck_assert_int_eq(round.failed, 1);
    /* Nobody is there for ordinal 1: its next task fails at once, and the round needs no clock. */
    ck_assert_int_eq(lab_round(&lab, id, 1).failed, 1);
    ck_assert_int_eq(lab_register(&lab, 1, 6), ERR_OK);
    lab_work(&lab, 0, 1, 0);
    ck_assert(lab_claim(&lab, 1, &offer)); /* round 2 has the new device, with its own size */
    ck_assert_int_eq(offer.task.round, 2);
    ck_assert_int_eq(offer.task.num_examples, 6);
    lab_answer(&lab, &offer, 1, 0);
    lab_work(&lab, 0, 1, 0);
    ck_assert_int_eq(lab_round(&lab, id, 2).received, 2);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_revoked_worker_ends_with_all_it_has)
{
    struct lab lab;
    struct op_worker_register op;
    lab_open(&lab);
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", DEVICE(0, 4) "," DEVICE(1, 4)), &op), ERR_OK);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 1}");
    struct op_revoke revoke = {.base = {.core = lab.core, .arena = &lab.arena}, .id = op.out.id};
    ck_assert_int_eq(store_write_wait(lab.store, op_worker_revoke, &revoke), ERR_OK);
    ck_assert_int_gt(lab_token(&lab, op.token_sha256).revoked_at, 0);
    lab_advance(&lab);
    ck_assert_int_eq(lab_round(&lab, id, 0).failed, 2);
    ck_assert_int_eq(lab_round(&lab, id, 0).outcome, ROUND_SKIPPED);
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", DEVICE(0, 4)), &op), ERR_FORBIDDEN);
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i2", DEVICE(0, 4)), &op), ERR_OK);
    revoke.id = "nobody";
    ck_assert_int_eq(store_write_wait(lab.store, op_worker_revoke, &revoke), ERR_NOT_FOUND);
    lab_close(&lab);
}
END_TEST

START_TEST(test_tokens)
{
    struct lab lab;
    lab_open(&lab);
    struct op_token_create op = {.base = {.core = lab.core, .arena = &lab.arena, .caller = "root"},
                                 .name = "ci",
                                 .role = ROLE_OPERATOR,
                                 .token_sha256 = lab_secret(&lab)};
    ck_assert_int_eq(store_write_wait(lab.store, op_token_create, &op), ERR_OK);
    ck_assert_str_eq(op.out.created_by, "root");
    const char *token_id = op.out.id;
    ck_assert_int_eq(store_write_wait(lab.store, op_token_create, &op), ERR_CONFLICT);
    struct op_token_create bad = op;
    bad.token_sha256 = "short";
    ck_assert_int_eq(store_write_wait(lab.store, op_token_create, &bad), ERR_INVALID_FIELD);
    bad.token_sha256 = lab_secret(&lab);
    bad.role = 3;
    ck_assert_int_eq(store_write_wait(lab.store, op_token_create, &bad), ERR_INVALID_FIELD);
    bad.role = ROLE_VIEWER;
    bad.expires_at = lab.clock.ms;
    ck_assert_int_eq(store_write_wait(lab.store, op_token_create, &bad), ERR_INVALID_FIELD);
    struct op_revoke revoke = {.base = {.core = lab.core, .arena = &lab.arena}, .id = token_id};
    ck_assert_int_eq(store_write_wait(lab.store, op_token_revoke, &revoke), ERR_OK);
    int64_t at = lab_token(&lab, op.token_sha256).revoked_at;
    ck_assert_int_eq(at, lab.clock.ms);
    lab.clock.ms += 5;
    ck_assert_int_eq(store_write_wait(lab.store, op_token_revoke, &revoke), ERR_OK);
    ck_assert_int_eq(lab_token(&lab, op.token_sha256).revoked_at, at);
    lab_close(&lab);
}
END_TEST

static enum err get_device(struct store_txn *txn, void *arg)
{
    static struct arena arena = ARENA_INIT(MIB);
    return store_get(txn, RECORD_DEVICE, &arena, arg);
}

static struct device_row device(struct lab *lab, int64_t ordinal)
{
    struct device_row row;
    record_init(RECORD_DEVICE, &row);
    row.id = lab->devices[ordinal];
    ck_assert_int_eq(lab->store->ops->read(lab->store, get_device, &row), ERR_OK);
    return row;
}

START_TEST(test_silence_is_suspect_then_offline_and_a_word_is_online)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 1, 4);
    struct device_row d = device(&lab, 0);
    ck_assert_int_eq(core_device_presence(lab.core, &d), PRESENCE_ONLINE);
    lab_wait(&lab, 30000);
    ck_assert_int_eq(core_device_presence(lab.core, &d), PRESENCE_ONLINE);
    lab_topics_clear(&lab);
    lab_wait(&lab, 1);
    ck_assert_int_eq(core_device_presence(lab.core, &d), PRESENCE_SUSPECT);
    ck_assert(lab_was_notified(&lab, "events", "")); /* device_status, by the clock alone */
    core_seen(lab.core, "", d.id);
    ck_assert_int_eq(core_device_presence(lab.core, &d), PRESENCE_ONLINE);
    ck_assert_int_eq(core_device_last_seen(lab.core, &d), lab.clock.ms);
    lab_wait(&lab, 120001);
    ck_assert_int_eq(core_device_presence(lab.core, &d), PRESENCE_OFFLINE);
    lab_restart(&lab);
    d = device(&lab, 0);
    ck_assert_int_eq(core_device_presence(lab.core, &d), PRESENCE_OFFLINE);
    d.revoked_at = 1;
    ck_assert_int_eq(core_device_presence(lab.core, &d), PRESENCE_REVOKED);
    lab_close(&lab);
}
END_TEST

START_TEST(test_being_seen_survives_a_restart)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 1, 4);
    struct device_row d = device(&lab, 0);
    for (int i = 0; i < 12; i++) {
        core_seen(lab.core, "", d.id);
        lab_wait(&lab, 10000);
    }
    lab_restart(&lab);
    d = device(&lab, 0);
    ck_assert_int_ge(d.last_seen_at, lab.clock.ms - 70000); /* written now and then */
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_device_is_online_with_its_worker)
{
    struct lab lab;
    struct op_worker_register op;
    lab_open(&lab);
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", DEVICE(0, 4)), &op), ERR_OK);
    lab_wait(&lab, 50000);
    ck_assert_int_eq(core_worker_presence(lab.core, &op.out), PRESENCE_SUSPECT);
    ck_assert_int_eq(core_device_presence(lab.core, &op.out_devices[0]), PRESENCE_SUSPECT);
    core_seen(lab.core, op.out.id, "");
    ck_assert_int_eq(core_worker_presence(lab.core, &op.out), PRESENCE_ONLINE);
    ck_assert_int_eq(core_device_presence(lab.core, &op.out_devices[0]), PRESENCE_ONLINE);
    lab_close(&lab);
}
END_TEST

#define REASON(lab, id) lab_run(lab, id).status_reason

START_TEST(test_waiting_says_for_what)
{
    struct lab lab;
    lab_open(&lab);
    const char *many = lab_submit(&lab, "{\"selection\": {\"population\": 40}}");
    const char *any = lab_submit(&lab, "{\"selection\": {\"population\": null, \"devices_per_round\": 3}}");
    const char *nameless = lab_submit(&lab, "{\"dataset\": null, \"selection\": {\"population\": 2}}");
    const char *labelled =
        lab_submit(&lab, "{\"selection\": {\"population\": 2, \"require_labels\": {\"site\": \"a\"}}}");
    ck_assert_str_eq(REASON(&lab, nameless),
                     "waiting for devices: none is registered, and the run names no dataset");
    ck_assert_int_eq(lab_register(&lab, 0, 4), ERR_OK);
    ck_assert_int_eq(lab_register(&lab, 2, 4), ERR_OK);
    ck_assert_str_eq(
        REASON(&lab, many),
        "waiting for devices: 2 of 40 of dataset \"hand\" registered; missing ordinals 1, 3, 4, 5, "
        "6, 7, 8, 9, ...");
    ck_assert_str_eq(REASON(&lab, any),
                     "waiting for devices: 2 of at least 3 of dataset \"hand\" registered");
    ck_assert_str_eq(REASON(&lab, nameless),
                     "waiting for devices: 1 of 2 of dataset \"hand\" registered; missing ordinals 1");
    ck_assert_str_eq(REASON(&lab, labelled), "waiting for devices: 0 of 2 of dataset \"hand\" registered "
                                             "with the required labels; missing ordinals 0, 1");
    ck_assert_int_eq(lab_register(&lab, 1, 4), ERR_OK);
    ck_assert_int_eq(lab_run(&lab, nameless).status, RUN_RUNNING);
    ck_assert_str_eq(lab_run(&lab, nameless).dataset, "hand");
    ck_assert_int_eq(lab_run(&lab, any).status, RUN_RUNNING);
    ck_assert_int_eq(lab_run(&lab, any).population, 3);
    ck_assert_int_eq(lab_run(&lab, any).is_deterministic, 0); /* whoever was there */
    ck_assert_int_eq(lab_run(&lab, many).status, RUN_WAITING_FOR_DEVICES);
    for (int k = 0; k < 2; k++) {
        struct op_device_patch patch = {.base = {.core = lab.core, .arena = &lab.arena},
                                        .device_id = lab.devices[k],
                                        .body =
                                            lab_json("{\"labels\": {\"site\": \"a\", \"os\": \"debian\"}}")};
        ck_assert_int_eq(store_write_wait(lab.store, op_device_patch, &patch), ERR_OK);
        json_decref(patch.body);
        lab_advance(&lab);
    }
    ck_assert_int_eq(lab_run(&lab, labelled).status, RUN_RUNNING);
    ck_assert_uint_eq(lab_count_events(&lab, any, "devices_frozen"), 1);
    ck_assert_uint_ge(lab_count_events(&lab, any, "run_waiting"), 2);
    lab_close(&lab);
}
END_TEST

#define HASH_A "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define HASH_B "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define TELLING(k, hash)                                                                                     \
    "{\"dataset\": \"hand\", \"name\": \"d" #k "\", \"ordinal\": " #k ", \"num_examples\": 4, "              \
    "\"num_test_examples\": 2, \"capabilities\": {\"vocabulary_sha256\": \"" hash "\"}}"

/* All devices of a run mean the same by a token: what the model names, else what the first of them has. */
START_TEST(test_devices_of_another_vocabulary)
{
    struct lab lab;
    struct op_worker_register op;
    struct task_offer offer;
    lab_open(&lab);
    ck_assert_int_eq(lab_register(&lab, 0, 4), ERR_OK); /* tells nothing, and fits */
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", TELLING(1, HASH_A) ", " TELLING(2, HASH_B)), &op), ERR_OK);
    const char *fixed = lab_submit(&lab, "{\"selection\": {\"population\": 3, \"devices_per_round\": 3}}");
    const char *all = lab_submit(&lab, "{\"selection\": {\"population\": null, \"devices_per_round\": 3}}");
    const char *named =
        lab_submit(&lab, "{\"model\": {\"vocabulary\": \"sha256:" HASH_B
                         "\"}, \"selection\": {\"population\": null, \"devices_per_round\": 2}}");
    lab_advance(&lab);
    struct run_row run = lab_run(&lab, fixed);
    ck_assert_int_eq(run.status, RUN_FINISHED);
    ck_assert_int_eq(run.outcome, RUN_FAILED);
    ck_assert_str_eq(
        run.status_reason,
        "device \"d2\" (ordinal 2) has another vocabulary (SHA-256 e3b0c44298fc...) than device \"d1\" "
        "(ordinal 1) (ba7816bf8f01...): a token would stand for something else there. Give both the "
        "same: `fedlane data vocabulary` prints that of data, for data.vocabulary or model.vocabulary");
    ck_assert_uint_eq(lab_count_events(&lab, fixed, "round_opened"), 0);
    ck_assert_int_eq(lab_run(&lab, all).status, RUN_WAITING_FOR_DEVICES);
    ck_assert_ptr_nonnull(strstr(REASON(&lab, all), "2 of at least 3 of dataset \"hand\" registered; device "
                                                    "\"d2\" (ordinal 2) has another vocabulary"));
    ck_assert_int_eq(lab_run(&lab, named).status, RUN_RUNNING);
    ck_assert_int_eq(lab_run(&lab, named).population, 2);
    json_t *warning = lab_event(&lab, named, "warning");
    const char *said = json_string_value(json_object_get(warning, "detail"));
    ck_assert_msg(said && strstr(said, "goes without 1 of the devices") &&
                      strstr(said, "\"d1\" (ordinal 1)") &&
                      strstr(said, "than the run's model (e3b0c44298fc...)"),
                  "%s", said);
    json_decref(warning);
    ck_assert(lab_claim(&lab, 0, &offer));
    lab_close(&lab);
}
END_TEST

static void tell_vocabulary(struct lab *lab, int k, const char *body)
{
    struct op_device_patch patch = {.base = {.core = lab->core, .arena = &lab->arena},
                                    .device_id = lab->devices[k],
                                    .body = lab_json(body)};
    ck_assert_int_eq(store_write_wait(lab->store, op_device_patch, &patch), ERR_OK);
    json_decref(patch.body);
}
#define TELLS(hash) "{\"capabilities\": {\"vocabulary_sha256\": \"" hash "\"}}"

/* Its worker was started again with other data while a run went on. */
START_TEST(test_a_device_comes_back_with_another_vocabulary)
{
    struct lab lab;
    struct task_row *tasks;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    for (int k = 0; k < 2; k++)
        tell_vocabulary(&lab, k, TELLS(HASH_A));
    const char *run = lab_submit(&lab, "{\"selection\": {\"population\": 2, \"devices_per_round\": 2}}");
    lab_advance(&lab);
    ck_assert_int_eq(lab_run(&lab, run).status, RUN_RUNNING);
    tell_vocabulary(&lab, 1, TELLS(HASH_B));
    ck_assert_uint_eq(lab_tasks(&lab, run, 0, &tasks), 2);
    for (int k = 0; k < 2; k++)
        lab_work(&lab, k, 1, 1);
    lab_advance(&lab);
    ck_assert_uint_eq(lab_tasks(&lab, run, 1, &tasks), 2);
    ck_assert_int_eq(tasks[0].status, TASK_READY);
    ck_assert_int_eq(tasks[1].status, TASK_FAILED);
    ck_assert_str_eq(tasks[1].code, "other_data");
    ck_assert_ptr_nonnull(strstr(tasks[1].detail, "(ordinal 1) has another vocabulary"));
    ck_assert_uint_eq(lab_count_events(&lab, run, "warning"), 1);
    ck_assert_int_eq(lab_run(&lab, run).is_deterministic, 0);
    lab_close(&lab);
}
END_TEST

START_TEST(test_several_datasets_need_a_name)
{
    struct lab lab;
    struct op_worker_register op;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    ck_assert_int_eq(lab_enrol(&lab, WORKER("i1", "{\"dataset\": \"other\", \"num_examples\": 1}"), &op),
                     ERR_OK);
    const char *id = lab_submit(&lab, "{\"dataset\": null}");
    ck_assert_int_eq(lab_run(&lab, id).status, RUN_WAITING_FOR_DEVICES);
    ck_assert_ptr_nonnull(strstr(REASON(&lab, id), "several"));
    lab_close(&lab);
}
END_TEST

START_TEST(test_devices_whose_data_do_not_fit_fail_the_run)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4); /* 2 features, 2 classes */
    const char *id = lab_submit(&lab, "{\"model\": {\"input\": [3]}}");
    struct run_row run = lab_run(&lab, id);
    ck_assert_int_eq(run.outcome, RUN_FAILED);
    ck_assert_ptr_nonnull(strstr(run.status_reason, "2 features"));
    ck_assert_ptr_nonnull(strstr(run.status_reason, "takes 3"));
    /* Without a population others may come that fit, so it waits. */
    id = lab_submit(
        &lab,
        "{\"model\": {\"input\": [3]}, \"selection\": {\"population\": null, \"devices_per_round\": 1}}");
    ck_assert_int_eq(lab_run(&lab, id).status, RUN_WAITING_FOR_DEVICES);
    ck_assert_ptr_nonnull(
        strstr(REASON(&lab, id), "0 of at least 1 of dataset \"hand\" registered; device "));
    ck_assert_ptr_nonnull(strstr(REASON(&lab, id), "takes 3"));
    struct op_worker_register op;
    ck_assert_int_eq(
        lab_enrol(
            &lab,
            WORKER("i1", "{\"dataset\": \"letters\", \"num_examples\": 1, \"input\": [2], \"classes\": 26}"),
            &op),
        ERR_OK);
    id = lab_submit(
        &lab, "{\"dataset\": \"letters\", \"selection\": {\"devices_per_round\": 1, \"population\": 1}}");
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_FAILED);
    ck_assert_ptr_nonnull(strstr(REASON(&lab, id), "26 classes"));
    lab_close(&lab);
}
END_TEST

START_TEST(test_without_a_population_the_silent_are_left_out)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 4, 4);
    lab_wait(&lab, 50000);
    core_seen(lab.core, "", lab.devices[1]);
    core_seen(lab.core, "", lab.devices[3]);
    const char *two = lab_submit(&lab, "{\"selection\": {\"population\": null, \"devices_per_round\": 2}}");
    ck_assert_int_eq(lab_run(&lab, two).population, 2);
    const char *three = lab_submit(&lab, "{\"selection\": {\"population\": null, \"devices_per_round\": 3}}");
    ck_assert_int_eq(lab_run(&lab, three).population, 4); /* too few are there: the others, too */
    struct task_offer offer;
    ck_assert(lab_claim(&lab, 1, &offer));
    lab_close(&lab);
}
END_TEST

START_TEST(test_progress_is_remembered_until_the_task_ends)
{
    struct lab lab;
    struct task_offer offer;
    const struct progress said = {3, 0.5, true};
    struct progress progress;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    (void)lab_submit(&lab, "{}");
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert(!core_progress_get(lab.core, offer.task.id, &progress));
    core_progress_set(lab.core, offer.task.id, &said);
    ck_assert(core_progress_get(lab.core, offer.task.id, &progress));
    ck_assert(progress.steps_done == 3 && progress.train_loss == 0.5 && progress.has_loss);
    lab_answer(&lab, &offer, 1, 0);
    ck_assert(!core_progress_get(lab.core, offer.task.id, &progress));
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_revoked_device_fails_its_task_and_another_takes_its_place,
                                  test_a_revoked_worker_ends_with_all_it_has,
                                  test_tokens,
                                  test_silence_is_suspect_then_offline_and_a_word_is_online,
                                  test_being_seen_survives_a_restart,
                                  test_a_device_is_online_with_its_worker,
                                  test_waiting_says_for_what,
                                  test_devices_of_another_vocabulary,
                                  test_a_device_comes_back_with_another_vocabulary,
                                  test_several_datasets_need_a_name,
                                  test_devices_whose_data_do_not_fit_fail_the_run,
                                  test_without_a_population_the_silent_are_left_out,
                                  test_progress_is_remembered_until_the_task_ends};
    return unit_run("device", tests, sizeof tests / sizeof *tests);
}
