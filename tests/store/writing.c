#include "tests/store/writing.h"

#include <stdio.h>

#define ARENA ((size_t)1 << 20)

struct store *store;
static const char *dir;

void open_writing(int i)
{
    dir = make_dir();
    store = open_store(&backends[i], dir);
}

void reopen_writing(int i)
{
    store = open_store(&backends[i], dir);
}

void close_writing(void)
{
    if (store)
        store->ops->close(store);
    remove_dir(dir);
}

enum err set_number(struct store_txn *txn, const char *id, int64_t number)
{
    struct experiment_row row;
    record_init(RECORD_EXPERIMENT, &row);
    row.id = row.name = id;
    row.created_at = number;
    return store_put(txn, RECORD_EXPERIMENT, &row);
}

int64_t get_number(struct store_txn *txn, const char *id)
{
    struct arena arena = ARENA_INIT(ARENA);
    struct experiment_row row;
    record_init(RECORD_EXPERIMENT, &row);
    row.id = id;
    enum err e = store_get(txn, RECORD_EXPERIMENT, &arena, &row);
    ck_assert(e == ERR_OK || e == ERR_NOT_FOUND);
    arena_release(&arena);
    return e ? -1 : row.created_at;
}

struct number {
    const char *id;
    int64_t value;
};

static enum err read_number(struct store_txn *txn, void *arg)
{
    struct number *n = arg;
    n->value = get_number(txn, n->id);
    return ERR_OK;
}

int64_t number_now(const char *id)
{
    struct number n = {id, 0};
    ck_err(store->ops->read(store, read_number, &n), ERR_OK);
    return n.value;
}

struct heard heard;

void hear(void *ctx, const char *topic)
{
    ck_assert_ptr_eq(ctx, &heard);
    ck_assert_int_lt(heard.count, MAX_HEARD);
    (void)snprintf(heard.topics[heard.count++], sizeof heard.topics[0], "%s", topic);
    heard.number = number_now("x");
}

enum err change_and_fail(struct store_txn *txn, void *arg)
{
    (void)arg;
    ck_err(set_number(txn, "x", 2), ERR_OK);
    ck_err(set_number(txn, "y", 2), ERR_OK);
    struct experiment_row row;
    record_init(RECORD_EXPERIMENT, &row);
    row.id = "kept";
    ck_err(store_remove(txn, RECORD_EXPERIMENT, &row), ERR_OK);
    ck_err(store_notify(txn, "run:lost"), ERR_OK);
    ck_assert_int_eq(get_number(txn, "x"), 2);
    ck_assert_int_eq(get_number(txn, "kept"), -1);
    return ERR_STALE_ROUND;
}

enum err change_and_tell(struct store_txn *txn, void *arg)
{
    static const char *const topics[] = {"run:1",  "events",  "run:1", "device:2",
                                         "events", "advance", "run:1"};
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
        ck_err(store_notify(txn, topics[i]), ERR_OK);
    return set_number(txn, "x", *(int64_t *)arg);
}

enum err add_kept(struct store_txn *txn, void *arg)
{
    (void)arg;
    return set_number(txn, "kept", 7);
}
