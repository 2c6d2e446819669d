noinst_LIBRARIES += libfedlane-data.a
libfedlane_data_a_SOURCES = \
	common/data/dataset.c common/data/dataset.h common/data/dataset_impl.h \
	common/data/fashion_mnist.c \
	common/data/idx.c common/data/idx.h \
	common/data/idx_source.c \
	common/data/images.c common/data/images.h \
	common/data/npy.c common/data/npy.h common/data/npy_impl.h \
	common/data/npy_header.c \
	common/data/npz.c common/data/npz.h \
	common/data/partition.c common/data/partition.h \
	common/data/partition_dirichlet.c \
	common/data/partition_even.c \
	common/data/partition_paper.c \
	common/data/path.c common/data/path.h \
	common/data/pool.c common/data/pool.h \
	common/data/shares.c common/data/shares.h \
	common/data/source.h \
	common/data/synthetic.c
EXTRA_DIST += docs/datasets.md
