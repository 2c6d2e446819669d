if HAVE_CHECK
HTTPD_TESTS = \
	tests/bin/test_httpd_exchange \
	tests/bin/test_httpd_body \
	tests/bin/test_httpd_reply \
	tests/bin/test_httpd_wait \
	tests/bin/test_httpd_events \
	tests/bin/test_httpd_lifecycle \
	tests/bin/test_httpd_load \
	tests/bin/test_httpd_parts \
	tests/bin/test_httpd_torture
check_PROGRAMS += $(HTTPD_TESTS)
TESTS += $(HTTPD_TESTS)

HTTPD_FIXTURE = \
	tests/support/http_client.c tests/support/http_client.h tests/support/unit.h \
	tests/unit/httpd/fixture.c tests/unit/httpd/fixture.h tests/unit/httpd/fixture_routes.c
HTTPD_TEST_LIBS = $(HTTPD_LIBS) $(CHECK_LIBS)
HTTPD_TEST_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

tests_bin_test_httpd_exchange_SOURCES = tests/unit/httpd/test_exchange.c $(HTTPD_FIXTURE)
tests_bin_test_httpd_exchange_CFLAGS = $(HTTPD_TEST_CFLAGS)
tests_bin_test_httpd_exchange_LDADD = $(HTTPD_TEST_LIBS)

tests_bin_test_httpd_body_SOURCES = tests/unit/httpd/test_body.c $(HTTPD_FIXTURE)
tests_bin_test_httpd_body_CFLAGS = $(HTTPD_TEST_CFLAGS)
tests_bin_test_httpd_body_LDADD = $(HTTPD_TEST_LIBS)

tests_bin_test_httpd_reply_SOURCES = tests/unit/httpd/test_reply.c $(HTTPD_FIXTURE)
tests_bin_test_httpd_reply_CFLAGS = $(HTTPD_TEST_CFLAGS)
tests_bin_test_httpd_reply_LDADD = $(HTTPD_TEST_LIBS)

tests_bin_test_httpd_wait_SOURCES = tests/unit/httpd/test_wait.c $(HTTPD_FIXTURE)
tests_bin_test_httpd_wait_CFLAGS = $(HTTPD_TEST_CFLAGS)
tests_bin_test_httpd_wait_LDADD = $(HTTPD_TEST_LIBS)

tests_bin_test_httpd_events_SOURCES = tests/unit/httpd/test_events.c $(HTTPD_FIXTURE)
tests_bin_test_httpd_events_CFLAGS = $(HTTPD_TEST_CFLAGS)
tests_bin_test_httpd_events_LDADD = $(HTTPD_TEST_LIBS)

tests_bin_test_httpd_lifecycle_SOURCES = tests/unit/httpd/test_lifecycle.c $(HTTPD_FIXTURE)
tests_bin_test_httpd_lifecycle_CFLAGS = $(HTTPD_TEST_CFLAGS)
tests_bin_test_httpd_lifecycle_LDADD = $(HTTPD_TEST_LIBS)

tests_bin_test_httpd_load_SOURCES = tests/unit/httpd/test_load.c $(HTTPD_FIXTURE)
tests_bin_test_httpd_load_CFLAGS = $(HTTPD_TEST_CFLAGS)
tests_bin_test_httpd_load_LDADD = libfedlane-load.a -lssl $(HTTPD_TEST_LIBS)

tests_bin_test_httpd_parts_SOURCES = tests/unit/httpd/test_parts.c tests/support/unit.h
tests_bin_test_httpd_parts_CFLAGS = $(HTTPD_TEST_CFLAGS)
tests_bin_test_httpd_parts_LDADD = $(HTTPD_TEST_LIBS)

tests_bin_test_httpd_torture_SOURCES = tests/unit/httpd/test_torture.c $(HTTPD_FIXTURE) \
	tests/support/alloc_fail.c tests/support/alloc_fail.h
tests_bin_test_httpd_torture_CFLAGS = $(HTTPD_TEST_CFLAGS)
tests_bin_test_httpd_torture_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_httpd_torture_LDADD = $(HTTPD_TEST_LIBS)
endif
