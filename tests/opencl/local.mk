# A worker whose OpenCL device can fail; tests/scenario/test_opencl.py starts it.
noinst_PROGRAMS += tests/bin/fedlane-worker-opencl
tests_bin_fedlane_worker_opencl_SOURCES = worker/main.c tests/opencl/failing_device.c
tests_bin_fedlane_worker_opencl_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cl_library_get
tests_bin_fedlane_worker_opencl_LDADD = $(bin_fedlane_worker_LDADD)
