/* What commands print, in the format that was asked for. */
#ifndef FEDLANE_CLI_PRINT_H
#define FEDLANE_CLI_PRINT_H

#include "cli/cli.h"
#include "cli/table.h"

/* table: the columns; json: one array; jsonl: one object a line. */
enum err print_items(struct cli *cli, const struct table_column *columns, size_t num_columns,
                     const json_t *items) MUST_CHECK;
/* table: a line per column; json: indented; jsonl: one line. */
enum err print_object(struct cli *cli, const struct table_column *columns, size_t num_columns,
                      const json_t *object) MUST_CHECK;
/* A JSON value, indented or (jsonl) on one line. */
enum err print_json(const struct cli *cli, const json_t *value) MUST_CHECK;

#endif
