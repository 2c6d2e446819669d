# Arithmetic and layers: what trains. Only this library needs a BLAS.
noinst_LIBRARIES += libfedlane-nn.a libfedlane-trainer.a
libfedlane_nn_a_SOURCES = \
	common/compute/compute.c common/compute/compute.h \
	common/compute/compute_impl.h \
	common/compute/compute_descent.c common/compute/compute_descent.h \
	common/compute/compute_image.c common/compute/compute_image.h \
	common/compute/compute_lstm.c common/compute/compute_lstm.h \
	common/compute/compute_ops.c \
	common/compute/host_memory.c \
	common/compute/memory_limit.c \
	common/compute/opencl/cl_find.c common/compute/opencl/cl_find.h \
	common/compute/opencl/cl_library.c common/compute/opencl/cl_library.h \
	common/compute/opencl/cl_session.c common/compute/opencl/cl_device.h \
	common/compute/opencl/launch.c common/compute/opencl/launch.h \
	common/compute/opencl/opencl.c common/compute/opencl/opencl.h \
	common/compute/opencl/opencl_conv.c \
	common/compute/opencl/opencl_dense.c \
	common/compute/opencl/opencl_descent.c \
	common/compute/opencl/opencl_image.c \
	common/compute/opencl/opencl_run.c \
	common/compute/opencl/opencl_sequence.c \
	common/compute/openblas/conv.c common/compute/openblas/conv.h \
	common/compute/openblas/lstm.h \
	common/compute/openblas/kernels.c common/compute/openblas/kernels.h \
	common/compute/openblas/kernels_avx2.c \
	common/compute/openblas/kernels_avx512.c \
	common/compute/openblas/kernels_baseline.c \
	common/compute/openblas/kernels_template.h \
	common/compute/openblas/openblas.c \
	common/compute/openblas/template_conv.h \
	common/compute/openblas/template_descent.h \
	common/compute/openblas/template_dot.h \
	common/compute/openblas/template_exponential.h \
	common/compute/openblas/template_lstm.h \
	common/compute/openblas/template_long.h \
	common/compute/openblas/template_many.h \
	common/compute/openblas/template_norm.h \
	common/compute/openblas/template_outer.h \
	common/compute/openblas/template_panel.h \
	common/compute/openblas/template_pointwise.h \
	common/compute/openblas/template_relu.h \
	common/compute/openblas/template_sequence.h \
	common/compute/openblas/template_softmax.h \
	common/compute/openblas/template_step.h \
	common/compute/openblas/template_winograd.h \
	common/compute/openblas/tiles.c common/compute/openblas/tiles.h \
	common/compute/reference/conv.c \
	common/compute/reference/dense.c \
	common/compute/reference/descent.c \
	common/compute/reference/image.c \
	common/compute/reference/lstm.c \
	common/compute/reference/reference.c common/compute/reference/reference.h \
	common/compute/reference/sequence.c \
	common/compute/reference/sigmoid.c \
	common/compute/reference/softmax.c \
	common/compute/reference/vector.c \
	common/compute/team.c common/compute/team.h \
	common/nn/conv2d.c \
	common/nn/dense.c \
	common/nn/descent.c common/nn/descent.h \
	common/nn/dropout.c \
	common/nn/embedding.c \
	common/nn/layer.c common/nn/layer.h \
	common/nn/loss.c common/nn/loss.h \
	common/nn/lstm.c \
	common/nn/max_pool2d.c \
	common/nn/model.c common/nn/model.h \
	common/nn/model_layers.c common/nn/model_layers.h \
	common/nn/model_memory.c common/nn/model_memory.h \
	common/nn/model_params.c common/nn/model_params.h \
	common/nn/relu.c \
	common/nn/sgd.h \
	common/nn/tanh.c \
	common/nn/unpack.c
libfedlane_nn_a_CFLAGS = $(AM_CFLAGS) $(OPENBLAS_CFLAGS)

# The kernels travel as text in the program; the device's own compiler builds them. common.cl comes first.
OPENCL_KERNELS = common.cl conv.cl dense.cl descent.cl few.cl image.cl lstm.cl sequence.cl softmax.cl vector.cl
nodist_libfedlane_nn_a_SOURCES = common/compute/opencl/opencl_sources.c
common/compute/opencl/opencl_sources.c: build-aux/embed Makefile $(OPENCL_KERNELS:%=common/compute/opencl/%)
	$(AM_V_GEN)$(MKDIR_P) common/compute/opencl && $(srcdir)/build-aux/embed opencl_sources \
	$(srcdir)/common/compute/opencl $(OPENCL_KERNELS) >$@.tmp && mv $@.tmp $@
CLEANFILES += common/compute/opencl/opencl_sources.c
EXTRA_DIST += $(OPENCL_KERNELS:%=common/compute/opencl/%)

# The worker's trainer, which `fedlane simulate` uses too.
libfedlane_trainer_a_SOURCES = worker/data_fit.c worker/data_fit.h worker/trainer.h worker/trainer_local.c

# What `./dev bench local` runs.
noinst_PROGRAMS += bench/bench_local
bench_bench_local_SOURCES = bench/bench_local.c
bench_bench_local_CFLAGS = $(AM_CFLAGS) $(OPENBLAS_CFLAGS)
bench_bench_local_LDADD = libfedlane-trainer.a $(DATA_LIBS) $(NN_LIBS)

# What `./dev bench aggregate` runs.
noinst_PROGRAMS += bench/bench_aggregate
bench_bench_aggregate_SOURCES = bench/bench_aggregate.c
bench_bench_aggregate_LDADD = $(FL_LIBS)
