/* Comma-separated values (RFC 4180), with titles in the first line. */
#ifndef FEDLANE_CLI_CSV_H
#define FEDLANE_CLI_CSV_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"

/* Appends a field, quoted where it must be, and what stands behind it. */
enum err csv_add_text(struct buf *csv, const char *text, bool is_last) MUST_CHECK;
/* NULL and null are empty, numbers parse back to the same bits. */
enum err csv_add(struct buf *csv, const json_t *value, bool is_last) MUST_CHECK;

struct csv {
    const char **titles;
    size_t num_columns, num_rows;
    const char **cells; /* [num_rows][num_columns] */
    size_t *lines;      /* [num_rows]: counted from 1, the titles being the first */
};

/* Reads a whole text, whose quotes are undone in place; everything else lies in the arena. A title line is
 * required, and each row must have as many fields: ERR_BAD_FILE says in which line that fails. */
enum err csv_parse(char *text, struct arena *arena, struct csv *out, struct fault *fault) MUST_CHECK;
/* -1 where there is no such title. */
int csv_column(const struct csv *c, const char *title);
static inline const char *csv_cell(const struct csv *c, size_t row, int column)
{
    return c->cells[row * c->num_columns + (size_t)column];
}

#endif
