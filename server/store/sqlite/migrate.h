/* Brings a database to the newest schema: sql/README.md has the rules. */
#ifndef FEDLANE_STORE_SQLITE_MIGRATE_H
#define FEDLANE_STORE_SQLITE_MIGRATE_H

#include "common/base/embed.h"
#include "server/store/sqlite/db.h"

/* files: "0001-name.sql", "0002-..." in order. application_id tells this kind of database from others. `path`
 * is for the fault, which refuses another program's database, a schema newer than `files`, and a migration
 * that was changed after it ran; each leaves the file as it was. */
enum err migrate(sqlite3 *db, const char *path, int32_t application_id, const struct embedded_file *files,
                 size_t num_files, struct fault *fault) MUST_CHECK;

/* sql/sqlite and sql/sqlite-blobs, made by build-aux/embed. */
extern const struct embedded_file sql_migrations[];
extern const size_t sql_migrations_count;
extern const struct embedded_file sql_blob_migrations[];
extern const size_t sql_blob_migrations_count;

#endif
