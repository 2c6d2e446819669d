if HAVE_CHECK
FL_TESTS = \
	tests/bin/test_average \
	tests/bin/test_optimizer \
	tests/bin/test_schedule \
	tests/bin/test_proximal \
	tests/bin/test_dissimilarity
check_PROGRAMS += $(FL_TESTS)
TESTS += $(FL_TESTS)

tests_bin_test_average_SOURCES = tests/unit/fl/test_average.c tests/support/unit.h
tests_bin_test_average_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_average_LDADD = $(FL_LIBS) $(CHECK_LIBS)

tests_bin_test_optimizer_SOURCES = tests/unit/fl/test_optimizer.c tests/support/unit.h
tests_bin_test_optimizer_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_optimizer_LDADD = $(FL_LIBS) $(CHECK_LIBS)

tests_bin_test_schedule_SOURCES = tests/unit/fl/test_schedule.c tests/support/unit.h
tests_bin_test_schedule_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_schedule_LDADD = $(FL_LIBS) $(CHECK_LIBS)

tests_bin_test_proximal_SOURCES = tests/unit/fl/test_proximal.c tests/support/unit.h
tests_bin_test_proximal_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_proximal_LDADD = $(FL_LIBS) $(CHECK_LIBS)

tests_bin_test_dissimilarity_SOURCES = tests/unit/fl/test_dissimilarity.c tests/support/unit.h
tests_bin_test_dissimilarity_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_dissimilarity_LDADD = $(FL_LIBS) $(CHECK_LIBS)
endif
