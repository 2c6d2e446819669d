noinst_LIBRARIES += libfedlane-worker.a
libfedlane_worker_a_SOURCES = \
	worker/evaluator.c worker/evaluator.h \
	worker/task_report.c \
	worker/task_runner.c worker/task_runner.h \
	worker/trainer_cache.c worker/trainer_cache.h \
	worker/worker_task.c worker/worker_task.h
