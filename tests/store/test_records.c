/* One row at a time: what is written comes back, keys and uniques hold. */
#include <math.h>
#include <string.h>
#include "tests/store/support.h"
#include "tests/support/unit.h"

#define ROWS_ARENA ((size_t)1 << 20)

static struct store *store;
static const char *dir;

static void setup(int i)
{
    dir = make_dir();
    store = open_store(&backends[i], dir);
}

static void teardown(void)
{
    store->ops->close(store);
    remove_dir(dir);
}

/* A row whose fields all differ, with the ends of each type's range. */
static void extreme_row(enum record_kind kind, int variant, void *row)
{
    static const int64_t ints[] = {INT64_MAX, INT64_MIN, 0, -1};
    static const double reals[] = {NAN, -0x1.fffffffffffffp+1023, INFINITY, 0x1p-1074};
    static const char *const texts[] = {"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\xb2", "'\";--\n\t\x01",
                                        "\x7f\xef\xbf\xbf"};
    const struct record_type *t = &record_types[kind];
    record_init(kind, row);
    for (size_t i = 0; i < t->num_columns; i++) {
        const struct record_column *c = &t->columns[i];
        size_t v = ((size_t)variant + i) % 4;
        if (c->type == COLUMN_TEXT)
            row_set_text(c, row, texts[v]);
        else if (c->type == COLUMN_INT)
            row_set_int(c, row, ints[v]);
        else
            row_set_real(c, row, reals[v]);
    }
    if (schema_numbers_rows(kind) && row_int(&t->columns[0], row) == 0)
        row_set_int(&t->columns[0], row, 7);
}

static void *key_only(enum record_kind kind, const void *row, union any_row *key)
{
    const struct record_type *t = &record_types[kind];
    record_init(kind, key);
    for (size_t i = 0; i < t->num_keys; i++) {
        if (t->columns[i].type == COLUMN_TEXT)
            row_set_text(&t->columns[i], key, row_text(&t->columns[i], row));
        else
            row_set_int(&t->columns[i], key, row_int(&t->columns[i], row));
    }
    return key;
}

struct round_trip {
    enum record_kind kind;
    union any_row row, other;
};

static enum err insert_it(struct store_txn *txn, void *arg)
{
    struct round_trip *r = arg;
    return store_insert(txn, r->kind, &r->row);
}

static enum err get_it(struct store_txn *txn, void *arg)
{
    struct round_trip *r = arg;
    struct arena arena = ARENA_INIT(ROWS_ARENA);
    union any_row found;
    enum err e = store_get(txn, r->kind, &arena, key_only(r->kind, &r->row, &found));
    if (!e)
        ck_same_row(r->kind, &found, &r->row);
    arena_release(&arena);
    return e;
}

static enum err update_it(struct store_txn *txn, void *arg)
{
    struct round_trip *r = arg;
    return store_update(txn, r->kind, &r->row);
}

static enum err put_it(struct store_txn *txn, void *arg)
{
    struct round_trip *r = arg;
    return store_put(txn, r->kind, &r->row);
}

static enum err remove_it(struct store_txn *txn, void *arg)
{
    struct round_trip *r = arg;
    union any_row key;
    return store_remove(txn, r->kind, key_only(r->kind, &r->row, &key));
}

START_TEST(every_record_comes_back_as_it_was)
{
    setup(_i);
    for (int kind = 0; kind < RECORD_COUNT; kind++) {
        for (int variant = 0; variant < 4; variant++) {
            struct round_trip r = {.kind = (enum record_kind)kind};
            extreme_row(r.kind, variant, &r.row);
            ck_err(store->ops->read(store, get_it, &r), ERR_NOT_FOUND);
            ck_err(store_write_wait(store, insert_it, &r), ERR_OK);
            ck_err(store->ops->read(store, get_it, &r), ERR_OK);
            ck_err(store_write_wait(store, get_it, &r), ERR_OK);
            ck_err(store_write_wait(store, insert_it, &r), ERR_CONFLICT);
            ck_err(store_write_wait(store, remove_it, &r), ERR_OK);
        }
    }
    teardown();
}
END_TEST

/* All fields but the key's, and but the fixed ones, take those of another row. */
static void change_all_but_key(struct round_trip *r, int variant, bool with_fixed)
{
    union any_row other;
    const struct record_type *t = &record_types[r->kind];
    extreme_row(r->kind, variant, &other);
    for (size_t i = t->num_keys; i < t->num_columns; i++) {
        size_t at = t->columns[i].offset;
        if (!with_fixed && schema_is_fixed(r->kind, i))
            continue;
        memcpy((char *)&r->row + at, (char *)&other + at, sizeof(int64_t));
    }
}

START_TEST(update_put_and_remove_work_by_key)
{
    setup(_i);
    for (int kind = 0; kind < RECORD_COUNT; kind++) {
        struct round_trip r = {.kind = (enum record_kind)kind};
        extreme_row(r.kind, 1, &r.row);
        ck_err(store_write_wait(store, update_it, &r), ERR_NOT_FOUND);
        ck_err(store_write_wait(store, remove_it, &r), ERR_NOT_FOUND);
        ck_err(store_write_wait(store, put_it, &r), ERR_OK);
        ck_err(store->ops->read(store, get_it, &r), ERR_OK);
        change_all_but_key(&r, 2, false);
        ck_err(store_write_wait(store, update_it, &r), ERR_OK);
        ck_err(store->ops->read(store, get_it, &r), ERR_OK);
        change_all_but_key(&r, 3, true);
        ck_err(store_write_wait(store, put_it, &r), ERR_OK);
        ck_err(store->ops->read(store, get_it, &r), ERR_OK);
        ck_err(store_write_wait(store, remove_it, &r), ERR_OK);
        ck_err(store->ops->read(store, get_it, &r), ERR_NOT_FOUND);
        ck_err(store_write_wait(store, remove_it, &r), ERR_NOT_FOUND);
    }
    teardown();
}
END_TEST

/* get leaves the row alone when it finds nothing. */
static enum err get_missing(struct store_txn *txn, void *arg)
{
    (void)arg;
    struct arena arena = ARENA_INIT(ROWS_ARENA);
    struct run_row row, before;
    record_init(RECORD_RUN, &row);
    row.id = "nobody";
    row.seed = 42;
    before = row;
    enum err e = store_get(txn, RECORD_RUN, &arena, &row);
    ck_same_row(RECORD_RUN, &row, &before);
    arena_release(&arena);
    return e;
}

START_TEST(get_of_a_missing_row_changes_nothing)
{
    setup(_i);
    ck_err(store->ops->read(store, get_missing, NULL), ERR_NOT_FOUND);
    teardown();
}
END_TEST

/* Two rows of the kind that differ in every key column, and in all that is unique but what is made equal. */
static void two_rows(enum record_kind kind, union any_row *a, union any_row *b)
{
    const struct record_type *t = &record_types[kind];
    record_init(kind, a);
    record_init(kind, b);
    for (size_t i = 0; i < t->num_columns; i++) {
        const struct record_column *c = &t->columns[i];
        if (c->type == COLUMN_TEXT) {
            row_set_text(c, a, "one");
            row_set_text(c, b, "two");
        } else if (c->type == COLUMN_INT) {
            row_set_int(c, a, 1);
            row_set_int(c, b, 2);
        }
    }
}

static void copy_field(const struct record_column *c, union any_row *to, const union any_row *from)
{
    memcpy((char *)to + c->offset, (const char *)from + c->offset, sizeof(int64_t));
}

static bool is_fixed(enum record_kind kind, const struct unique_type *u)
{
    bool any = false;
    for (size_t i = 0; i < u->num_columns; i++)
        any = any || schema_is_fixed(kind, (size_t)(u->columns[i] - record_types[kind].columns));
    return any;
}

START_TEST(uniques_hold)
{
    setup(_i);
    for (int kind = 0; kind < RECORD_COUNT; kind++) {
        size_t count;
        const struct unique_type *uniques = schema_uniques((enum record_kind)kind, &count);
        for (size_t u = 0; u < count; u++) {
            struct round_trip a = {.kind = (enum record_kind)kind}, b = a;
            two_rows(a.kind, &a.row, &b.row);
            if (uniques[u].where_zero) {
                row_set_int(uniques[u].where_zero, &a.row, 0);
                row_set_int(uniques[u].where_zero, &b.row, 0);
            }
            ck_err(store_write_wait(store, insert_it, &a), ERR_OK);
            ck_err(store_write_wait(store, insert_it, &b), ERR_OK);
            struct round_trip apart = b; /* the columns may be of the key */
            for (size_t i = 0; i < uniques[u].num_columns; i++)
                copy_field(uniques[u].columns[i], &b.row, &a.row);
            if (!is_fixed(b.kind, &uniques[u]))
                ck_err(store_write_wait(store, update_it, &b), ERR_CONFLICT);
            ck_err(store_write_wait(store, put_it, &b), ERR_CONFLICT);
            ck_err(store_write_wait(store, remove_it, &apart), ERR_OK);
            ck_err(store_write_wait(store, insert_it, &b), ERR_CONFLICT);
            ck_err(store_write_wait(store, put_it, &b), ERR_CONFLICT);
            if (uniques[u].where_zero) {
                row_set_int(uniques[u].where_zero, &b.row, 5);
                ck_err(store_write_wait(store, insert_it, &b), ERR_OK);
                row_set_int(uniques[u].where_zero, &b.row, 0);
                ck_err(store_write_wait(store, put_it, &b), ERR_CONFLICT);
                ck_err(store_write_wait(store, remove_it, &b), ERR_OK);
            }
            b = apart;
            ck_err(store_write_wait(store, insert_it, &b), ERR_OK);
            ck_err(store_write_wait(store, remove_it, &a), ERR_OK);
            ck_err(store_write_wait(store, remove_it, &b), ERR_OK);
        }
    }
    teardown();
}
END_TEST

static int64_t add_event(const char *run_id, int64_t seq, enum err wanted)
{
    struct round_trip r = {.kind = RECORD_EVENT};
    record_init(r.kind, &r.row);
    r.row.event_row.run_id = run_id;
    r.row.event_row.seq = seq;
    ck_err(store_write_wait(store, insert_it, &r), wanted);
    return r.row.event_row.id;
}

START_TEST(events_get_their_numbers_and_none_twice)
{
    setup(_i);
    ck_assert_int_eq(add_event("r", 1, ERR_OK), 1);
    ck_assert_int_eq(add_event("r", 2, ERR_OK), 2);
    ck_assert_int_eq(add_event("r", 2, ERR_CONFLICT), 0);
    struct round_trip last = {.kind = RECORD_EVENT};
    record_init(last.kind, &last.row);
    last.row.event_row.id = 2;
    ck_err(store_write_wait(store, remove_it, &last), ERR_OK);
    ck_assert_int_eq(add_event("r", 3, ERR_OK), 3);
    last.row.event_row.id = 1000;
    last.row.event_row.run_id = "other";
    ck_err(store_write_wait(store, put_it, &last), ERR_OK);
    ck_assert_int_eq(add_event("r", 4, ERR_OK), 1001);
    teardown();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store records");
    TCase *tc = unit_case("each backend");
    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, every_record_comes_back_as_it_was, 0, num_backends);
    tcase_add_loop_test(tc, update_put_and_remove_work_by_key, 0, num_backends);
    tcase_add_loop_test(tc, get_of_a_missing_row_changes_nothing, 0, num_backends);
    tcase_add_loop_test(tc, uniques_hold, 0, num_backends);
    tcase_add_loop_test(tc, events_get_their_numbers_and_none_twice, 0, num_backends);
    return run_suite(s);
}
