#include "tests/store/support.h"
#include <ftw.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"

static enum err memory_store(const char *dir, struct store **out, struct fault *fault)
{
    (void)dir;
    (void)fault;
    return store_memory_open(out);
}

static enum err memory_blobs(const char *dir, struct blobs **out, struct fault *fault)
{
    (void)dir;
    (void)fault;
    return blobs_memory_open(out);
}

static enum err sqlite_store(const char *dir, struct store **out, struct fault *fault)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/meta.db", dir);
    return store_sqlite_open(path, out, fault);
}

static enum err sqlite_blobs(const char *dir, struct blobs **out, struct fault *fault)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/blobs.db", dir);
    return blobs_sqlite_open(path, out, fault);
}

const struct backend backends[] = {
    {"memory", false, false, memory_store, memory_blobs},
    {"sqlite", true, true, sqlite_store, sqlite_blobs},
};
const int num_backends = sizeof backends / sizeof backends[0];

const struct backend *sqlite_backend(void)
{
    for (int i = 0; i < num_backends; i++)
        if (backends[i].is_durable)
            return &backends[i];
    ck_abort_msg("no durable backend");
}

const char *make_dir(void)
{
    static char path[512];
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/fedlane-store-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(path));
    return path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void remove_dir(const char *dir)
{
    ck_assert_int_eq(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

const char *path_in(const char *dir, const char *name)
{
    static char paths[4][700];
    static int next;
    next = (next + 1) % 4;
    (void)snprintf(paths[next], sizeof paths[next], "%s/%s", dir, name);
    return paths[next];
}

struct store *open_store(const struct backend *b, const char *dir)
{
    struct store *s = NULL;
    struct fault fault = FAULT_NONE;
    enum err e = b->open_store(dir, &s, &fault);
    ck_assert_msg(!e, "%s: %s: %s", b->name, err_name(e), fault.detail);
    return s;
}

struct blobs *open_blobs(const struct backend *b, const char *dir)
{
    struct blobs *blobs = NULL;
    struct fault fault = FAULT_NONE;
    enum err e = b->open_blobs(dir, &blobs, &fault);
    ck_assert_msg(!e, "%s: %s: %s", b->name, err_name(e), fault.detail);
    return blobs;
}

enum err try_store(const char *path, struct fault *fault)
{
    struct store *s = NULL;
    enum err e = store_sqlite_open(path, &s, fault);
    if (!e)
        s->ops->close(s);
    return e;
}

enum err try_blobs(const char *path, struct fault *fault)
{
    struct blobs *b = NULL;
    enum err e = blobs_sqlite_open(path, &b, fault);
    if (!e)
        b->ops->close(b);
    return e;
}

/* Enough keys for queries to have something to choose from, few enough for rows to meet. */
#define NUM_KEYS 48
static const char *key_text(uint64_t x)
{
    static char texts[NUM_KEYS][16];
    size_t i = x % NUM_KEYS;
    (void)snprintf(texts[i], sizeof texts[i], "key-%02zu", i);
    return texts[i];
}

void make_row(enum record_kind kind, uint64_t draw, void *row)
{
    static const char *const texts[] = {"",   "a",           "b",
                                        "ab", "caf\xc3\xa9", "\xf0\x9f\x9a\xb2 line\nbreak 'quoted' \"too\""};
    static const double reals[] = {0.0, -1.5, 1e300, 0x1p-1074};
    const struct record_type *t = &record_types[kind];
    record_init(kind, row);
    for (size_t i = 0; i < t->num_columns; i++) {
        uint64_t x = rng_u64(draw, i);
        const struct record_column *c = &t->columns[i];
        bool is_only_key = i == 0 && t->num_keys == 1;
        if (c->type == COLUMN_TEXT)
            row_set_text(c, row, is_only_key || x % 8 == 7 ? key_text(x / 8) : texts[x % 8 % 6]);
        else if (c->type == COLUMN_INT)
            row_set_int(c, row, (int64_t)(is_only_key || x % 8 == 7 ? x / 8 % NUM_KEYS : x % 4));
        else
            row_set_real(c, row, x % 5 == 4 ? NAN : reals[x % 5]);
    }
}

/* A prime length, so that no chunk looks like the next. */
static unsigned char table[65521];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (size_t i = 0; i < sizeof table; i++)
        table[i] = (unsigned char)rng_u64(9, i);
}

void make_bytes(uint64_t seed, size_t offset, unsigned char *out, size_t n)
{
    (void)pthread_once(&once, fill_table);
    while (n) {
        size_t at = (size_t)((seed % sizeof table * 131 + offset) % sizeof table);
        size_t take = n < sizeof table - at ? n : sizeof table - at;
        memcpy(out, table + at, take);
        out += take;
        offset += take;
        n -= take;
    }
}

void ck_same_row(enum record_kind kind, const void *a, const void *b)
{
    const struct record_type *t = &record_types[kind];
    for (size_t i = 0; i < t->num_columns; i++) {
        const struct record_column *c = &t->columns[i];
        if (c->type == COLUMN_TEXT) {
            ck_assert_msg(strcmp(row_text(c, a), row_text(c, b)) == 0, "%s.%s: '%s' is not '%s'", t->table,
                          c->name, row_text(c, a), row_text(c, b));
        } else if (c->type == COLUMN_INT) {
            ck_assert_msg(row_int(c, a) == row_int(c, b), "%s.%s: %lld is not %lld", t->table, c->name,
                          (long long)row_int(c, a), (long long)row_int(c, b));
        } else {
            double x = row_real(c, a), y = row_real(c, b);
            ck_assert_msg((isnan(x) && isnan(y)) || x == y, "%s.%s: %g is not %g", t->table, c->name, x, y);
        }
    }
}

int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
