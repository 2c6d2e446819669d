noinst_LIBRARIES += libfedlane-worker.a
libfedlane_worker_a_SOURCES = \
	worker/agent.c worker/agent.h worker/agent_impl.h \
	worker/agent_claim.c \
	worker/agent_fetch.c \
	worker/agent_heartbeat.c \
	worker/agent_register.c \
	worker/agent_send.c \
	worker/agent_upload.c \
	worker/device_entry.c worker/device_entry.h \
	worker/device_list.c worker/device_list.h \
	worker/evaluator.c worker/evaluator.h \
	worker/fair_share.c worker/fair_share.h \
	worker/job.c worker/job.h \
	worker/job_run.c worker/job_run.h \
	worker/outbox.c worker/outbox.h \
	worker/pool.c worker/pool.h \
	worker/state_dir.c worker/state_dir.h \
	worker/task_report.c \
	worker/task_runner.c worker/task_runner.h \
	worker/trainer_cache.c worker/trainer_cache.h \
	worker/update_block.c worker/update_block.h \
	worker/upload_time.c worker/upload_time.h \
	worker/weights.c worker/weights.h \
	worker/worker_task.c worker/worker_task.h

bin_PROGRAMS += bin/fedlane-worker
bin_fedlane_worker_SOURCES = worker/main.c
bin_fedlane_worker_LDADD = libfedlane-worker.a libfedlane-trainer.a $(DATA_LIBS) $(HTTP_LIBS) $(NN_LIBS)
