if HAVE_CHECK
LANES_TESTS = \
	tests/bin/test_lanes_auto \
	tests/bin/test_lanes_concurrency \
	tests/bin/test_lanes_memory \
	tests/bin/test_lanes_policies \
	tests/bin/test_lanes_random \
	tests/bin/test_lanes_scheduler \
	tests/bin/test_lanes_trace \
	tests/bin/test_lanes_trace100
check_PROGRAMS += $(LANES_TESTS)
TESTS += $(LANES_TESTS)

check_LIBRARIES += tests/unit/lanes/liblanestest.a
tests_unit_lanes_liblanestest_a_SOURCES = \
	tests/unit/lanes/desk.c tests/unit/lanes/desk.h \
	tests/unit/lanes/lab.c tests/unit/lanes/lab.h \
	tests/support/unit.h
tests_unit_lanes_liblanestest_a_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
LANES_TEST_LIBS = tests/unit/lanes/liblanestest.a $(LANES_LIBS) $(CHECK_LIBS)

tests_bin_test_lanes_auto_SOURCES = tests/unit/lanes/test_auto.c
tests_bin_test_lanes_auto_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_lanes_auto_LDADD = $(LANES_TEST_LIBS)

tests_bin_test_lanes_concurrency_SOURCES = tests/unit/lanes/test_concurrency.c
tests_bin_test_lanes_concurrency_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_lanes_concurrency_LDADD = $(LANES_TEST_LIBS)

tests_bin_test_lanes_memory_SOURCES = tests/unit/lanes/test_memory.c
tests_bin_test_lanes_memory_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_lanes_memory_LDADD = $(LANES_TEST_LIBS)

tests_bin_test_lanes_policies_SOURCES = tests/unit/lanes/test_policies.c
tests_bin_test_lanes_policies_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_lanes_policies_LDADD = $(LANES_TEST_LIBS)

tests_bin_test_lanes_random_SOURCES = tests/unit/lanes/test_random.c
tests_bin_test_lanes_random_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_lanes_random_LDADD = $(LANES_TEST_LIBS)

tests_bin_test_lanes_scheduler_SOURCES = tests/unit/lanes/test_scheduler.c tests/support/alloc_fail.c tests/support/alloc_fail.h
tests_bin_test_lanes_scheduler_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_lanes_scheduler_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_lanes_scheduler_LDADD = $(LANES_TEST_LIBS)

tests_bin_test_lanes_trace_SOURCES = tests/unit/lanes/test_trace.c
tests_bin_test_lanes_trace_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_lanes_trace_LDADD = $(LANES_TEST_LIBS)

tests_bin_test_lanes_trace100_SOURCES = tests/unit/lanes/test_trace100.c
tests_bin_test_lanes_trace100_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_lanes_trace100_LDADD = $(LANES_TEST_LIBS)
endif
EXTRA_DIST += tests/data/trace100.csv
