/* JSON objects as aligned text: a column names a member, and how it is written. */
#ifndef FEDLANE_CLI_TABLE_H
#define FEDLANE_CLI_TABLE_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

enum cell_kind {
    CELL_TEXT,
    CELL_COUNT,   /* an integer */
    CELL_NUMBER,  /* four significant digits, like 0.3842 */
    CELL_PERCENT, /* of a fraction: 85.7 % */
    CELL_TIME,    /* RFC 3339, to the second */
    CELL_YES_NO,
};

struct table_column {
    const char *title;
    const char *path; /* "metrics.train_loss"; several, separated by '|': the first that is there */
    enum cell_kind kind;
    int min_width; /* for tables that grow line by line */
};

/* The member that a path names; NULL where there is none or it is null. Borrowed. */
json_t *json_at(const json_t *object, const char *path);
const char *json_text_at(const json_t *object, const char *path); /* "" where there is none */
double json_number_at(const json_t *object, const char *path);    /* NaN where there is none */
int64_t json_count_at(const json_t *object, const char *path);    /* -1 where there is none */

/* All at once: each column as wide as it needs. An empty list writes only the titles. */
void table_print(FILE *out, const struct table_column *columns, size_t num_columns, const json_t *items);
/* Line by line, with the columns' min_width. */
void table_print_titles(FILE *out, const struct table_column *columns, size_t num_columns);
void table_print_row(FILE *out, const struct table_column *columns, size_t num_columns, const json_t *item);
/* One object, a line for each column: "title   value". Members that are not there are left out. */
void table_print_object(FILE *out, const struct table_column *columns, size_t num_columns,
                        const json_t *item);

#define CELL_SIZE 512
/* One cell's text, "-" where there is no value. Control characters become '?', so that nothing a server or a
 * device says can move the cursor. */
void cell_text(const struct table_column *column, const json_t *item, char out[CELL_SIZE]);
/* Columns that a text takes on a terminal: code points. */
int text_width(const char *text);
/* Replaces control characters and bytes that are no UTF-8 by '?', in place. */
void text_clean(char *text);

#endif
