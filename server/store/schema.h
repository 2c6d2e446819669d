/* The tables of records.h and queries.h, resolved: what both backends read. Both enforce the same unique
 * columns, and both break ties in the same way (by the primary key), so a query gives the same rows in the
 * same order everywhere. */
#ifndef FEDLANE_STORE_SCHEMA_H
#define FEDLANE_STORE_SCHEMA_H

#include <stdbool.h>
#include <string.h>
#include "server/store/store.h"

/* U(record kind, columns, condition): no two rows have the same values in these columns, beside the primary
 * key. ALL_ROWS count, or with W(column) those whose column is 0. sql/sqlite has the same as unique indexes;
 * a test compares them. */
#define UNIQUE_TABLE(U)                                                                                      \
    U(EXPERIMENT, (K(name)), ALL_ROWS)                                                                       \
    U(RUN_DEVICE, (K(run_id) K(position)), ALL_ROWS)                                                         \
    U(UPDATE, (K(task_id)), ALL_ROWS)                                                                        \
    U(DEVICE, (K(dataset) K(ordinal)), W(revoked_at))                                                        \
    U(WORKER, (K(instance_id)), ALL_ROWS)                                                                    \
    U(TOKEN, (K(sha256)), ALL_ROWS)                                                                          \
    U(EVENT, (K(run_id) K(seq)), ALL_ROWS)

/* F(record kind, columns): what an update may not change (a put may). SQLite writes an index anew whenever an
 * update names one of its columns, changed or not; so those that never change are not named. */
#define FIXED_TABLE(F)                                                                                       \
    F(RUN, (K(experiment_id)))                                                                               \
    F(RUN_DEVICE, (K(position)))                                                                             \
    F(TASK, (K(run_id) K(round) K(ordinal) K(type) K(device_id)))                                            \
    F(UPDATE, (K(task_id) K(run_id) K(round) K(ordinal)))                                                    \
    F(DEVICE, (K(worker_id) K(dataset) K(ordinal) K(revoked_at)))                                            \
    F(WORKER, (K(instance_id)))

#define SCHEMA_MAX_COLUMNS 8 /* of a key, a unique, a query's conditions or its order */

struct unique_type {
    enum record_kind kind;
    const struct record_column *columns[SCHEMA_MAX_COLUMNS];
    size_t num_columns;
    const struct record_column *where_zero; /* NULL: all rows count */
};
/* In the order of the kinds. *out_count uniques of the record. */
const struct unique_type *schema_uniques(enum record_kind kind, size_t *out_count);

/* Whether an update must leave this column of the record, by its place in record_types, as it is. */
bool schema_is_fixed(enum record_kind kind, size_t column);

enum query_op { QUERY_EQ, QUERY_LT, QUERY_LE, QUERY_GT, QUERY_GE };
struct query_condition {
    const struct record_column *column;
    enum query_op op;
    bool is_optional;
};
/* Rows that meet the conditions, ordered by the order columns, then by the primary key, all in one direction.
 */
struct query_type {
    const char *name; /* "RUNS_BY_STATUS" */
    enum record_kind kind;
    struct query_condition conditions[SCHEMA_MAX_COLUMNS];
    size_t num_conditions;
    const struct record_column
        *order[SCHEMA_MAX_COLUMNS]; /* with the key columns that the query does not name */
    size_t num_order;
    bool is_descending;
};
const struct query_type *schema_query(enum query q);

/* Whether the store gives the row its number when it is inserted with 0: its key is one integer. */
bool schema_numbers_rows(enum record_kind kind);

/* Ends the program unless args fit the query: as many as conditions, each of its column's type, none left out
 * that is not optional. Such a call is a mistake in the program, never in its input. */
void schema_check_args(enum query q, const struct store_value *args, size_t num_args);

/* Fields of a row. A text that is NULL ends the program. */
_Noreturn void row_has_null(const struct record_column *c);
static inline const char *row_text(const struct record_column *c, const void *row)
{
    const char *v = *(const char *const *)((const char *)row + c->offset);
    if (!v)
        row_has_null(c);
    return v;
}
static inline int64_t row_int(const struct record_column *c, const void *row)
{
    return *(const int64_t *)((const char *)row + c->offset);
}
/* SQLite keeps whole reals as integers, which have no negative zero; so that all backends give the same, none
 * has. */
static inline double row_real(const struct record_column *c, const void *row)
{
    double v;
    memcpy(&v, (const char *)row + c->offset, sizeof v);
    return v + 0.0;
}
static inline void row_set_text(const struct record_column *c, void *row, const char *v)
{
    *(const char **)((char *)row + c->offset) = v;
}
static inline void row_set_int(const struct record_column *c, void *row, int64_t v)
{
    *(int64_t *)((char *)row + c->offset) = v;
}
static inline void row_set_real(const struct record_column *c, void *row, double v)
{
    memcpy((char *)row + c->offset, &v, sizeof v);
}

#endif
