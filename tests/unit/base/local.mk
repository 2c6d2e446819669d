if HAVE_CHECK
BASE_TESTS = \
	tests/bin/test_rng
check_PROGRAMS += $(BASE_TESTS)
TESTS += $(BASE_TESTS)

tests_bin_test_rng_SOURCES = tests/unit/base/test_rng.c
tests_bin_test_rng_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_rng_LDADD = $(BASE_LIBS) $(CHECK_LIBS)
endif
EXTRA_DIST += tests/data/tiny_golden.json tests/data/schedule_golden.json
