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
	tests/bin/test_registration \
	tests/bin/test_restart \
	tests/bin/test_tables \
	tests/bin/test_failures \
	tests/bin/test_threads \
	tests/bin/test_core_sqlite
check_PROGRAMS += $(CORE_TESTS)
TESTS += $(CORE_TESTS)

check_LIBRARIES += tests/unit/core/libcoretest.a
tests_unit_core_libcoretest_a_SOURCES = \
	tests/unit/core/lab.c tests/unit/core/lab.h \
	tests/unit/core/lab_device.c \
	tests/unit/core/lab_look.c \
	tests/support/unit.h
tests_unit_core_libcoretest_a_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
CORE_TEST_LIBS = tests/unit/core/libcoretest.a $(CORE_LIBS) $(CHECK_LIBS)

tests_bin_test_run_life_SOURCES = tests/unit/core/test_run_life.c
tests_bin_test_run_life_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_run_life_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_round_SOURCES = tests/unit/core/test_round.c
tests_bin_test_round_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_round_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_task_SOURCES = tests/unit/core/test_task.c
tests_bin_test_task_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_task_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_aggregation_SOURCES = tests/unit/core/test_aggregation.c
tests_bin_test_aggregation_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_aggregation_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_run_spec_SOURCES = tests/unit/core/test_run_spec.c
tests_bin_test_run_spec_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_run_spec_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_plan_of_work_SOURCES = tests/unit/core/test_plan_of_work.c
tests_bin_test_plan_of_work_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_plan_of_work_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_metrics_SOURCES = tests/unit/core/test_metrics.c
tests_bin_test_metrics_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_metrics_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_device_SOURCES = tests/unit/core/test_device.c
tests_bin_test_device_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_device_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_registration_SOURCES = tests/unit/core/test_registration.c
tests_bin_test_registration_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_registration_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_restart_SOURCES = tests/unit/core/test_restart.c
tests_bin_test_restart_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_restart_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_tables_SOURCES = tests/unit/core/test_tables.c
tests_bin_test_tables_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_tables_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_failures_SOURCES = tests/unit/core/test_failures.c tests/unit/core/flaky_store.c \
	tests/unit/core/flaky_store.h
tests_bin_test_failures_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_failures_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_threads_SOURCES = tests/unit/core/test_threads.c
tests_bin_test_threads_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_threads_LDADD = $(CORE_TEST_LIBS)

tests_bin_test_core_sqlite_SOURCES = tests/unit/core/test_sqlite.c
tests_bin_test_core_sqlite_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_core_sqlite_LDADD = tests/unit/core/libcoretest.a libfedlane-core.a $(SQLITE_STORE_LIBS) $(FL_LIBS) \
	$(CHECK_LIBS)
endif
