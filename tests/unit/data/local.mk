if HAVE_CHECK
DATA_TESTS = \
	tests/bin/test_csv \
	tests/bin/test_dataset \
	tests/bin/test_decimal \
	tests/bin/test_directory \
	tests/bin/test_fashion_mnist \
	tests/bin/test_idx \
	tests/bin/test_leaf \
	tests/bin/test_npy \
	tests/bin/test_npy_source \
	tests/bin/test_partition \
	tests/bin/test_pool \
	tests/bin/test_sentiment \
	tests/bin/test_standardise \
	tests/bin/test_synthetic \
	tests/bin/test_table_memory \
	tests/bin/test_text
check_PROGRAMS += $(DATA_TESTS)
TESTS += $(DATA_TESTS)

check_LIBRARIES += tests/bin/libdatatest.a
tests_bin_libdatatest_a_SOURCES = tests/unit/data/support.c tests/unit/data/support.h
tests_bin_libdatatest_a_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
DATA_TEST_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
DATA_TEST_LIBS = tests/bin/libdatatest.a $(DATA_LIBS) $(CHECK_LIBS)

tests_bin_test_csv_SOURCES = tests/unit/data/test_csv.c tests/support/unit.h
tests_bin_test_csv_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_csv_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_decimal_SOURCES = tests/unit/data/test_decimal.c tests/support/unit.h
tests_bin_test_decimal_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_decimal_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_directory_SOURCES = tests/unit/data/test_directory.c tests/support/unit.h
tests_bin_test_directory_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_directory_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_leaf_SOURCES = tests/unit/data/test_leaf.c tests/support/unit.h
tests_bin_test_leaf_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_leaf_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_npy_source_SOURCES = tests/unit/data/test_npy_source.c tests/support/unit.h
tests_bin_test_npy_source_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_npy_source_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_sentiment_SOURCES = tests/unit/data/test_sentiment.c tests/support/unit.h
tests_bin_test_sentiment_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_sentiment_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_text_SOURCES = tests/unit/data/test_text.c tests/support/unit.h
tests_bin_test_text_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_text_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_standardise_SOURCES = tests/unit/data/test_standardise.c tests/support/unit.h
tests_bin_test_standardise_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_standardise_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_dataset_SOURCES = tests/unit/data/test_dataset.c
tests_bin_test_dataset_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_dataset_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_fashion_mnist_SOURCES = tests/unit/data/test_fashion_mnist.c
tests_bin_test_fashion_mnist_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_fashion_mnist_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_idx_SOURCES = tests/unit/data/test_idx.c
tests_bin_test_idx_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_idx_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_npy_SOURCES = tests/unit/data/test_npy.c tests/support/unit.h
tests_bin_test_npy_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_npy_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_partition_SOURCES = tests/unit/data/test_partition.c
tests_bin_test_partition_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_partition_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_pool_SOURCES = tests/unit/data/test_pool.c
tests_bin_test_pool_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_pool_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_table_memory_SOURCES = tests/unit/data/test_table_memory.c $(TEST_SUPPORT)
tests_bin_test_table_memory_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_table_memory_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_table_memory_LDADD = $(DATA_TEST_LIBS)
tests_bin_test_synthetic_SOURCES = tests/unit/data/test_synthetic.c
tests_bin_test_synthetic_CFLAGS = $(DATA_TEST_CFLAGS)
tests_bin_test_synthetic_LDADD = $(DATA_TEST_LIBS)
endif
EXTRA_DIST += tests/data/paper_golden.json tests/data/fmnist_golden.json tests/data/numpy
