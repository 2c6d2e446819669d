/* Random changes, some of them undone, and every query after them, against the model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "tests/store/model.h"
#include "tests/support/unit.h"

#define ARENA             ((size_t)16 << 20)
#define CHANGES_PER_WRITE 8

static struct store *store;

struct step {
    struct model *model; /* is put back when the write fails */
    uint64_t draw;
    bool shall_fail;
};

static enum err change_one(struct store_txn *txn, struct model *m, uint64_t draw)
{
    union any_row row, expected;
    make_row(m->kind, draw, &row);
    expected = row;
    enum err wanted = ERR_OK, got = ERR_OK;
    switch (rng_u64(draw, 1000) % 6) {
    case 0:
        wanted = model_remove(m, &expected);
        got = store_remove(txn, m->kind, &row);
        break;
    case 1:
        model_fix(m, &expected);
        row = expected;
        wanted = model_update(m, &expected);
        got = store_update(txn, m->kind, &row);
        break;
    case 2:
        wanted = model_put(m, &expected);
        got = store_put(txn, m->kind, &row);
        break;
    default:
        wanted = model_insert(m, &expected);
        got = store_insert(txn, m->kind, &row);
        if (!got)
            ck_same_row(m->kind, &row, &expected);
    }
    ck_err(got, wanted);
    return got;
}

static enum err change_some(struct store_txn *txn, void *arg)
{
    struct step *step = arg;
    struct model *before = malloc(sizeof *before);
    ck_assert_ptr_nonnull(before);
    *before = *step->model;
    /* A refused change is an answer, no failure: the function goes on. */
    for (uint64_t i = 0; i < CHANGES_PER_WRITE; i++)
        (void)!change_one(txn, step->model, rng_key(step->draw, i, 1, 2, 3));
    if (step->shall_fail)
        *step->model = *before;
    free(before);
    return step->shall_fail ? ERR_CANCELLED : ERR_OK;
}

struct question {
    const struct model *model;
    enum query query;
    struct store_value args[SCHEMA_MAX_COLUMNS];
    int64_t limit;
};

static enum err ask(struct store_txn *txn, void *arg)
{
    struct question *question = arg;
    const struct query_type *q = schema_query(question->query);
    struct arena arena = ARENA_INIT(ARENA);
    static union any_row wanted[MODEL_MAX];
    size_t num_wanted = model_find(question->model, q, question->args, question->limit, wanted), num_got = 0;
    void *got = NULL;
    ck_err(txn->store->ops->find(txn, question->query, question->args, q->num_conditions, question->limit,
                                 &arena, &got, &num_got),
           ERR_OK);
    ck_assert_msg(num_got == num_wanted, "%s gives %zu rows, not %zu", q->name, num_got, num_wanted);
    for (size_t i = 0; i < num_got; i++)
        ck_same_row(q->kind, (char *)got + i * record_types[q->kind].row_size, &wanted[i]);
    int64_t count = -1;
    ck_err(txn->store->ops->count(txn, question->query, question->args, q->num_conditions, &count), ERR_OK);
    ck_assert_int_eq(count, (int64_t)model_find(question->model, q, question->args, 0, wanted));
    arena_release(&arena);
    return ERR_OK;
}

/* A value that the column of some row has. */
static struct store_value some_value(const struct model *m, const struct record_column *c, uint64_t draw)
{
    union any_row row;
    if (m->count && draw % 4)
        row = m->rows[draw / 4 % m->count];
    else
        make_row(m->kind, draw, &row);
    return c->type == COLUMN_TEXT ? store_text(row_text(c, &row)) : store_int(row_int(c, &row));
}

static void ask_all(const struct model *m, uint64_t draw)
{
    for (int i = 0; i < QUERY_COUNT; i++) {
        const struct query_type *q = schema_query((enum query)i);
        if (q->kind != m->kind)
            continue;
        for (unsigned mask = 0; mask < 1u << q->num_conditions; mask++) {
            struct question question = {.model = m, .query = (enum query)i};
            for (size_t c = 0; c < q->num_conditions; c++) {
                bool is_left_out = q->conditions[c].is_optional && (mask & 1u << c);
                question.args[c] = is_left_out
                                       ? store_any
                                       : some_value(m, q->conditions[c].column, rng_u64(draw, mask * 8 + c));
            }
            for (question.limit = 0; question.limit <= 3; question.limit += question.limit ? 2 : 1) {
                ck_err(store->ops->read(store, ask, &question), ERR_OK);
                ck_err(store_write_wait(store, ask, &question), ERR_OK);
            }
        }
    }
}

static void compare_with_model(enum record_kind kind)
{
    struct model *m = calloc(1, sizeof *m);
    ck_assert_ptr_nonnull(m);
    m->kind = kind;
    for (uint64_t i = 0; i < 60; i++) {
        uint64_t draw = rng_key(11, (uint64_t)kind, i, 0, 0);
        struct step step = {.model = m, .draw = draw, .shall_fail = rng_u64(draw, 2000) % 3 == 0};
        ck_err(store_write_wait(store, change_some, &step), step.shall_fail ? ERR_CANCELLED : ERR_OK);
        if (i % 6 == 5)
            ask_all(m, draw);
    }
    ck_assert_uint_gt(m->count, 5);
    free(m);
}

START_TEST(all_queries_answer_as_the_model_does)
{
    const char *dir = make_dir();
    store = open_store(&backends[_i], dir);
    for (int kind = 0; kind < RECORD_COUNT; kind++)
        compare_with_model((enum record_kind)kind);
    store->ops->close(store);
    remove_dir(dir);
}
END_TEST

static enum err fill_tasks(struct store_txn *txn, void *arg)
{
    (void)arg;
    for (int i = 0; i < 2000; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "%d", i);
        struct task_row row;
        record_init(RECORD_TASK, &row);
        row.id = id;
        row.run_id = "run";
        row.ordinal = i;
        ck_err(store_insert(txn, RECORD_TASK, &row), ERR_OK);
    }
    return ERR_OK;
}

static enum err find_tasks(struct store_txn *txn, void *arg)
{
    struct arena *arena = arg;
    struct task_row *rows;
    size_t count;
    enum err e = store_find(txn, QUERY_TASKS_BY_ROUND, arena, 0, &rows, &count, store_text("run"),
                            store_int(0), store_any, store_any);
    if (!e) {
        ck_assert_uint_eq(count, 2000);
        for (size_t i = 0; i < count; i++)
            ck_assert_int_eq(rows[i].ordinal, (int64_t)i);
    }
    return e;
}

START_TEST(an_arena_too_small_is_an_error)
{
    const char *dir = make_dir();
    store = open_store(&backends[_i], dir);
    ck_err(store_write_wait(store, fill_tasks, NULL), ERR_OK);
    for (size_t max = 0; max < 8; max++) {
        struct arena arena = ARENA_INIT(max << 16);
        ck_err(store->ops->read(store, find_tasks, &arena), ERR_NO_MEMORY);
        arena_release(&arena);
    }
    struct arena arena = ARENA_INIT(ARENA);
    ck_err(store->ops->read(store, find_tasks, &arena), ERR_OK);
    arena_release(&arena);
    store->ops->close(store);
    remove_dir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store queries");
    TCase *tc = unit_case("each backend");
    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, all_queries_answer_as_the_model_does, 0, num_backends);
    tcase_add_loop_test(tc, an_arena_too_small_is_an_error, 0, num_backends);
    return run_suite(s);
}
