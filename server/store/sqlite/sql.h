/* The SQL of every record and query, made from the tables of records.h and queries.h. */
#ifndef FEDLANE_STORE_SQLITE_SQL_H
#define FEDLANE_STORE_SQLITE_SQL_H

#include "common/base/buf.h"
#include "server/store/schema.h"

#define SQL_MAX ((size_t)16 * 1024)

/* Parameters: a row's columns in their order from 1; of SQL_REMOVE and SQL_GET only the key columns. */
enum sql_row { SQL_INSERT, SQL_UPDATE, SQL_PUT, SQL_REMOVE, SQL_GET, SQL_ROW_COUNT };
enum err sql_row(enum record_kind kind, enum sql_row what, struct buf *out) MUST_CHECK;

/* A query is a statement for each choice of its optional conditions: bit i is set when its i-th optional one
 * is there. */
#define SQL_MAX_OPTIONAL 3
#define SQL_MASKS        (1u << SQL_MAX_OPTIONAL)
unsigned sql_mask(const struct query_type *q, const struct store_value *args);
size_t sql_num_optional(const struct query_type *q);

/* Parameters: condition i is i + 1, then the limit (-1: none). Rows: the record's columns; when counting,
 * their number. */
enum err sql_query(const struct query_type *q, unsigned mask, bool is_counting, struct buf *out) MUST_CHECK;

#endif
