if HAVE_CHECK
check_PROGRAMS += tests/bin/test_ops tests/bin/test_tiles
TESTS += tests/bin/test_ops tests/bin/test_tiles

tests_bin_test_ops_SOURCES = tests/compute/test_ops.c \
	tests/compute/descent_ops.c tests/compute/descent_ops.h \
	tests/compute/grad_ops.c tests/compute/grad_ops.h \
	tests/compute/image_ops.c tests/compute/image_ops.h \
	tests/compute/logit_ops.c tests/compute/logit_ops.h \
	tests/compute/lstm_ops.c tests/compute/lstm_ops.h \
	tests/compute/sequence_ops.c tests/compute/sequence_ops.h \
	tests/compute/perf_ops.c tests/compute/perf_ops.h \
	tests/compute/op_check.c tests/compute/op_check.h \
	tests/support/elsewhere.c tests/support/elsewhere.h tests/support/unit.h
tests_bin_test_ops_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_ops_LDADD = $(NN_LIBS) $(CHECK_LIBS)

tests_bin_test_tiles_SOURCES = tests/compute/test_tiles.c \
	tests/compute/op_check.c tests/compute/op_check.h tests/support/unit.h
tests_bin_test_tiles_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_tiles_LDADD = $(NN_LIBS) $(CHECK_LIBS)
endif
