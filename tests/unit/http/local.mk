if HAVE_CHECK
HTTP_TESTS = \
	tests/bin/test_http \
	tests/bin/test_http_loop \
	tests/bin/test_http_replies \
	tests/bin/test_http_tries \
	tests/bin/test_retry \
	tests/bin/test_tls \
	tests/bin/test_url
check_PROGRAMS += $(HTTP_TESTS)
TESTS += $(HTTP_TESTS)

HTTP_RUN = tests/unit/http/http_run.c tests/unit/http/http_run.h \
	tests/unit/http/stub_server.c tests/unit/http/stub_server.h tests/support/unit.h

tests_bin_test_http_SOURCES = tests/unit/http/test_http.c $(HTTP_RUN)
tests_bin_test_http_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_http_LDADD = $(HTTP_LIBS) $(CHECK_LIBS)

tests_bin_test_http_replies_SOURCES = tests/unit/http/test_http_replies.c $(HTTP_RUN)
tests_bin_test_http_replies_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_http_replies_LDADD = $(HTTP_LIBS) $(CHECK_LIBS)

tests_bin_test_http_tries_SOURCES = tests/unit/http/test_http_tries.c $(HTTP_RUN)
tests_bin_test_http_tries_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_http_tries_LDADD = $(HTTP_LIBS) $(CHECK_LIBS)

tests_bin_test_http_loop_SOURCES = tests/unit/http/test_http_loop.c \
	tests/unit/http/stub_server.c tests/unit/http/stub_server.h \
	 $(TEST_SUPPORT)
tests_bin_test_http_loop_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_http_loop_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_http_loop_LDADD = $(HTTP_LIBS) $(CHECK_LIBS)

tests_bin_test_retry_SOURCES = tests/unit/http/test_retry.c $(TEST_SUPPORT)
tests_bin_test_retry_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_retry_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_retry_LDADD = $(HTTP_LIBS) $(CHECK_LIBS)

tests_bin_test_url_SOURCES = tests/unit/http/test_url.c $(TEST_SUPPORT)
tests_bin_test_url_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_url_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_url_LDADD = $(HTTP_LIBS) $(CHECK_LIBS)

# The TLS server in the test: libssl comes with libcrypto.
tests_bin_test_tls_SOURCES = tests/unit/http/test_tls.c tests/support/unit.h
tests_bin_test_tls_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_tls_LDADD = $(HTTP_LIBS) -lssl $(CRYPTO_LIBS) $(CHECK_LIBS)
endif
