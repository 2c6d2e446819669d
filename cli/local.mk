bin_PROGRAMS += bin/fedlane

# Everything but main, so that the tests link it, too.
noinst_LIBRARIES += libfedlane-cli.a
libfedlane_cli_a_SOURCES = \
	cli/cli.c cli/cli.h \
	cli/command.c cli/command.h \
	cli/commands.c cli/commands.h \
	cli/compare.c \
	cli/csv.c cli/csv.h \
	cli/data/data_file.c cli/data/data_file.h \
	cli/data/data_plot.c cli/data/data_plot.h \
	cli/data/data_stats.c cli/data/data_stats.h \
	cli/data/device_file.c cli/data/device_file.h \
	cli/data/part_dir.c cli/data/part_dir.h \
	cli/data/partition.c \
	cli/data/stats.c \
	cli/data/vocabulary.c \
	cli/doctor.c \
	cli/lanes/simulate.c \
	cli/members.c \
	cli/metrics.c \
	cli/model.c \
	cli/out_file.c cli/out_file.h \
	cli/print.c cli/print.h \
	cli/rest.c cli/rest.h \
	cli/round_view.c cli/round_view.h \
	cli/run.c cli/run.h \
	cli/spec_file.c cli/spec_file.h \
	cli/table.c cli/table.h \
	cli/simulate/sim.c cli/simulate/sim.h cli/simulate/sim_impl.h \
	cli/simulate/sim_crew.c cli/simulate/sim_crew.h \
	cli/simulate/sim_forget.c \
	cli/simulate/sim_record.c cli/simulate/sim_record.h \
	cli/simulate/sim_register.c \
	cli/simulate/sim_report.c cli/simulate/sim_report.h \
	cli/simulate/sim_model.c \
	cli/simulate/sim_systems.c cli/simulate/sim_systems.h \
	cli/simulate/sim_tasks.c \
	cli/simulate/sim_time.c cli/simulate/sim_time.h \
	cli/simulate/sim_trace.c cli/simulate/sim_trace.h \
	cli/simulate/sim_vocabulary.c cli/simulate/sim_vocabulary.h \
	cli/simulate/simulate.c \
	cli/simulate/sweep.c cli/simulate/sweep.h \
	cli/simulate/sweep_check.c \
	cli/simulate/sweep_crew.c \
	cli/simulate/sweep_data.c cli/simulate/sweep_data.h \
	cli/simulate/sweep_files.c \
	cli/simulate/sweep_folder.c \
	cli/simulate/sweep_grid.c \
	cli/simulate/sweep_plan.c \
	cli/simulate/sweep_plot.c cli/simulate/sweep_plot.h \
	cli/simulate/sweep_progress.c cli/simulate/sweep_progress.h \
	cli/simulate/sweep_report.c \
	cli/simulate/sweep_run.c \
	cli/simulate/sweep_stat.c \
	cli/plot/gnuplot.c cli/plot/gnuplot.h \
	cli/plot/script.c cli/plot/script.h \
	cli/plot/series.c cli/plot/series.h \
	cli/watch/screen.c cli/watch/screen.h \
	cli/watch/sse.c cli/watch/sse.h \
	cli/watch/view.c cli/watch/view.h \
	cli/watch/waiting.c cli/watch/waiting.h \
	cli/watch/watch.c \
	cli/watch/watched.c cli/watch/watched.h

bin_fedlane_SOURCES = cli/main.c
CLI_LIBS = libfedlane-cli.a $(LANES_LIBS) libfedlane-worker.a libfedlane-trainer.a $(CORE_LIBS) $(DATA_LIBS) $(HTTP_LIBS) $(NN_LIBS)
bin_fedlane_LDADD = $(CLI_LIBS)

EXTRA_DIST += \
	examples/README.md \
	examples/curl-device.sh examples/curl-run.json \
	examples/data/fashion-10.json examples/data/fashion-100.json examples/data/fashion-1000.json \
	examples/data/kjv.json examples/data/synthetic-1-1.json \
	examples/demo-fedavg.json examples/demo-fedprox.json examples/demo.sh \
	examples/fashion-mnist.json examples/fashion-mnist-cnn.json examples/fashion-mnist-dirichlet.json \
	examples/kjv.sh examples/kjv-char-lstm.json \
	examples/machines.csv examples/machines.json \
	examples/slow-devices.json \
	examples/synthetic-1-1.json
