if HAVE_CHECK
CORE_TESTS = \
	tests/bin/test_run_life \
	tests/bin/test_round \
	tests/bin/test_task \
	tests/bin/test_aggregation \
	tests/bin/test_run_spec \
	tests/bin/test_plan_of_work \
	tests/bin/test_metrics \
	tests/bin/test_device \
	tests/bin/test_restart \
	tests/bin/test_tables \
	tests/bin/test_failures \
	tests/bin/test_threads \
	tests/bin/test_core_sqlite
check_PROGRAMS += $(CORE_TESTS)
TESTS += $(CORE_TESTS)

CORE_LAB = tests/unit/core/lab.c tests/unit/core/lab.h tests/support/unit.h
CORE_TEST_LIBS = $(CORE_LIBS) $(CHECK_LIBS)

tests_bin_test_run_life_SOURCES = tests/unit/core/test_run_life.c $(CORE_LAB)
tests_bin_test_run_life_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_run_life_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_round_SOURCES = tests/unit/core/test_round.c $(CORE_LAB)
tests_bin_test_round_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_round_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_task_SOURCES = tests/unit/core/test_task.c $(CORE_LAB)
tests_bin_test_task_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_task_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_aggregation_SOURCES = tests/unit/core/test_aggregation.c $(CORE_LAB)
tests_bin_test_aggregation_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_aggregation_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_run_spec_SOURCES = tests/unit/core/test_run_spec.c $(CORE_LAB)
tests_bin_test_run_spec_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_run_spec_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_plan_of_work_SOURCES = tests/unit/core/test_plan_of_work.c $(CORE_LAB)
tests_bin_test_plan_of_work_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_plan_of_work_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_metrics_SOURCES = tests/unit/core/test_metrics.c $(CORE_LAB)
tests_bin_test_metrics_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_metrics_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_device_SOURCES = tests/unit/core/test_device.c $(CORE_LAB)
tests_bin_test_device_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_device_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_restart_SOURCES = tests/unit/core/test_restart.c $(CORE_LAB)
tests_bin_test_restart_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_restart_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_tables_SOURCES = tests/unit/core/test_tables.c $(CORE_LAB)
tests_bin_test_tables_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_tables_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_failures_SOURCES = tests/unit/core/test_failures.c tests/unit/core/flaky_store.c \
	tests/unit/core/flaky_store.h $(CORE_LAB)
tests_bin_test_failures_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_failures_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_threads_SOURCES = tests/unit/core/test_threads.c $(CORE_LAB)
tests_bin_test_threads_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_threads_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_core_sqlite_SOURCES = tests/unit/core/test_sqlite.c $(CORE_LAB)
tests_bin_test_core_sqlite_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_core_sqlite_LDADD = libfedlane-core.a $(SQLITE_STORE_LIBS) $(FL_LIBS) $(CHECK_LIBS)
endif
