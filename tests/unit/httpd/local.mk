if HAVE_CHECK
HTTPD_TESTS = \
	tests/bin/test_httpd_exchange
check_PROGRAMS += $(HTTPD_TESTS)
TESTS += $(HTTPD_TESTS)

HTTPD_FIXTURE = \
	tests/support/http_client.c tests/support/http_client.h tests/support/unit.h \
	tests/unit/httpd/fixture.c tests/unit/httpd/fixture.h tests/unit/httpd/fixture_routes.c
HTTPD_TEST_LIBS = $(HTTPD_LIBS) $(CHECK_LIBS)

tests_bin_test_httpd_exchange_SOURCES = tests/unit/httpd/test_exchange.c $(HTTPD_FIXTURE)
tests_bin_test_httpd_exchange_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_httpd_exchange_LDADD = $(HTTPD_TEST_LIBS)
endif
