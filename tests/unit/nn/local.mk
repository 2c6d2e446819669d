if HAVE_CHECK
NN_TESTS = \
	tests/bin/test_descent \
	tests/bin/test_float64_descent \
	tests/bin/test_float64_layers \
	tests/bin/test_layers \
	tests/bin/test_model
check_PROGRAMS += $(NN_TESTS)
TESTS += $(NN_TESTS)

NN_TEST_SUPPORT = tests/support/elsewhere.c tests/support/elsewhere.h tests/support/unit.h

tests_bin_test_descent_SOURCES = tests/unit/nn/test_descent.c tests/support/unit.h
tests_bin_test_descent_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_descent_LDADD = $(NN_LIBS) $(CHECK_LIBS)

tests_bin_test_float64_descent_SOURCES = tests/unit/nn/test_descent.c tests/support/unit.h
tests_bin_test_float64_descent_CPPFLAGS = $(tests_libfedlane_float64_a_CPPFLAGS)
tests_bin_test_float64_descent_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_float64_descent_LDADD = tests/libfedlane-float64.a $(FL_LIBS) $(CHECK_LIBS)

tests_bin_test_layers_SOURCES = tests/unit/nn/test_layers.c $(NN_TEST_SUPPORT)
tests_bin_test_layers_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_layers_LDADD = $(NN_LIBS) $(CHECK_LIBS)

tests_bin_test_float64_layers_SOURCES = tests/unit/nn/test_layers.c tests/support/unit.h
tests_bin_test_float64_layers_CPPFLAGS = $(tests_libfedlane_float64_a_CPPFLAGS)
tests_bin_test_float64_layers_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_float64_layers_LDADD = tests/libfedlane-float64.a $(FL_LIBS) $(CHECK_LIBS)

tests_bin_test_model_SOURCES = tests/unit/nn/test_model.c $(NN_TEST_SUPPORT)
tests_bin_test_model_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_model_LDADD = $(NN_LIBS) $(CHECK_LIBS)
endif
