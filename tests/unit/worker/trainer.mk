if HAVE_CHECK
TRAINER_TESTS = \
	tests/bin/test_no_allocation \
	tests/bin/test_paper \
	tests/bin/test_trainer
check_PROGRAMS += $(TRAINER_TESTS)
TESTS += $(TRAINER_TESTS)
TRAINER_TEST_SUPPORT = tests/support/memory_dataset.c tests/support/memory_dataset.h tests/support/unit.h

tests_bin_test_trainer_SOURCES = tests/unit/worker/test_trainer.c $(TRAINER_TEST_SUPPORT)
tests_bin_test_trainer_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_trainer_LDADD = libfedlane-trainer.a $(NN_LIBS) $(CHECK_LIBS)

tests_bin_test_paper_SOURCES = tests/unit/worker/test_paper.c tests/support/unit.h
tests_bin_test_paper_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_paper_LDADD = libfedlane-trainer.a $(DATA_LIBS) $(NN_LIBS) $(CHECK_LIBS)

tests_bin_test_no_allocation_SOURCES = tests/unit/worker/test_no_allocation.c $(TRAINER_TEST_SUPPORT)
tests_bin_test_no_allocation_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_no_allocation_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc
tests_bin_test_no_allocation_LDADD = libfedlane-trainer.a $(NN_LIBS) $(CHECK_LIBS)
endif
