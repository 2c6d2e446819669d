/* One file of LEAF's while it is read, for the files that read it. */
#ifndef FEDLANE_DATA_LEAF_READING_H
#define FEDLANE_DATA_LEAF_READING_H

#include "common/data/json_reader.h"
#include "common/data/leaf_file.h"

struct leaf_reading {
    struct leaf *leaf;
    struct collector *rows;
    struct json_reader json;
    enum data_split split;
    struct name_table listed; /* "users" */
    int64_t *counts;          /* "num_samples" */
    size_t num_counts, counts_room;
    size_t num_users; /* in "user_data" */
    bool has_users, has_counts, has_data;
    /* The user that is being read. */
    size_t device, num_x, num_y;
    int32_t *y;
    size_t y_room;
    float *first; /* the very first example, whose length nobody knows */
    size_t first_len, first_room;
    struct fault *fault;
};

/* Faults: "FILE, byte N: ..." at the present token. */
enum err leaf_fault(struct leaf_reading *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
enum err leaf_no_memory(struct leaf_reading *t);
const char *leaf_user(const struct leaf_reading *t); /* whose data are read */

/* Room for one more element behind `count`. */
bool leaf_grow(void **array, size_t count, size_t *room, size_t size);
/* The next token must be this one. */
enum err leaf_open(struct leaf_reading *t, enum json_token token, const char *what) MUST_CHECK;

/* A user's x or y, from the token that opens the list on. */
enum err leaf_read_list(struct leaf_reading *t, bool is_x) MUST_CHECK;
/* Room for one more label of the user. */
enum err leaf_label_room(struct leaf_reading *t) MUST_CHECK;

/* Examples that are texts: the first token was read. */
enum err leaf_read_characters(struct leaf_reading *t) MUST_CHECK;
enum err leaf_read_character_label(struct leaf_reading *t) MUST_CHECK;
enum err leaf_read_words(struct leaf_reading *t) MUST_CHECK;

#endif
