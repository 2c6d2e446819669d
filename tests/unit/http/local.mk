if HAVE_CHECK
HTTP_TESTS = \
	tests/bin/test_http
check_PROGRAMS += $(HTTP_TESTS)
TESTS += $(HTTP_TESTS)

tests_bin_test_http_SOURCES = tests/unit/http/test_http.c \
	tests/unit/http/stub_server.c tests/unit/http/stub_server.h
tests_bin_test_http_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_http_LDADD = $(HTTP_LIBS) $(CHECK_LIBS)
endif
