noinst_LIBRARIES += libfedlane-core.a
libfedlane_core_a_SOURCES = \
	server/core/advance.c \
	server/core/aggregation.c server/core/aggregation.h \
	server/core/budget.c server/core/budget.h \
	server/core/collect.c \
	server/core/core.c server/core/core.h server/core/core_impl.h \
	server/core/device.c server/core/device.h server/core/device_labels.c server/core/device_spec.c \
	server/core/enlisted.c \
	server/core/events.c server/core/events.h \
	server/core/experiment.c server/core/experiment.h \
	server/core/gradients.c \
	server/core/id_table.c server/core/id_table.h \
	server/core/json_defaults.c server/core/json_defaults.h \
	server/core/metrics.c server/core/metrics.h \
	server/core/misfit.c server/core/misfit.h \
	server/core/model_writer.c server/core/model_writer.h \
	server/core/names.c server/core/names.h \
	server/core/ops.h \
	server/core/plan.c server/core/plan.h \
	server/core/population.c server/core/population.h \
	server/core/presence.c server/core/presence.h \
	server/core/progress.c server/core/progress.h \
	server/core/retention.c server/core/retention.h \
	server/core/round.c server/core/round.h \
	server/core/round_close.c \
	server/core/round_tasks.c server/core/round_tasks.h \
	server/core/roster.c server/core/roster.h \
	server/core/run_action.c \
	server/core/run_config.c \
	server/core/run_create.c \
	server/core/run_life.c \
	server/core/run_spec.c server/core/run_spec.h \
	server/core/run_spec_systems.c \
	server/core/run_spec_training.c \
	server/core/steps.c server/core/steps.h \
	server/core/strategy.c server/core/strategy.h \
	server/core/strategy_fedprox.c \
	server/core/task_access.c server/core/task_access.h \
	server/core/task_check.c \
	server/core/task_claim.c \
	server/core/task_end.c \
	server/core/task_fail.c \
	server/core/task_report.c server/core/task_report.h \
	server/core/task_update.c \
	server/core/task_upload.c \
	server/core/tensor_file.c server/core/tensor_file.h \
	server/core/token.c server/core/token.h \
	server/core/weights_sent.c \
	server/core/work.c server/core/work.h \
	server/core/worker.c
