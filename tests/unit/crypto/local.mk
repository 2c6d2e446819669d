if HAVE_CHECK
CRYPTO_TESTS = \
	tests/bin/test_sha256 \
	tests/bin/test_token
check_PROGRAMS += $(CRYPTO_TESTS)
TESTS += $(CRYPTO_TESTS)

tests_bin_test_sha256_SOURCES = tests/unit/crypto/test_sha256.c $(TEST_SUPPORT)
tests_bin_test_sha256_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_sha256_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_sha256_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_token_SOURCES = tests/unit/crypto/test_token.c $(TEST_SUPPORT)
tests_bin_test_token_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_token_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_token_LDADD = $(BASE_LIBS) $(CHECK_LIBS)
endif
