/* The rows of one record kind in memory. What a row says never changes: an update puts another struct in its
 * place, and the undo log keeps the old one until the transaction ends. Each table has an ordered index for
 * its key, one for each of its uniques and one for each query that none of the others serves. */
#ifndef FEDLANE_STORE_MEMORY_TABLE_H
#define FEDLANE_STORE_MEMORY_TABLE_H

#include "server/store/memory/tree.h"
#include "server/store/schema.h"

#define TABLE_MAX_INDEXES 8
#define INDEX_MAX_COLUMNS (2 * SCHEMA_MAX_COLUMNS)

/* Rows in the order of these columns. The key's columns stand among them, so no two rows are equal. */
struct memory_index {
    const struct record_column *columns[INDEX_MAX_COLUMNS];
    size_t num_columns;
    size_t place; /* which of the row's nodes */
    struct tree tree;
};

/* `row` is one allocation: the struct of records.h, then its texts. */
struct memory_row {
    void *row;
    struct tree_node nodes[]; /* one for each index */
};

/* How a query runs: over which index, and how many of that index's leading columns its conditions fix. */
struct memory_plan {
    size_t index, num_fixed;
    size_t fixed_by[SCHEMA_MAX_COLUMNS]; /* for each fixed column the number of its condition */
    bool is_sorted;                      /* the index gives the query's order */
};

struct memory_table {
    enum record_kind kind;
    struct memory_index indexes[TABLE_MAX_INDEXES]; /* first the key's, then the uniques' */
    size_t num_indexes;
    struct memory_plan plans[QUERY_COUNT]; /* of the queries of this kind */
    int64_t last_number;                   /* the highest number that a row was given */
    uint64_t num_made;
};

struct memory_change {
    struct memory_table *table;
    struct memory_row *place;
    void *before, *after; /* its `row`; NULL: it was not in the table */
};
struct memory_undo {
    struct memory_change *changes;
    size_t count, capacity;
};

/* Empties it and makes its indexes and plans (index.c). */
void table_init(struct memory_table *t, enum record_kind kind);
void table_release(struct memory_table *t);

/* As in store.h. The undo log takes what would bring the old state back. */
enum err table_insert(struct memory_table *t, void *row, struct memory_undo *undo) MUST_CHECK;
enum err table_update(struct memory_table *t, const void *row, struct memory_undo *undo) MUST_CHECK;
enum err table_put(struct memory_table *t, const void *row, struct memory_undo *undo) MUST_CHECK;
enum err table_remove(struct memory_table *t, const void *row, struct memory_undo *undo) MUST_CHECK;
/* The row with the key columns of `row`, or NULL. */
const void *table_get(struct memory_table *t, const void *row);

void undo_commit(struct memory_undo *undo);   /* frees the rows that were replaced; empties it */
void undo_rollback(struct memory_undo *undo); /* brings them back; empties it */
void undo_release(struct memory_undo *undo);

/* < 0, 0, > 0, as SQLite orders them: text by bytes, NaN first. */
int column_compare(const struct record_column *c, const void *a, const void *b);
struct memory_row *index_row(const struct memory_index *index, const struct tree_node *node);

/* Copies to the arena; texts too. ERR_NO_MEMORY. */
enum err row_copy_out(enum record_kind kind, const void *from, struct arena *arena, void *to) MUST_CHECK;

enum err table_find(struct memory_table *t, enum query q, const struct store_value *args, int64_t limit,
                    struct arena *arena, void **out_rows, size_t *out_count) MUST_CHECK;
int64_t table_count(struct memory_table *t, enum query q, const struct store_value *args);

#endif
