if HAVE_CHECK
check_LIBRARIES += tests/store/libstoretest.a
tests_store_libstoretest_a_SOURCES = \
	tests/store/model.c tests/store/model.h \
	tests/store/support.c tests/store/support.h
tests_store_libstoretest_a_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

STORE_TEST_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(SQLITE_CFLAGS)
STORE_TEST_LIBS = tests/store/libstoretest.a $(SQLITE_STORE_LIBS) $(CHECK_LIBS)
STORE_TESTS = \
	tests/bin/test_store_alloc \
	tests/bin/test_store_blob_state \
	tests/bin/test_store_blobs \
	tests/bin/test_store_faults \
	tests/bin/test_store_queries \
	tests/bin/test_store_records \
	tests/bin/test_store_sqlite \
	tests/bin/test_store_writes
check_PROGRAMS += $(STORE_TESTS)
TESTS += $(STORE_TESTS)

tests_bin_test_store_alloc_SOURCES = tests/store/test_alloc.c
tests_bin_test_store_alloc_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_alloc_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc
tests_bin_test_store_alloc_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_blob_state_SOURCES = tests/store/test_blob_state.c
tests_bin_test_store_blob_state_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_blob_state_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_blobs_SOURCES = tests/store/test_blobs.c
tests_bin_test_store_blobs_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_blobs_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_faults_SOURCES = tests/store/test_faults.c tests/store/fault_vfs.c tests/store/fault_vfs.h
tests_bin_test_store_faults_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_faults_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_queries_SOURCES = tests/store/test_queries.c
tests_bin_test_store_queries_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_queries_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_records_SOURCES = tests/store/test_records.c
tests_bin_test_store_records_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_records_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_sqlite_SOURCES = tests/store/test_sqlite.c
tests_bin_test_store_sqlite_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_sqlite_LDADD = $(STORE_TEST_LIBS)

tests_bin_test_store_writes_SOURCES = tests/store/test_writes.c
tests_bin_test_store_writes_CFLAGS = $(STORE_TEST_CFLAGS)
tests_bin_test_store_writes_LDADD = $(STORE_TEST_LIBS)
endif
