if HAVE_CHECK
TEST_SUPPORT = tests/support/unit.h tests/support/alloc_fail.c tests/support/alloc_fail.h
# Lets a test make the n-th allocation of our own objects fail: tests/support/alloc_fail.h.
TORTURE_LINK = -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=strdup -Wl,--wrap=strndup

BASE_TESTS = \
	tests/bin/test_arena \
	tests/bin/test_atomic_file \
	tests/bin/test_buf \
	tests/bin/test_clock \
	tests/bin/test_config \
	tests/bin/test_err \
	tests/bin/test_file \
	tests/bin/test_ids \
	tests/bin/test_log \
	tests/bin/test_rng \
	tests/bin/test_str
check_PROGRAMS += $(BASE_TESTS)
TESTS += $(BASE_TESTS)

tests_bin_test_arena_SOURCES = tests/unit/base/test_arena.c $(TEST_SUPPORT)
tests_bin_test_arena_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_arena_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_arena_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_atomic_file_SOURCES = tests/unit/base/test_atomic_file.c tests/support/unit.h
tests_bin_test_atomic_file_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_atomic_file_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fsync -Wl,--wrap=rename -Wl,--wrap=renameat2
tests_bin_test_atomic_file_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_buf_SOURCES = tests/unit/base/test_buf.c $(TEST_SUPPORT)
tests_bin_test_buf_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_buf_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_buf_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_clock_SOURCES = tests/unit/base/test_clock.c $(TEST_SUPPORT)
tests_bin_test_clock_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_clock_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_clock_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_config_SOURCES = tests/unit/base/test_config.c $(TEST_SUPPORT)
tests_bin_test_config_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_config_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_config_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_err_SOURCES = tests/unit/base/test_err.c $(TEST_SUPPORT)
tests_bin_test_err_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_err_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_err_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_file_SOURCES = tests/unit/base/test_file.c $(TEST_SUPPORT)
tests_bin_test_file_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_file_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_file_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_ids_SOURCES = tests/unit/base/test_ids.c $(TEST_SUPPORT)
tests_bin_test_ids_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_ids_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_ids_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_log_SOURCES = tests/unit/base/test_log.c $(TEST_SUPPORT)
tests_bin_test_log_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_log_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_log_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_rng_SOURCES = tests/unit/base/test_rng.c $(TEST_SUPPORT)
tests_bin_test_rng_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_rng_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_rng_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_str_SOURCES = tests/unit/base/test_str.c $(TEST_SUPPORT)
tests_bin_test_str_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_str_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_str_LDADD = $(BASE_LIBS) $(CHECK_LIBS)
endif
EXTRA_DIST += tests/data/tiny_golden.json tests/data/schedule_golden.json
