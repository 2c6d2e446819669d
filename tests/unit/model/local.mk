if HAVE_CHECK
MODEL_TESTS = \
	tests/bin/test_arch
check_PROGRAMS += $(MODEL_TESTS)
TESTS += $(MODEL_TESTS)

tests_bin_test_arch_SOURCES = tests/unit/model/test_arch.c tests/support/unit.h
tests_bin_test_arch_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_arch_LDADD = $(FL_LIBS) $(CHECK_LIBS)
endif
