/* One file of LEAF's format: {"users": [...], "num_samples": [...], "user_data": {user: {"x": [...], "y":
 * [...]}}}, the three in any order; other fields are passed over. */
#ifndef FEDLANE_DATA_LEAF_FILE_H
#define FEDLANE_DATA_LEAF_FILE_H

#include "common/data/table_source.h"
#include "common/data/vocabulary.h"

enum leaf_kind {
    LEAF_UNDECIDED,  /* the first example decides between the next two */
    LEAF_NUMBERS,    /* numbers and lists of numbers; labels are numbers */
    LEAF_CHARACTERS, /* texts of one length; a label is the next character (Shakespeare) */
    LEAF_WORDS       /* texts, or lists with a text; labels are classes (Sentiment140) */
};

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
    enum leaf_kind kind;          /* LEAF_WORDS is the caller's choice */
    int64_t text_index;           /* of LEAF_WORDS: which entry of an example's list is the text */
    struct vocabulary vocabulary; /* set up by the caller, for LEAF_CHARACTERS */
    struct token_list tokens;     /* of LEAF_CHARACTERS, example after example */
};

void leaf_release(struct leaf *l);
/* The path is borrowed as long as *l lives. ERR_BAD_FILE names file, and byte offset or user. */
enum err leaf_read_file(struct leaf *l, const char *path, enum data_split split) MUST_CHECK;

#endif
