bin_PROGRAMS += bin/fedlane

# Everything but main, so that the tests link it, too.
noinst_LIBRARIES += libfedlane-cli.a
libfedlane_cli_a_SOURCES = \
	cli/cli.c cli/cli.h \
	cli/command.c cli/command.h \
	cli/commands.c cli/commands.h \
	cli/csv.c cli/csv.h \
	cli/out_file.c cli/out_file.h \
	cli/round_view.c cli/round_view.h \
	cli/spec_file.c cli/spec_file.h \
	cli/table.c cli/table.h \
	cli/simulate/sim.c cli/simulate/sim.h cli/simulate/sim_impl.h \
	cli/simulate/sim_crew.c cli/simulate/sim_crew.h \
	cli/simulate/sim_register.c \
	cli/simulate/sim_report.c cli/simulate/sim_report.h \
	cli/simulate/sim_tasks.c \
	cli/simulate/simulate.c

bin_fedlane_SOURCES = cli/main.c
CLI_LIBS = libfedlane-cli.a libfedlane-worker.a libfedlane-trainer.a $(CORE_LIBS) $(DATA_LIBS) $(HTTP_LIBS) $(NN_LIBS)
bin_fedlane_LDADD = $(CLI_LIBS)
