if HAVE_CHECK
check_LIBRARIES += tests/store/libstoretest.a
tests_store_libstoretest_a_SOURCES = \
	tests/store/model.c tests/store/model.h \
	tests/store/numbered.c tests/store/numbered.h \
	tests/store/support.c tests/store/support.h \
	tests/store/writing.c tests/store/writing.h
tests_store_libstoretest_a_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

STORE_TEST_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(SQLITE_CFLAGS)
STORE_TEST_LIBS = tests/store/libstoretest.a $(SQLITE_STORE_LIBS) $(CHECK_LIBS)
STORE_TESTS = \
	tests/bin/test_store_alloc \
	tests/bin/test_store_backup \
	tests/bin/test_store_blob_state \
	tests/bin/test_store_blobs \
	tests/bin/test_store_damage \
	tests/bin/test_store_faults \
	tests/bin/test_store_kill \
	tests/bin/test_store_migrate \
	tests/bin/test_store_opening \
	tests/bin/test_store_power \
	tests/bin/test_store_queries \
	tests/bin/test_store_queue \
	tests/bin/test_store_records \
	tests/bin/test_store_removal \
	tests/bin/test_store_schema \
	tests/bin/test_store_writes
check_PROGRAMS += $(STORE_TESTS)
TESTS += $(STORE_TESTS)

tests_bin_test_store_alloc_SOURCES = tests/store/test_alloc.c
tests_bin_test_store_alloc_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_alloc_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc
tests_bin_test_store_alloc_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_backup_SOURCES = tests/store/test_backup.c
tests_bin_test_store_backup_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_backup_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_blob_state_SOURCES = tests/store/test_blob_state.c
tests_bin_test_store_blob_state_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_blob_state_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_blobs_SOURCES = tests/store/test_blobs.c
tests_bin_test_store_blobs_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_blobs_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_damage_SOURCES = tests/store/test_damage.c
tests_bin_test_store_damage_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_damage_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_faults_SOURCES = tests/store/test_faults.c tests/store/fault_vfs.c tests/store/fault_vfs.h \
	tests/store/shim_vfs.c tests/store/shim_vfs.h
tests_bin_test_store_faults_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_faults_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_kill_SOURCES = tests/store/test_kill.c
tests_bin_test_store_kill_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_kill_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_migrate_SOURCES = tests/store/test_migrate.c tests/store/fault_vfs.c tests/store/fault_vfs.h \
	tests/store/shim_vfs.c tests/store/shim_vfs.h
tests_bin_test_store_migrate_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_migrate_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_opening_SOURCES = tests/store/test_opening.c
tests_bin_test_store_opening_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_opening_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_power_SOURCES = tests/store/test_power.c tests/store/power_vfs.c tests/store/power_vfs.h \
	tests/store/shim_vfs.c tests/store/shim_vfs.h
tests_bin_test_store_power_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_power_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_queries_SOURCES = tests/store/test_queries.c
tests_bin_test_store_queries_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_queries_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_queue_SOURCES = tests/store/test_queue.c
tests_bin_test_store_queue_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_queue_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_records_SOURCES = tests/store/test_records.c
tests_bin_test_store_records_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_records_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_removal_SOURCES = tests/store/test_removal.c
tests_bin_test_store_removal_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_removal_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_schema_SOURCES = tests/store/test_schema.c
tests_bin_test_store_schema_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_schema_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_writes_SOURCES = tests/store/test_writes.c
tests_bin_test_store_writes_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_writes_LDADD = $(STORE_TEST_LIBS)
endif
