/* What the store's contract tests share: the backends, a folder for each test, made-up rows. */
#ifndef FEDLANE_TESTS_STORE_SUPPORT_H
#define FEDLANE_TESTS_STORE_SUPPORT_H

#include <check.h>
#include "server/store/blobs.h"
#include "server/store/schema.h"
#include "server/store/store.h"

struct backend {
    const char *name;
    bool is_durable; /* keeps what was committed when it is opened again in the same folder */
    bool has_queue;  /* a write returns before its function has run */
    enum err (*open_store)(const char *dir, struct store **out, struct fault *fault);
    enum err (*open_blobs)(const char *dir, struct blobs **out, struct fault *fault);
};
extern const struct backend backends[];
extern const int num_backends;
const struct backend *sqlite_backend(void);

/* A new empty folder; its path stays until the next call. remove_dir deletes it with its files. */
const char *make_dir(void);
void remove_dir(const char *dir);
/* The file of that name in it; stays until the fourth call after. */
const char *path_in(const char *dir, const char *name);

/* Open in the folder, or fail the test. */
struct store *open_store(const struct backend *b, const char *dir);
struct blobs *open_blobs(const struct backend *b, const char *dir);

/* Opens SQLite's file at the path and closes it again. */
enum err try_store(const char *path, struct fault *fault);
enum err try_blobs(const char *path, struct fault *fault);

/* Fails the test unless they are the same error. */
#define ck_err(got, wanted)                                                                                  \
    do {                                                                                                     \
        enum err got_ = (got), wanted_ = (wanted);                                                           \
        ck_assert_msg(got_ == wanted_, "%s is %s, not %s", #got, err_name(got_), err_name(wanted_));         \
    } while (0)

/* A row of the kind whose fields are drawn from `draw` (any number): few different values, so that rows agree
 * in some columns. Texts are static. */
void make_row(enum record_kind kind, uint64_t draw, void *row);
/* Fails the test unless all fields are equal; NaN is NaN. */
void ck_same_row(enum record_kind kind, const void *a, const void *b);

/* Bytes [offset, offset + n) of the blob that a seed stands for. */
void make_bytes(uint64_t seed, size_t offset, unsigned char *out, size_t n);

union any_row {
#define X(kind, row, table, columns, keys) struct row row;
    RECORD_TABLE(X)
#undef X
};

/* Runs the suite; what main returns. */
int run_suite(Suite *suite);

#endif
