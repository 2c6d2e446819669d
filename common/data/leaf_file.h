/* One file of LEAF's format: {"users": [...], "num_samples": [...], "user_data": {user: {"x": [...], "y":
 * [...]}}}, the three in any order; other fields are passed over. */
#ifndef FEDLANE_DATA_LEAF_FILE_H
#define FEDLANE_DATA_LEAF_FILE_H

#include "common/data/table_source.h"

/* What is known about a device over all files. */
struct leaf_user {
    const char *files[2]; /* by enum data_split: where it was; NULL */
    size_t count;         /* examples in the last one */
};

struct leaf {
    struct table *table;
    struct leaf_user *users; /* by the collector's number of a device */
    size_t room;
    uint32_t *order; /* devices as the lists of users of the training files have them */
    size_t num_order, order_room;
};

void leaf_release(struct leaf *l);
/* The path is borrowed as long as *l lives. ERR_BAD_FILE names file, and byte offset or user. */
enum err leaf_read_file(struct leaf *l, const char *path, enum data_split split) MUST_CHECK;

#endif
