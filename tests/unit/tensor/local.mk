if HAVE_CHECK
TENSOR_TESTS = \
	tests/bin/test_tensor \
	tests/bin/test_safetensors
check_PROGRAMS += $(TENSOR_TESTS)
TESTS += $(TENSOR_TESTS)

tests_bin_test_tensor_SOURCES = tests/unit/tensor/test_tensor.c tests/support/unit.h
tests_bin_test_tensor_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_tensor_LDADD = $(FL_LIBS) $(CHECK_LIBS)

tests_bin_test_safetensors_SOURCES = tests/unit/tensor/test_safetensors.c tests/support/unit.h
tests_bin_test_safetensors_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_safetensors_LDADD = $(FL_LIBS) $(CHECK_LIBS)
endif
