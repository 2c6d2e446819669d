/* The store as a plain list of rows, to compare a backend with: slow and obviously right. Its rows borrow
 * their texts. */
#ifndef FEDLANE_TESTS_STORE_MODEL_H
#define FEDLANE_TESTS_STORE_MODEL_H

#include "tests/store/support.h"

#define MODEL_MAX 512

struct model {
    enum record_kind kind;
    union any_row rows[MODEL_MAX];
    size_t count;
    int64_t last_number;
};

/* Gives the row what an update may not change, where there is a row of its key. */
void model_fix(struct model *m, union any_row *row);
/* What the store must answer; the model changes as the store must. */
enum err model_insert(struct model *m, union any_row *row);
enum err model_update(struct model *m, const union any_row *row);
enum err model_put(struct model *m, const union any_row *row);
enum err model_remove(struct model *m, const union any_row *row);
/* The rows that the query must give; returns how many. */
size_t model_find(const struct model *m, const struct query_type *q, const struct store_value *args,
                  int64_t limit, union any_row *out);

#endif
