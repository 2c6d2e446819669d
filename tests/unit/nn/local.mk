if HAVE_CHECK
check_PROGRAMS += tests/bin/test_model
TESTS += tests/bin/test_model

tests_bin_test_model_SOURCES = tests/unit/nn/test_model.c tests/support/elsewhere.c tests/support/elsewhere.h \
	tests/support/unit.h
tests_bin_test_model_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_model_LDADD = $(NN_LIBS) $(CHECK_LIBS)
endif
