if HAVE_CHECK
check_PROGRAMS += tests/bin/test_route_table
TESTS += tests/bin/test_route_table
tests_bin_test_route_table_SOURCES = tests/api/test_route_table.c tests/support/unit.h
tests_bin_test_route_table_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_route_table_LDADD = $(SERVER_LIBS) $(CHECK_LIBS)
endif
