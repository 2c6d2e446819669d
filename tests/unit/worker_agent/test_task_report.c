#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/api/update_meta.h"
#include "common/base/str.h"
#include "common/json/json_num.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"
#include "tests/unit/worker_agent/support.h"
#include "worker/task_runner.h"

enum kind { INT, NUM, TEXT, U64 };
static const struct {
    enum kind kind;
    const char *name;
} wire[] = {
#define X(field_kind, field) {field_kind, #field},
    UPDATE_META_TABLE(X)
#undef X
};

static struct task_result result_whole(void)
{
    struct task_result r;
    task_result_fail(&r, "", "");
    r.outcome = WORK_UPDATE;
    r.stop = STOP_BUDGET;
    r.num_examples = 63;
    r.is_measured = true;
    r.progress = (struct train_progress){.steps_assigned = 140,
                                         .steps_done = 49,
                                         .samples_seen = 483,
                                         .train_loss_start = 2.302585092994046,
                                         .train_loss_end = 0.1,
                                         .grad_norm_start = 1e-300,
                                         .grad_norm_end = 5e-324,
                                         .gamma = 1.0 / 3,
                                         .update_norm = 123456789.123456789};
    r.eval.train = (struct evaluation){.loss = 0.7, .examples = 63, .correct = 50};
    r.eval.test = (struct evaluation){.loss = HUGE_VAL, .examples = 7, .correct = 6};
    r.compute_ms = 12.75;
    r.download_ms = 0.30000000000000004;
    return r;
}

static const char *find(const struct safetensors_pair *pairs, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(pairs[i].key, key))
            return pairs[i].value;
    }
    return NULL;
}

static void check_num(const struct safetensors_pair *pairs, size_t n, const char *key, double expected)
{
    const char *text = find(pairs, n, key);
    ck_assert_msg(text != NULL, "%s is not there", key);
    double back = strtod(text, NULL);
    ck_assert_msg(memcmp(&back, &expected, sizeof back) == 0, "%s: %s", key, text);
}

START_TEST(everything_is_said_and_parses_back)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct worker_task t = support_task();
    struct task_result r = result_whole();
    struct safetensors_pair *pairs = NULL;
    size_t n = 0;
    t.learning_rate = 0.1 + 0.2;
    t.proximal_mu = 1e-3;
    t.wants_gamma = true;
    ck_assert_int_eq(task_result_metadata(&t, &r, &arena, &pairs, &n), ERR_OK);
    ck_assert_uint_eq(n, sizeof wire / sizeof *wire); /* each field of the wire, and no other */
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(find(pairs, n, wire[i].name) != NULL, "%s is missing", wire[i].name);
        ck_assert(i == 0 || strcmp(pairs[i - 1].key, pairs[i].key) < 0);
    }
    ck_assert_str_eq(find(pairs, n, "attempt"), "1");
    ck_assert_str_eq(find(pairs, n, "content"), "weights");
    ck_assert_str_eq(find(pairs, n, "num_examples"), "63");
    ck_assert_str_eq(find(pairs, n, "steps_assigned"), "140");
    ck_assert_str_eq(find(pairs, n, "steps_done"), "49");
    ck_assert_str_eq(find(pairs, n, "samples_seen"), "483");
    ck_assert_str_eq(find(pairs, n, "batch_size"), "10");
    ck_assert_str_eq(find(pairs, n, "seed"), "6");
    ck_assert_str_eq(find(pairs, n, "stop_reason"), "budget");
    ck_assert_str_eq(find(pairs, n, "eval_train_examples"), "63");
    ck_assert_str_eq(find(pairs, n, "eval_test_examples"), "7");
    ck_assert_str_eq(find(pairs, n, "eval_test_correct"), "6");
    ck_assert_str_eq(find(pairs, n, "eval_test_loss"), "Infinity");
    check_num(pairs, n, "learning_rate", 0.1 + 0.2);
    check_num(pairs, n, "proximal_mu", 1e-3);
    check_num(pairs, n, "train_loss_start", r.progress.train_loss_start);
    check_num(pairs, n, "train_loss_end", 0.1);
    check_num(pairs, n, "grad_norm_start", 1e-300);
    check_num(pairs, n, "grad_norm_end", 5e-324);
    check_num(pairs, n, "gamma", 1.0 / 3);
    check_num(pairs, n, "update_norm", r.progress.update_norm);
    check_num(pairs, n, "eval_train_loss", 0.7);
    check_num(pairs, n, "compute_ms", 12.75);
    check_num(pairs, n, "download_ms", r.download_ms);
    arena_release(&arena);
}
END_TEST

START_TEST(what_is_unknown_is_left_out)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct worker_task t = support_task();
    struct task_result r;
    struct safetensors_pair *pairs = NULL;
    size_t n = 0;
    task_result_fail(&r, "internal", "no reason");
    ck_assert_int_eq(task_result_metadata(&t, &r, &arena, &pairs, &n), ERR_OK);
    static const char *const said[] = {"attempt",       "batch_size",  "content", "encoding",
                                       "learning_rate", "proximal_mu", "seed"};
    ck_assert_uint_eq(n, sizeof said / sizeof *said);
    for (size_t i = 0; i < n; i++)
        ck_assert_str_eq(pairs[i].key, said[i]);
    /* An evaluation has no hyperparameters to echo. */
    t.type = WORK_EVALUATE;
    ck_assert_int_eq(task_result_metadata(&t, &r, &arena, &pairs, &n), ERR_OK);
    ck_assert_uint_eq(n, 1);
    /* A diverged model shows in its loss; a split without examples has none. */
    r.eval.train = (struct evaluation){.loss = NAN, .examples = 3, .correct = 0};
    r.eval.test = (struct evaluation){.loss = NAN, .examples = 0, .correct = 0};
    ck_assert_int_eq(task_result_metadata(&t, &r, &arena, &pairs, &n), ERR_OK);
    ck_assert_str_eq(find(pairs, n, "eval_train_loss"), "NaN");
    ck_assert_ptr_null(find(pairs, n, "eval_test_loss"));
    ck_assert_str_eq(find(pairs, n, "eval_test_examples"), "0");
    arena_release(&arena);
}
END_TEST

START_TEST(norms_that_are_no_number_are_said)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct worker_task t = support_task();
    struct task_result r = result_whole();
    struct safetensors_pair *pairs = NULL;
    size_t n = 0;
    r.progress.grad_norm_start = HUGE_VAL;
    r.progress.grad_norm_end = r.progress.gamma = r.progress.update_norm = NAN;
    t.wants_gamma = true;
    ck_assert_int_eq(task_result_metadata(&t, &r, &arena, &pairs, &n), ERR_OK);
    ck_assert_str_eq(find(pairs, n, "grad_norm_start"), "Infinity");
    ck_assert_str_eq(find(pairs, n, "grad_norm_end"), "NaN");
    ck_assert_str_eq(find(pairs, n, "gamma"), "NaN");
    ck_assert_str_eq(find(pairs, n, "update_norm"), "NaN");
    /* Nobody asked for gamma; then, nothing was measured at all. */
    t.wants_gamma = false;
    ck_assert_int_eq(task_result_metadata(&t, &r, &arena, &pairs, &n), ERR_OK);
    ck_assert_ptr_null(find(pairs, n, "gamma"));
    ck_assert_ptr_null(find(pairs, n, "grad_norm_start"));
    ck_assert_str_eq(find(pairs, n, "update_norm"), "NaN");
    r.is_measured = false;
    ck_assert_int_eq(task_result_metadata(&t, &r, &arena, &pairs, &n), ERR_OK);
    ck_assert_ptr_null(find(pairs, n, "update_norm"));
    arena_release(&arena);
}
END_TEST

/* The table of the model, as a runner would lend it. */
static void table_of(struct tensor_table *table)
{
    struct fault fault = FAULT_NONE;
    tensor_table_init(table);
    ck_assert_int_eq(tensor_table_add(table, "0.weight", DTYPE_F32, (const int64_t[]){10, 60}, 2, &fault),
                     ERR_OK);
    ck_assert_int_eq(tensor_table_add(table, "0.bias", DTYPE_F32, (const int64_t[]){10}, 1, &fault), ERR_OK);
}

/* Value i is i / 7. */
static void give_values(struct task_result *r, struct update_block *block, const struct tensor_table *table)
{
    ck_assert_int_eq(update_block_ready(block, table), ERR_OK);
    for (size_t i = 0; i < SUPPORT_NUM_PARAMS; i++)
        update_block_values(block)[i] = (float)i / 7;
    r->values = update_block_values(block);
    r->block = block;
    r->tensors = table;
}

static void check_file(enum work_type type, const char *prefix)
{
    struct arena arena = ARENA_INIT(MIB);
    struct tensor_table table;
    struct worker_task t = support_task();
    struct task_result r = result_whole();
    struct update_block block = {0};
    char *file = NULL;
    size_t size = 0;
    struct safetensors_header header;
    struct fault fault = FAULT_NONE;
    float back[SUPPORT_NUM_PARAMS];
    table_of(&table);
    t.type = type;
    give_values(&r, &block, &table);
    ck_assert_int_eq(task_result_file(&t, &r, &file, &size), ERR_OK);
    ck_assert_ptr_null(block.memory); /* it is the file's now */
    ck_assert_ptr_null(r.values);
    ck_assert_msg(safetensors_decode(file, size, &table, prefix, &arena, back, NULL, &header, &fault) ==
                      ERR_OK,
                  "%s", fault.detail);
    for (size_t i = 0; i < SUPPORT_NUM_PARAMS; i++)
        ck_assert_float_eq(back[i], (float)i / 7);
    ck_assert_str_eq(safetensors_metadata(&header, "steps_done"), "49");
    tensor_table_release(&table);
    free(file);
    arena_release(&arena);
}

START_TEST(the_file_holds_weights_or_a_gradient)
{
    check_file(WORK_TRAIN, "");
    check_file(WORK_EVALUATE, "grad.");
}
END_TEST

START_TEST(json_has_the_same_numbers)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct worker_task t = support_task();
    struct task_result r = result_whole();
    struct safetensors_pair *pairs = NULL;
    size_t n = 0;
    json_t *json = NULL;
    ck_assert_int_eq(task_result_metadata(&t, &r, &arena, &pairs, &n), ERR_OK);
    ck_assert_int_eq(task_result_json(&t, &r, &json), ERR_OK);
    ck_assert_uint_eq(json_object_size(json), n);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_object_get(json, pairs[i].key);
        double number;
        if (json_is_string(value))
            ck_assert_str_eq(json_string_value(value), pairs[i].value);
        else if (json_is_integer(value))
            ck_assert_int_eq(json_integer_value(value), strtoll(pairs[i].value, NULL, 10));
        else {
            ck_assert_int_eq(json_num_read(value, &number), ERR_OK);
            ck_assert_double_eq(number, strtod(pairs[i].value, NULL));
        }
    }
    json_decref(json);
    arena_release(&arena);
}
END_TEST

START_TEST(a_failure_says_code_and_detail)
{
    struct worker_task t = support_task();
    struct task_result r;
    json_t *json = NULL;
    task_result_fail(&r, "data_mismatch", "60 features, not 784");
    ck_assert_int_eq(task_result_json(&t, &r, &json), ERR_OK);
    ck_assert_str_eq(json_string_value(json_object_get(json, "code")), "data_mismatch");
    ck_assert_str_eq(json_string_value(json_object_get(json, "detail")), "60 features, not 784");
    ck_assert_int_eq(json_integer_value(json_object_get(json, "attempt")), 1);
    json_decref(json);
}
END_TEST

START_TEST(no_memory_is_said)
{
    struct worker_task t = support_task();
    struct task_result r = result_whole();
    struct tensor_table table;
    struct update_block block = {0};
    table_of(&table);
    alloc_fail_jansson();
    for (long n = 0;; n++) {
        char *file = NULL;
        size_t size = 0;
        json_t *json = NULL;
        give_values(&r, &block, &table);
        alloc_fail_at(n);
        enum err e = task_result_file(&t, &r, &file, &size);
        if (!e)
            e = task_result_json(&t, &r, &json);
        bool has_failed = alloc_fail_end();
        json_decref(json);
        ck_assert(file || (block.memory && r.values)); /* as it was */
        free(file);
        ck_assert_int_eq(e, has_failed ? ERR_NO_MEMORY : ERR_OK);
        if (!has_failed)
            break;
    }
    tensor_table_release(&table);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {everything_is_said_and_parses_back,
                                  what_is_unknown_is_left_out,
                                  norms_that_are_no_number_are_said,
                                  the_file_holds_weights_or_a_gradient,
                                  json_has_the_same_numbers,
                                  a_failure_says_code_and_detail,
                                  no_memory_is_said};
    return unit_run("task_report", tests, sizeof tests / sizeof *tests);
}
