if HAVE_CHECK
API_TESTS = \
	tests/bin/test_route_table \
	tests/bin/test_api_access \
	tests/bin/test_api_audit \
	tests/bin/test_api_enrollment \
	tests/bin/test_api_dashboard \
	tests/bin/test_api_diverged \
	tests/bin/test_api_history \
	tests/bin/test_api_input \
	tests/bin/test_api_login \
	tests/bin/test_api_idempotency \
	tests/bin/test_api_uploads tests/bin/test_api_updates \
	tests/bin/test_api_weights \
	tests/bin/test_api_claims \
	tests/bin/test_api_device_list \
	tests/bin/test_api_resources \
	tests/bin/test_api_events \
	tests/bin/test_api_revocation \
	tests/bin/test_api_work \
	tests/bin/test_api_sparkline \
	tests/bin/test_api_torture \
	tests/bin/test_api_load \
	tests/bin/test_lttb \
	tests/bin/test_auth_limit \
	tests/bin/test_beat_scan \
	tests/bin/test_options \
	tests/bin/test_data_dir
check_PROGRAMS += $(API_TESTS)
TESTS += $(API_TESTS)

API_LAB = tests/api/lab.c tests/api/lab.h tests/support/http_client.c tests/support/http_client.h tests/support/unit.h
API_TEST_LIBS = $(SERVER_LIBS) $(CHECK_LIBS)

tests_bin_test_route_table_SOURCES = tests/api/test_route_table.c tests/support/unit.h
tests_bin_test_route_table_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_route_table_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_device_list_SOURCES = tests/api/test_device_list.c $(API_LAB)
tests_bin_test_api_device_list_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_device_list_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_access_SOURCES = tests/api/test_access.c $(API_LAB)
tests_bin_test_api_access_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_access_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_audit_SOURCES = tests/api/test_audit.c $(API_LAB)
tests_bin_test_api_audit_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_audit_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_enrollment_SOURCES = tests/api/test_enrollment.c $(API_LAB)
tests_bin_test_api_enrollment_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_enrollment_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_dashboard_SOURCES = tests/api/test_dashboard.c $(API_LAB)
tests_bin_test_api_dashboard_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_dashboard_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_diverged_SOURCES = tests/api/test_diverged.c $(API_LAB)
tests_bin_test_api_diverged_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_diverged_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_input_SOURCES = tests/api/test_input.c $(API_LAB)
tests_bin_test_api_input_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_input_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_login_SOURCES = tests/api/test_login.c $(API_LAB)
tests_bin_test_api_login_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_login_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_idempotency_SOURCES = tests/api/test_idempotency.c $(API_LAB)
tests_bin_test_api_idempotency_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_idempotency_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_uploads_SOURCES = tests/api/test_uploads.c $(API_LAB)
tests_bin_test_api_uploads_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_uploads_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_updates_SOURCES = tests/api/test_updates.c $(API_LAB)
tests_bin_test_api_updates_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_updates_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_weights_SOURCES = tests/api/test_weights.c $(API_LAB)
tests_bin_test_api_weights_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_weights_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_claims_SOURCES = tests/api/test_claims.c $(API_LAB)
tests_bin_test_api_claims_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_claims_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_history_SOURCES = tests/api/test_history.c tests/api/pages.c tests/api/pages.h $(API_LAB)
tests_bin_test_api_history_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_history_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_resources_SOURCES = tests/api/test_resources.c tests/api/pages.c tests/api/pages.h $(API_LAB)
tests_bin_test_api_resources_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_resources_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_events_SOURCES = tests/api/test_events.c $(API_LAB)
tests_bin_test_api_events_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_events_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_revocation_SOURCES = tests/api/test_revocation.c $(API_LAB)
tests_bin_test_api_revocation_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_revocation_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_work_SOURCES = tests/api/test_work.c $(API_LAB)
tests_bin_test_api_work_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_work_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_sparkline_SOURCES = tests/api/test_sparkline.c $(API_LAB)
tests_bin_test_api_sparkline_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_sparkline_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_load_SOURCES = tests/api/test_load.c $(API_LAB)
tests_bin_test_api_load_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_api_load_LDADD = $(API_TEST_LIBS)

tests_bin_test_api_torture_SOURCES = tests/api/test_torture.c tests/api/torture_steps.c tests/api/torture_steps.h \
	tests/support/alloc_fail.c tests/support/alloc_fail.h tests/support/unit.h \
	tests/store/fault_vfs.c tests/store/fault_vfs.h tests/store/shim_vfs.c tests/store/shim_vfs.h \
	tests/store/support.c tests/store/support.h \
	tests/unit/core/flaky_store.c tests/unit/core/flaky_store.h $(FUZZ_SERVER)
tests_bin_test_api_torture_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(SQLITE_CFLAGS)
tests_bin_test_api_torture_LDFLAGS = $(AM_LDFLAGS) $(TORTURE_LINK)
tests_bin_test_api_torture_LDADD = $(API_TEST_LIBS)

tests_bin_test_lttb_SOURCES = tests/unit/api/test_lttb.c tests/support/unit.h
tests_bin_test_lttb_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_lttb_LDADD = $(API_TEST_LIBS)

tests_bin_test_beat_scan_SOURCES = tests/unit/api/test_beat_scan.c tests/support/unit.h
tests_bin_test_beat_scan_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_beat_scan_LDADD = $(API_TEST_LIBS)

tests_bin_test_auth_limit_SOURCES = tests/unit/api/test_auth_limit.c tests/support/unit.h
tests_bin_test_auth_limit_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_auth_limit_LDADD = $(API_TEST_LIBS)

tests_bin_test_options_SOURCES = tests/unit/server/test_options.c tests/support/unit.h
tests_bin_test_options_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_options_LDADD = $(API_TEST_LIBS)

tests_bin_test_data_dir_SOURCES = tests/unit/server/test_data_dir.c tests/support/unit.h
tests_bin_test_data_dir_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_bin_test_data_dir_LDADD = $(API_TEST_LIBS)
endif
