if HAVE_CHECK
WORKER_AGENT_TESTS = \
	tests/bin/test_agent \
	tests/bin/test_agent_registration \
	tests/bin/test_device_entry \
	tests/bin/test_device_list \
	tests/bin/test_fair_share \
	tests/bin/test_outbox \
	tests/bin/test_worker_pool \
	tests/bin/test_same_bits \
	tests/bin/test_state_dir \
	tests/bin/test_task_report \
	tests/bin/test_task_runner \
	tests/bin/test_weights \
	tests/bin/test_worker_task
check_PROGRAMS += $(WORKER_AGENT_TESTS)
TESTS += $(WORKER_AGENT_TESTS)

WORKER_AGENT_SUPPORT = $(TEST_SUPPORT) tests/unit/worker_agent/support.c tests/unit/worker_agent/support.h
WORKER_AGENT_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
WORKER_AGENT_LINK = $(AM_LDFLAGS) $(TORTURE_LINK)
WORKER_AGENT_LIBS = libfedlane-worker.a libfedlane-trainer.a $(DATA_LIBS) $(HTTP_LIBS) $(NN_LIBS) $(CHECK_LIBS)

AGENT_LAB = tests/unit/worker_agent/agent_lab.c tests/unit/worker_agent/agent_lab.h \
	tests/unit/http/stub_server.c tests/unit/http/stub_server.h

tests_bin_test_agent_SOURCES = tests/unit/worker_agent/test_agent.c $(WORKER_AGENT_SUPPORT) $(AGENT_LAB)
tests_bin_test_agent_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_agent_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_agent_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_agent_registration_SOURCES = tests/unit/worker_agent/test_agent_registration.c \
	$(WORKER_AGENT_SUPPORT) $(AGENT_LAB)
tests_bin_test_agent_registration_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_agent_registration_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_agent_registration_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_device_entry_SOURCES = tests/unit/worker_agent/test_device_entry.c $(WORKER_AGENT_SUPPORT)
tests_bin_test_device_entry_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_device_entry_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_device_entry_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_device_list_SOURCES = tests/unit/worker_agent/test_device_list.c $(WORKER_AGENT_SUPPORT)
tests_bin_test_device_list_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_device_list_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_device_list_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_outbox_SOURCES = tests/unit/worker_agent/test_outbox.c $(WORKER_AGENT_SUPPORT)
tests_bin_test_outbox_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_outbox_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_outbox_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_worker_pool_SOURCES = tests/unit/worker_agent/test_worker_pool.c $(WORKER_AGENT_SUPPORT)
tests_bin_test_worker_pool_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_worker_pool_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_worker_pool_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_same_bits_SOURCES = tests/unit/worker_agent/test_same_bits.c $(WORKER_AGENT_SUPPORT)
tests_bin_test_same_bits_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_same_bits_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_same_bits_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_state_dir_SOURCES = tests/unit/worker_agent/test_state_dir.c $(WORKER_AGENT_SUPPORT)
tests_bin_test_state_dir_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_state_dir_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_state_dir_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_task_report_SOURCES = tests/unit/worker_agent/test_task_report.c $(WORKER_AGENT_SUPPORT)
tests_bin_test_task_report_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_task_report_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_task_report_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_task_runner_SOURCES = tests/unit/worker_agent/test_task_runner.c $(WORKER_AGENT_SUPPORT)
tests_bin_test_task_runner_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_task_runner_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_task_runner_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_weights_SOURCES = tests/unit/worker_agent/test_weights.c $(WORKER_AGENT_SUPPORT)
tests_bin_test_weights_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_weights_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_weights_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_worker_task_SOURCES = tests/unit/worker_agent/test_worker_task.c $(WORKER_AGENT_SUPPORT)
tests_bin_test_worker_task_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_worker_task_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_worker_task_LDADD = $(WORKER_AGENT_LIBS)
tests_bin_test_fair_share_SOURCES = tests/unit/worker_agent/test_fair_share.c $(TEST_SUPPORT)
tests_bin_test_fair_share_CFLAGS = $(WORKER_AGENT_CFLAGS)
tests_bin_test_fair_share_LDFLAGS = $(WORKER_AGENT_LINK)
tests_bin_test_fair_share_LDADD = $(WORKER_AGENT_LIBS)
endif
