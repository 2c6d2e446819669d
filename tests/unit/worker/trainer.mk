if HAVE_CHECK
TRAINER_TESTS = \
	tests/bin/test_float64_paper \
	tests/bin/test_float64_trainer \
	tests/bin/test_float64_trainer_golden \
	tests/bin/test_no_allocation \
	tests/bin/test_paper \
	tests/bin/test_trainer \
	tests/bin/test_trainer_golden
check_PROGRAMS += $(TRAINER_TESTS)
TESTS += $(TRAINER_TESTS)
TRAINER_TEST_SUPPORT = tests/support/memory_dataset.c tests/support/memory_dataset.h tests/support/unit.h

tests_bin_test_trainer_SOURCES = tests/unit/worker/test_trainer.c $(TRAINER_TEST_SUPPORT) \
	tests/unit/worker/support.c tests/unit/worker/support.h
tests_bin_test_trainer_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_trainer_LDADD = libfedlane-trainer.a $(NN_LIBS) $(CHECK_LIBS)

tests_bin_test_trainer_golden_SOURCES = tests/unit/worker/test_trainer_golden.c $(TRAINER_TEST_SUPPORT) \
	tests/unit/worker/support.c tests/unit/worker/support.h
tests_bin_test_trainer_golden_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_trainer_golden_LDADD = libfedlane-trainer.a $(NN_LIBS) $(CHECK_LIBS)

tests_bin_test_paper_SOURCES = tests/unit/worker/test_paper.c tests/support/unit.h
tests_bin_test_paper_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_paper_LDADD = libfedlane-trainer.a $(DATA_LIBS) $(NN_LIBS) $(CHECK_LIBS)

tests_bin_test_no_allocation_SOURCES = tests/unit/worker/test_no_allocation.c $(TRAINER_TEST_SUPPORT)
tests_bin_test_no_allocation_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_no_allocation_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc
tests_bin_test_no_allocation_LDADD = libfedlane-trainer.a $(NN_LIBS) $(CHECK_LIBS)

# The trainer and what it computes with once more in float64, on the plain backend.
check_LIBRARIES += tests/libfedlane-float64.a
tests_libfedlane_float64_a_SOURCES = \
	common/compute/compute.c \
	common/compute/compute_descent.c \
	common/compute/compute_image.c \
	common/compute/compute_lstm.c \
	common/compute/compute_ops.c \
	common/compute/host_memory.c \
	common/compute/memory_limit.c \
	common/compute/reference/conv.c \
	common/compute/reference/dense.c \
	common/compute/reference/descent.c \
	common/compute/reference/image.c \
	common/compute/reference/lstm.c \
	common/compute/reference/reference.c \
	common/compute/reference/sequence.c \
	common/compute/reference/sigmoid.c \
	common/compute/reference/softmax.c \
	common/compute/reference/vector.c \
	common/data/synthetic.c \
	common/fl/average.c \
	common/fl/dissimilarity.c \
	common/nn/conv2d.c \
	common/nn/dense.c \
	common/nn/descent.c \
	common/nn/dropout.c \
	common/nn/embedding.c \
	common/nn/layer.c \
	common/nn/loss.c \
	common/nn/lstm.c \
	common/nn/max_pool2d.c \
	common/nn/model.c \
	common/nn/model_layers.c \
	common/nn/model_memory.c \
	common/nn/model_params.c \
	common/nn/relu.c \
	common/nn/tanh.c \
	common/nn/unpack.c \
	worker/data_fit.c \
	worker/trainer_local.c
tests_libfedlane_float64_a_CPPFLAGS = $(AM_CPPFLAGS) -DFEDLANE_FLOAT64

tests_bin_test_float64_trainer_SOURCES = $(tests_bin_test_trainer_SOURCES)
tests_bin_test_float64_trainer_CPPFLAGS = $(tests_libfedlane_float64_a_CPPFLAGS)
tests_bin_test_float64_trainer_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_float64_trainer_LDADD = tests/libfedlane-float64.a $(FL_LIBS) $(CHECK_LIBS)

tests_bin_test_float64_trainer_golden_SOURCES = $(tests_bin_test_trainer_golden_SOURCES)
tests_bin_test_float64_trainer_golden_CPPFLAGS = $(tests_libfedlane_float64_a_CPPFLAGS)
tests_bin_test_float64_trainer_golden_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_float64_trainer_golden_LDADD = tests/libfedlane-float64.a $(FL_LIBS) $(CHECK_LIBS)

tests_bin_test_float64_paper_SOURCES = $(tests_bin_test_paper_SOURCES) tests/support/float64_dataset.c
tests_bin_test_float64_paper_CPPFLAGS = $(tests_libfedlane_float64_a_CPPFLAGS)
tests_bin_test_float64_paper_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_float64_paper_LDADD = tests/libfedlane-float64.a $(DATA_LIBS) $(FL_LIBS) $(CHECK_LIBS)
endif
