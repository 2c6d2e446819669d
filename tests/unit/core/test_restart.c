/* A process that ends anywhere: the next one goes on, to the same bits. And what is kept, and what is not. */
#include "tests/unit/core/lab.h"

#define SPEC                                                                                                 \
    "{\"num_rounds\": 3, \"model\": {\"init\": \"glorot_uniform\"}, \"selection\": {\"devices_per_round\": " \
    "3, \"population\": 4},"                                                                                 \
    "\"evaluation\": {\"on\": \"all_devices\"}, \"systems\": {\"straggler_fraction\": 0.5}, \"training\": "  \
    "{\"local_epochs\": 4}}"

/* Runs to the end; a new core after every `every` answers (0: never). Without core_advance in between where
 * `is_abrupt`, so that it dies with rounds that are aggregating. */
static void run_to_end(char out_sha[SHA256_HEX_SIZE], int every, bool is_abrupt)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    lab_open(&lab);
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(lab_register(&lab, k, 3 + k), ERR_OK);
    const char *id = lab_submit(&lab, SPEC);
    int answers = 0;
    for (bool any = true; any;) {
        any = false;
        for (int k = 0; k < 4; k++) {
            if (!lab_claim(&lab, k, &offer))
                continue;
            any = true;
            struct task_report r = lab_report(&lab, &offer, offer.task.max_steps);
            r.eval_train_loss = 1.0 / (1 + k);
            r.eval_train_examples = offer.task.num_examples;
            ck_assert_int_eq(lab_send(&lab, &offer, &r, 0.1f * (float)(1 + k) + (float)offer.task.round, &op),
                             ERR_OK);
            bool dies = every > 0 && ++answers % every == 0;
            if (!(dies && is_abrupt))
                lab_advance(&lab);
            if (dies)
                lab_restart(&lab);
            lab_advance(&lab);
        }
    }
    struct run_row run = lab_run(&lab, id);
    ck_assert_int_eq(run.outcome, RUN_COMPLETED);
    ck_assert_int_eq(run.is_deterministic, 1);
    memcpy(out_sha, lab_round(&lab, id, 3).aggregate_sha256, SHA256_HEX_SIZE);
    ck_assert_uint_eq(lab_count_events(&lab, id, "round_closed"), 4);
    lab_close(&lab);
}

START_TEST(test_restarts_change_nothing)
{
    char expected[SHA256_HEX_SIZE], got[SHA256_HEX_SIZE];
    run_to_end(expected, 0, false);
    for (int every = 1; every <= 5; every++) {
        run_to_end(got, every, false);
        ck_assert_str_eq(got, expected);
        run_to_end(got, every, true);
        ck_assert_str_eq(got, expected);
    }
}
END_TEST

START_TEST(test_a_round_that_was_aggregating_is_aggregated)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 1}");
    for (int k = 0; k < 2; k++) {
        ck_assert(lab_claim(&lab, k, &offer));
        struct task_report r = lab_report(&lab, &offer, 4);
        ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_OK);
    }
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_AGGREGATING);
    lab_restart(&lab);
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_AGGREGATING);
    lab_advance(&lab);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    lab_close(&lab);
}
END_TEST

START_TEST(test_deadlines_survive_a_restart)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 1}");
    lab_work(&lab, 0, 1, 0);
    lab_wait(&lab, 30000);
    lab_restart(&lab);
    lab_wait(&lab, 34999);
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_TRAINING);
    lab_wait(&lab, 1);
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_CLOSED);
    ck_assert_int_eq(lab_round(&lab, id, 0).late, 1);
    lab_close(&lab);
}
END_TEST

static int64_t put_orphan(struct lab *lab)
{
    struct blob_put *put;
    int64_t id;
    ck_assert_int_eq(lab->blobs->ops->put_begin(lab->blobs, &put), ERR_OK);
    ck_assert_int_eq(lab->blobs->ops->put_write(put, "orphan", 6), ERR_OK);
    ck_assert_int_eq(lab->blobs->ops->put_end(put, &id), ERR_OK);
    return id;
}

START_TEST(test_orphans_are_collected_and_nothing_else)
{
    struct lab lab;
    int64_t size;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"retention\": {\"keep_updates\": \"all\"}}");
    lab_work(&lab, 0, 1, 0);
    lab_work(&lab, 1, 1, 0);
    lab_work(&lab, 0, 1, 0); /* round 1 is half done */
    int64_t bytes = lab.blobs->ops->total_bytes(lab.blobs), orphan = put_orphan(&lab);
    lab_restart(&lab);
    ck_assert_int_eq(lab.blobs->ops->size(lab.blobs, orphan, &size), ERR_NOT_FOUND);
    ck_assert_int_eq(lab.blobs->ops->total_bytes(lab.blobs), bytes);
    lab_work(&lab, 1, 1, 0);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    bytes = lab.blobs->ops->total_bytes(lab.blobs);
    lab_restart(&lab);
    ck_assert_int_eq(lab.blobs->ops->total_bytes(lab.blobs), bytes); /* its updates are kept */
    lab_close(&lab);
}
END_TEST

struct updates_look {
    struct lab *lab;
    const char *run_id;
    int64_t round;
    struct update_row *rows;
    size_t count;
};

static enum err read_updates(struct store_txn *txn, void *arg)
{
    struct updates_look *l = arg;
    return store_find(txn, QUERY_UPDATES_BY_ROUND, &l->lab->arena, 0, &l->rows, &l->count,
                      store_text(l->run_id), store_int(l->round), store_any);
}

static struct updates_look updates_of(struct lab *lab, const char *run_id, int64_t round)
{
    struct updates_look l = {.lab = lab, .run_id = run_id, .round = round};
    ck_assert_int_eq(lab->store->ops->read(lab->store, read_updates, &l), ERR_OK);
    return l;
}

/* So the end of a round costs the writer the same however many devices reported. */
START_TEST(test_updates_go_with_their_round_and_their_rows_are_not_touched)
{
    struct lab lab;
    int64_t size;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 3}");
    lab_work(&lab, 0, 1, 0);
    struct updates_look before = updates_of(&lab, id, 0);
    ck_assert_uint_eq(before.count, 1);
    ck_assert_int_eq(lab.blobs->ops->size(lab.blobs, before.rows[0].blob_id, &size), ERR_OK);
    lab_work(&lab, 1, 1, 0);
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_CLOSED);
    struct updates_look after = updates_of(&lab, id, 0);
    ck_assert_uint_eq(after.count, 2);
    ck_assert_int_eq(after.rows[0].blob_id, before.rows[0].blob_id);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(lab.blobs->ops->size(lab.blobs, after.rows[i].blob_id, &size), ERR_NOT_FOUND);
    /* Those of the open round outlive a restart. */
    lab_work(&lab, 0, 1, 0);
    struct updates_look open = updates_of(&lab, id, 1);
    lab_restart(&lab);
    ck_assert_int_eq(lab.blobs->ops->size(lab.blobs, open.rows[0].blob_id, &size), ERR_OK);
    lab_close(&lab);
}
END_TEST

START_TEST(test_only_the_newest_models_are_kept)
{
    struct lab lab;
    int64_t size;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 6, \"retention\": {\"keep_models\": \"last:2\"}}");
    int64_t first = lab_model(&lab, id, 0).blob_id;
    size = lab_model(&lab, id, 0).size_bytes;
    lab_work_all(&lab, 2);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    for (int v = 0; v <= 6; v++) {
        struct model_row model = lab_model(&lab, id, v);
        ck_assert_int_eq(model.blob_id != 0, v >= 5);
        ck_assert_str_ne(model.weights_sha256, ""); /* what it was stays known */
    }
    ck_assert_int_eq(lab.blobs->ops->total_bytes(lab.blobs), 2 * size); /* and no update */
    ck_assert_int_eq(lab.blobs->ops->size(lab.blobs, first, &size), ERR_NOT_FOUND);
    lab_close(&lab);
}
END_TEST

START_TEST(test_all_models_are_kept_where_asked)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 8, \"retention\": {\"keep_models\": \"all\"}}");
    lab_work_all(&lab, 2);
    for (int v = 0; v <= 8; v++)
        ck_assert_int_ne(lab_model(&lab, id, v).blob_id, 0);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_file_that_versions_share_is_kept_for_the_newer)
{
    struct lab lab;
    struct task_offer offer;
    float w[LAB_PARAMS];
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 4, \"retention\": {\"keep_models\": \"last:1\"}}");
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 2; k++) {
            ck_assert(lab_claim(&lab, k, &offer));
            struct task_report r = lab_report(&lab, &offer, 0);
            ck_assert_int_eq(lab_fail(&lab, &offer, "no", &r), ERR_OK);
            lab_advance(&lab);
        }
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    ck_assert_int_eq(lab_model(&lab, id, 0).blob_id, 0);
    lab_params(&lab, id, 4, w); /* version 0's file, still */
    lab_close(&lab);
}
END_TEST

START_TEST(test_memory_of_weights_does_not_grow_with_rounds)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 60}");
    int64_t after_10 = 0;
    for (int t = 0; t < 60; t++) {
        lab_work(&lab, 0, (float)t, 0);
        lab_work(&lab, 1, (float)t, 0);
        if (t == 10)
            after_10 = lab.blobs->ops->total_bytes(lab.blobs);
    }
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    ck_assert_int_eq(lab.blobs->ops->total_bytes(lab.blobs), after_10);
    lab_close(&lab);
}
END_TEST

START_TEST(test_sent_weights_are_counted)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{}");
    struct op_weights_sent op = {
        .base = {.core = lab.core, .arena = &lab.arena}, .run_id = id, .version = 0, .bytes = 100};
    ck_assert_int_eq(store_write_wait(lab.store, op_weights_sent, &op), ERR_OK);
    ck_assert_int_eq(store_write_wait(lab.store, op_weights_sent, &op), ERR_OK);
    ck_assert_int_eq(lab_round(&lab, id, 0).bytes_out, 200);
    op.version = 9;
    ck_assert_int_eq(store_write_wait(lab.store, op_weights_sent, &op), ERR_NOT_FOUND);
    lab_work_all(&lab, 2);
    ck_assert_int_eq(lab_round(&lab, id, 0).bytes_out, 200);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_restarts_change_nothing,
                                  test_updates_go_with_their_round_and_their_rows_are_not_touched,
                                  test_a_round_that_was_aggregating_is_aggregated,
                                  test_deadlines_survive_a_restart,
                                  test_orphans_are_collected_and_nothing_else,
                                  test_only_the_newest_models_are_kept,
                                  test_all_models_are_kept_where_asked,
                                  test_a_file_that_versions_share_is_kept_for_the_newer,
                                  test_memory_of_weights_does_not_grow_with_rounds,
                                  test_sent_weights_are_counted};
    return unit_run("restart", tests, sizeof tests / sizeof *tests);
}
