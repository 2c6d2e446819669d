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

# Against the Python package; left out (exit 77) where build/venv is not there.
check_PROGRAMS += tests/bin/safetensors_tool
TESTS += tests/support/safetensors_roundtrip.py
EXTRA_DIST += tests/support/safetensors_roundtrip.py
tests/support/safetensors_roundtrip.log: tests/bin/safetensors_tool
tests_bin_safetensors_tool_SOURCES = tests/support/safetensors_tool.c
tests_bin_safetensors_tool_LDADD = $(FL_LIBS)
