noinst_LIBRARIES += libfedlane-data.a
libfedlane_data_a_SOURCES = \
	common/data/classes.c common/data/classes.h \
	common/data/collector.c common/data/collector.h \
	common/data/csv_reader.c common/data/csv_reader.h \
	common/data/csv_source.c \
	common/data/csv_table.c common/data/csv_table.h \
	common/data/dataset.c common/data/dataset.h common/data/dataset_impl.h \
	common/data/decimal.c common/data/decimal.h \
	common/data/directory.c \
	common/data/fashion_mnist.c \
	common/data/idx.c common/data/idx.h \
	common/data/idx_source.c \
	common/data/images.c common/data/images.h \
	common/data/json_reader.c common/data/json_reader.h \
	common/data/leaf.c \
	common/data/leaf_examples.c common/data/leaf_reading.h \
	common/data/leaf_file.c common/data/leaf_file.h \
	common/data/leaf_texts.c \
	common/data/name_table.c common/data/name_table.h \
	common/data/npy.c common/data/npy.h common/data/npy_impl.h \
	common/data/npy_header.c \
	common/data/npy_source.c \
	common/data/npy_table.c common/data/npy_table.h \
	common/data/npz.c common/data/npz.h \
	common/data/partition.c common/data/partition.h \
	common/data/partition_dirichlet.c \
	common/data/partition_even.c \
	common/data/partition_paper.c \
	common/data/path.c common/data/path.h \
	common/data/pool.c common/data/pool.h \
	common/data/pool_origin.c \
	common/data/sentiment_source.c \
	common/data/shares.c common/data/shares.h \
	common/data/source.h \
	common/data/standardise.c common/data/standardise.h \
	common/data/synthetic.c \
	common/data/table_source.c common/data/table_source.h \
	common/data/text_file.c common/data/text_file.h \
	common/data/text_source.c \
	common/data/token_list.c common/data/token_list.h \
	common/data/vocabulary.c common/data/vocabulary.h \
	common/data/word_vectors.c common/data/word_vectors.h \
	common/data/words.c common/data/words.h
EXTRA_DIST += docs/datasets.md
