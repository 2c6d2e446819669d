# Tensors, model descriptions and the mathematics of federated learning: what the server needs of a model. No BLAS.
noinst_LIBRARIES += libfedlane-fl.a
libfedlane_fl_a_SOURCES = \
	common/fl/average.c common/fl/average.h \
	common/fl/dissimilarity.c common/fl/dissimilarity.h \
	common/fl/learning_rate.c common/fl/learning_rate.h \
	common/fl/optimizer.c common/fl/optimizer.h \
	common/fl/proximal.c common/fl/proximal.h \
	common/fl/schedule.c common/fl/schedule.h \
	common/model/arch.c common/model/arch.h \
	common/model/arch_impl.h \
	common/model/arch_init.c \
	common/model/arch_layers.c \
	common/model/arch_presets.c \
	common/model/arch_vocabulary.c \
	common/model/shape.c common/model/shape.h \
	common/tensor/safetensors.h \
	common/tensor/safetensors_decode.c \
	common/tensor/safetensors_encode.c \
	common/tensor/safetensors_header.c \
	common/tensor/safetensors_internal.h \
	common/tensor/safetensors_scan.c \
	common/tensor/safetensors_stream.c \
	common/tensor/tensor.c common/tensor/tensor.h
