# The same work in PyTorch. Left out (exit 77) where Debian's python3-torch is not installed, and under sanitizers.
check_PROGRAMS += tests/bin/local_job
tests_bin_local_job_SOURCES = tests/torch/local_job.c
tests_bin_local_job_LDADD = libfedlane-trainer.a $(DATA_LIBS) $(NN_LIBS)

TORCH_TESTS = tests/torch/test_torch.py tests/torch/test_export.py
TESTS += $(TORCH_TESTS)
EXTRA_DIST += $(TORCH_TESTS) tests/torch/torch_side.py
tests/torch/test_torch.log tests/torch/test_export.log: tests/bin/local_job
