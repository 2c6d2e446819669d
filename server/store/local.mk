noinst_LIBRARIES += libfedlane-store.a libfedlane-sqlite.a
libfedlane_store_a_SOURCES = \
	server/store/backup.h \
	server/store/blobs.h \
	server/store/idmap.c server/store/idmap.h \
	server/store/queries.h \
	server/store/records.c server/store/records.h \
	server/store/schema.c server/store/schema.h \
	server/store/store.h \
	server/store/topics.c server/store/topics.h \
	server/store/write_wait.c \
	server/store/memory/blobs.c \
	server/store/memory/find.c \
	server/store/memory/index.c \
	server/store/memory/store.c \
	server/store/memory/table.c server/store/memory/table.h \
	server/store/memory/tree.c server/store/memory/tree.h

libfedlane_sqlite_a_SOURCES = \
	server/store/sqlite/backup.c \
	server/store/sqlite/backup_check.c \
	server/store/sqlite/blob_file.c \
	server/store/sqlite/blob_flush.c \
	server/store/sqlite/blob_flusher.c \
	server/store/sqlite/blob_put.c \
	server/store/sqlite/blob_state.c \
	server/store/sqlite/blobs.c server/store/sqlite/blobs.h \
	server/store/sqlite/checkpointer.c server/store/sqlite/checkpointer.h \
	server/store/sqlite/copy.c server/store/sqlite/copy.h \
	server/store/sqlite/conn.c server/store/sqlite/conn.h \
	server/store/sqlite/db.c server/store/sqlite/db.h \
	server/store/sqlite/location.c server/store/sqlite/location.h \
	server/store/sqlite/migrate.c server/store/sqlite/migrate.h \
	server/store/sqlite/pace.c server/store/sqlite/pace.h \
	server/store/sqlite/readers.c server/store/sqlite/readers.h \
	server/store/sqlite/sql.c server/store/sqlite/sql.h \
	server/store/sqlite/store.c \
	server/store/sqlite/writer.c server/store/sqlite/writer.h
nodist_libfedlane_sqlite_a_SOURCES = \
	server/store/sqlite/sql_migrations.c \
	server/store/sqlite/sql_blob_migrations.c
libfedlane_sqlite_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)

# In the order of their numbers.
SQL_MIGRATIONS = 0001-initial.sql 0002-task-type.sql 0003-device-history.sql 0004-audit.sql 0005-enrollment-uses.sql \
	0006-upload.sql 0007-run-device-position.sql 0008-device-label.sql 0009-update-report.sql
SQL_BLOB_MIGRATIONS = 0001-initial.sql

# make's own folder rules do not know these: each is one command, so that no half file is left behind.
server/store/sqlite/sql_migrations.c: build-aux/embed $(SQL_MIGRATIONS:%=sql/sqlite/%)
	$(AM_V_GEN)$(MKDIR_P) server/store/sqlite && \
	$(srcdir)/build-aux/embed sql_migrations $(srcdir)/sql/sqlite $(SQL_MIGRATIONS) >$@.tmp && mv $@.tmp $@
server/store/sqlite/sql_blob_migrations.c: build-aux/embed $(SQL_BLOB_MIGRATIONS:%=sql/sqlite-blobs/%)
	$(AM_V_GEN)$(MKDIR_P) server/store/sqlite && \
	$(srcdir)/build-aux/embed sql_blob_migrations $(srcdir)/sql/sqlite-blobs $(SQL_BLOB_MIGRATIONS) >$@.tmp && \
	mv $@.tmp $@
CLEANFILES += server/store/sqlite/sql_migrations.c server/store/sqlite/sql_blob_migrations.c
EXTRA_DIST += build-aux/embed sql/README.md $(SQL_MIGRATIONS:%=sql/sqlite/%) \
	$(SQL_BLOB_MIGRATIONS:%=sql/sqlite-blobs/%)

noinst_PROGRAMS += bench/bench_store
bench_bench_store_SOURCES = bench/bench_store.c
bench_bench_store_LDADD = $(SQLITE_STORE_LIBS)

noinst_PROGRAMS += bench/bench_removal
bench_bench_removal_SOURCES = bench/bench_removal.c
bench_bench_removal_LDADD = $(SQLITE_STORE_LIBS)
