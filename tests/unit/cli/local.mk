if HAVE_CHECK
CLI_TESTS = \
	tests/bin/test_cli_command \
	tests/bin/test_cli_csv \
	tests/bin/test_cli_out_file \
	tests/bin/test_cli_plot \
	tests/bin/test_cli_sim_time \
	tests/bin/test_cli_sim_trace \
	tests/bin/test_cli_simulate \
	tests/bin/test_cli_spec_file \
	tests/bin/test_cli_sse \
	tests/bin/test_cli_table \
	tests/bin/test_cli_watch
check_PROGRAMS += $(CLI_TESTS)
TESTS += $(CLI_TESTS)
CLI_TEST_LIBS = $(CLI_LIBS) $(CHECK_LIBS)

tests_bin_test_cli_command_SOURCES = tests/unit/cli/test_command.c tests/support/unit.h
tests_bin_test_cli_command_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_cli_command_LDADD = $(CLI_TEST_LIBS)
tests_bin_test_cli_csv_SOURCES = tests/unit/cli/test_csv.c tests/support/unit.h
tests_bin_test_cli_csv_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_cli_csv_LDADD = $(CLI_TEST_LIBS)
tests_bin_test_cli_out_file_SOURCES = tests/unit/cli/test_out_file.c tests/support/unit.h
tests_bin_test_cli_out_file_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_cli_out_file_LDADD = $(CLI_TEST_LIBS)
tests_bin_test_cli_plot_SOURCES = tests/unit/cli/test_plot.c tests/support/unit.h
tests_bin_test_cli_plot_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_cli_plot_LDADD = $(CLI_TEST_LIBS)
tests_bin_test_cli_sim_time_SOURCES = tests/unit/cli/test_sim_time.c tests/support/unit.h
tests_bin_test_cli_sim_time_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_cli_sim_time_LDADD = $(CLI_TEST_LIBS)
tests_bin_test_cli_sim_trace_SOURCES = tests/unit/cli/test_sim_trace.c tests/support/unit.h
tests_bin_test_cli_sim_trace_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_cli_sim_trace_LDADD = $(CLI_TEST_LIBS)
tests_bin_test_cli_simulate_SOURCES = tests/unit/cli/test_simulate.c tests/support/unit.h
tests_bin_test_cli_simulate_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_cli_simulate_LDADD = $(CLI_TEST_LIBS)
tests_bin_test_cli_spec_file_SOURCES = tests/unit/cli/test_spec_file.c tests/support/unit.h
tests_bin_test_cli_spec_file_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_cli_spec_file_LDADD = $(CLI_TEST_LIBS)
tests_bin_test_cli_sse_SOURCES = tests/unit/cli/test_sse.c tests/support/unit.h
tests_bin_test_cli_sse_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_cli_sse_LDADD = $(CLI_TEST_LIBS)
tests_bin_test_cli_table_SOURCES = tests/unit/cli/test_table.c tests/support/unit.h
tests_bin_test_cli_table_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_cli_table_LDADD = $(CLI_TEST_LIBS)
tests_bin_test_cli_watch_SOURCES = tests/unit/cli/test_watch.c tests/support/unit.h
tests_bin_test_cli_watch_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_cli_watch_LDADD = $(CLI_TEST_LIBS)
endif
