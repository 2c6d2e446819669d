# The scheduler, its policies and a virtual clock to try them on: pure C, no device. What reads and writes
# traces is apart, so that nothing else of it needs JSON.
noinst_LIBRARIES += libfedlane-lanes.a
libfedlane_lanes_a_SOURCES = \
	lanes/core/balance.c \
	lanes/core/concurrency.c lanes/core/concurrency.h \
	lanes/core/enter.c \
	lanes/core/estimate.c \
	lanes/core/job.h \
	lanes/core/leave.c \
	lanes/core/memory.c lanes/core/memory.h \
	lanes/core/order.c \
	lanes/core/policy.h \
	lanes/core/run.c \
	lanes/core/scheduler.c lanes/core/scheduler.h \
	lanes/core/steps.h \
	lanes/core/view.c \
	lanes/policies/auto.c \
	lanes/policies/fair.c \
	lanes/policies/fifo.c \
	lanes/policies/las.c \
	lanes/policies/pack.c \
	lanes/policies/policies.c lanes/policies/policies.h \
	lanes/policies/priority.c \
	lanes/policies/salus.c \
	lanes/policies/srtf.c \
	lanes/trace/trace.h \
	lanes/trace/trace_csv.c \
	lanes/trace/trace_line.c \
	lanes/trace/trace_read.c lanes/trace/trace_reading.h \
	lanes/virtual/summary.c lanes/virtual/summary.h \
	lanes/virtual/virtual.c lanes/virtual/virtual.h
