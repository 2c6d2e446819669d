if HAVE_CHECK
JSON_TESTS = \
	tests/bin/test_json_emit \
	tests/bin/test_json_num \
	tests/bin/test_json_peek \
	tests/bin/test_json_spec \
	tests/bin/test_json_text
check_PROGRAMS += $(JSON_TESTS)
TESTS += $(JSON_TESTS)

tests_bin_test_json_emit_SOURCES = tests/unit/json/test_json_emit.c $(TEST_SUPPORT)
tests_bin_test_json_emit_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_json_emit_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_json_emit_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_json_num_SOURCES = tests/unit/json/test_json_num.c $(TEST_SUPPORT)
tests_bin_test_json_num_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_json_num_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_json_num_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_json_peek_SOURCES = tests/unit/json/test_json_peek.c $(TEST_SUPPORT)
tests_bin_test_json_peek_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_json_peek_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_json_peek_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_json_spec_SOURCES = tests/unit/json/test_json_spec.c $(TEST_SUPPORT)
tests_bin_test_json_spec_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_json_spec_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_json_spec_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_bin_test_json_text_SOURCES = tests/unit/json/test_json_text.c $(TEST_SUPPORT)
tests_bin_test_json_text_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_json_text_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_json_text_LDADD = $(BASE_LIBS) $(CHECK_LIBS)
endif
