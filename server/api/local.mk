noinst_LIBRARIES += libfedlane-api.a
libfedlane_api_a_SOURCES = \
	server/api/alone.c \
	server/api/alone.h \
	server/api/api.c \
	server/api/api.h \
	server/api/arch_cache.c \
	server/api/arch_cache.h \
	server/api/audit.c server/api/audit.h \
	server/api/auth_limit.c server/api/auth_limit.h \
	server/api/auth.c \
	server/api/beat_scan.c server/api/beat_scan.h \
	server/api/caller.h \
	server/api/canonical.c \
	server/api/canonical.h \
	server/api/claim.c \
	server/api/context.c \
	server/api/context.h \
	server/api/dashboard.c \
	server/api/device_filter.c \
	server/api/device_filter.h \
	server/api/device_json.c \
	server/api/device_json.h \
	server/api/device_list.c \
	server/api/devices.c \
	server/api/events.c \
	server/api/experiments.c \
	server/api/fields.c \
	server/api/fields.h \
	server/api/handlers.h \
	server/api/health.c \
	server/api/heartbeat.c \
	server/api/idempotency.c \
	server/api/login.c \
	server/api/login_code.c \
	server/api/login_code.h \
	server/api/lttb.c \
	server/api/lttb.h \
	server/api/metric_points.c \
	server/api/metric_points.h \
	server/api/metric_steps.c \
	server/api/metrics.c \
	server/api/models.c \
	server/api/models.h \
	server/api/mutation.c \
	server/api/mutation.h \
	server/api/observe.c \
	server/api/observe.h \
	server/api/offer.c \
	server/api/offer.h \
	server/api/ownership.c \
	server/api/openapi.c \
	server/api/page.c \
	server/api/page.h \
	server/api/prometheus.c \
	server/api/put_weights.c \
	server/api/register.c \
	server/api/report.c \
	server/api/report.h \
	server/api/resumable.c server/api/resumable.h \
	server/api/resumable_append.c \
	server/api/resumable_finish.c \
	server/api/room.c server/api/room.h \
	server/api/round_numbers.c \
	server/api/round_numbers.h \
	server/api/round_walk.c server/api/round_walk.h \
	server/api/rounds.c \
	server/api/routes.c \
	server/api/routes.h \
	server/api/run_json.c \
	server/api/run_json.h \
	server/api/running_uploads.c server/api/running_uploads.h \
	server/api/runs.c \
	server/api/sparkline.c \
	server/api/sparkline.h \
	server/api/task_json.c \
	server/api/task_json.h \
	server/api/tasks.c \
	server/api/tokens.c \
	server/api/update.c \
	server/api/upload.c \
	server/api/upload.h \
	server/api/weights.c \
	server/api/work.c \
	server/api/workers.c
nodist_libfedlane_api_a_SOURCES = server/api/openapi_files.c

server/api/openapi_files.c: build-aux/embed docs/openapi.json
	$(AM_V_GEN)$(MKDIR_P) server/api && \
	$(srcdir)/build-aux/embed openapi_files $(srcdir)/docs openapi.json >$@.tmp && mv $@.tmp $@
CLEANFILES += server/api/openapi_files.c
EXTRA_DIST += docs/openapi.json

# All of the server but main(), so that tests run it in their own process.
noinst_LIBRARIES += libfedlane-server.a
libfedlane_server_a_SOURCES = \
	server/backup.c server/backup.h \
	server/backup_files.c server/backup_files.h \
	server/compact.c server/compact.h \
	server/conductor.c server/conductor.h \
	server/control.c server/control.h \
	server/data_dir.c server/data_dir.h \
	server/init_tls.c server/init_tls.h \
	server/login_link.c server/login_link.h \
	server/options.c server/options.h \
	server/restore.c server/restore.h \
	server/service.c server/service.h
SERVER_LIBS = libfedlane-server.a libfedlane-api.a libfedlane-httpd.a libfedlane-core.a libfedlane-sqlite.a \
	libfedlane-store.a $(FL_LIBS) $(MICROHTTPD_LIBS) $(GNUTLS_LIBS) $(SQLITE_LIBS)

bin_PROGRAMS += bin/fedlane-server
bin_fedlane_server_SOURCES = server/main.c
bin_fedlane_server_LDADD = $(SERVER_LIBS)

noinst_PROGRAMS += bench/fill_runs
bench_fill_runs_SOURCES = bench/fill_runs.c bench/fill.c bench/fill.h
bench_fill_runs_LDADD = $(SERVER_LIBS)

noinst_PROGRAMS += bench/fill_fleet
bench_fill_fleet_SOURCES = bench/fill_fleet.c bench/fill.c bench/fill.h
bench_fill_fleet_LDADD = $(SERVER_LIBS)
