# The dashboard (web/README.md). Each list is in the order in which the files are joined: what a module uses when it is
# loaded stands before it.
WEB_CSS = \
	web/css/tokens.css \
	web/css/base.css \
	web/css/layout.css \
	web/css/components.css \
	web/css/table.css \
	web/css/form.css \
	web/css/view_runs.css \
	web/css/charts.css \
	web/css/strip.css \
	web/css/view_run.css \
	web/css/view_round.css \
	web/css/fleet.css \
	web/css/view_compare.css \
	web/css/view_server.css

WEB_JS = \
	web/js/dom.js \
	web/js/format.js \
	web/js/time.js \
	web/js/http.js \
	web/js/session.js \
	web/js/api.js \
	web/js/toast.js \
	web/js/command.js \
	web/js/states.js \
	web/js/confirm.js \
	web/js/sse.js \
	web/js/stream.js \
	web/js/router.js \
	web/js/theme.js \
	web/js/table.js \
	web/js/sparkline.js \
	web/js/header.js \
	web/js/view_sign_in.js \
	web/js/renewal.js \
	web/js/follower.js \
	web/js/shell.js \
	web/js/run_actions.js \
	web/js/run_row.js \
	web/js/runs_columns.js \
	web/js/runs_bar.js \
	web/js/view_runs.js \
	web/js/pretty_json.js \
	web/js/schema.js \
	web/js/schema_check.js \
	web/js/fields.js \
	web/js/form.js \
	web/js/model_helper.js \
	web/js/model_field.js \
	web/js/view_new_run.js \
	web/js/series.js \
	web/js/scales.js \
	web/js/chart_svg.js \
	web/js/chart_theme.js \
	web/js/chart_config.js \
	web/js/chart_table.js \
	web/js/chart_files.js \
	web/js/chart_figure.js \
	web/js/chart_lib.js \
	web/js/charts.js \
	web/js/work.js \
	web/js/run_trouble.js \
	web/js/strip_layout.js \
	web/js/strip_paint.js \
	web/js/strip_words.js \
	web/js/strip_parts.js \
	web/js/strip.js \
	web/js/event_words.js \
	web/js/spec_diff.js \
	web/js/save.js \
	web/js/run_data.js \
	web/js/run_head.js \
	web/js/run_charts.js \
	web/js/run_rounds.js \
	web/js/run_log.js \
	web/js/run_spec.js \
	web/js/run_files.js \
	web/js/view_run.js \
	web/js/stats.js \
	web/js/task_cells.js \
	web/js/gantt_layout.js \
	web/js/gantt.js \
	web/js/round_rows.js \
	web/js/round_table.js \
	web/js/round_head.js \
	web/js/view_round.js \
	web/js/steady.js \
	web/js/parts.js \
	web/js/prom.js \
	web/js/server_facts.js \
	web/js/view_server.js \
	web/js/fleet.js \
	web/js/scatter_layout.js \
	web/js/scatter.js \
	web/js/run_names.js \
	web/js/device_cells.js \
	web/js/view_devices.js \
	web/js/view_device.js \
	web/js/view_worker.js \
	web/js/compare.js \
	web/js/compare_data.js \
	web/js/compare_tables.js \
	web/js/view_compare.js \
	web/js/main.js

EXTRA_DIST += build-aux/join-modules web/README.md web/package.json web/index.html $(WEB_CSS) $(WEB_JS)

WEB_ASSETS = web/assets/index.html web/assets/app.css web/assets/app.js
web/assets/index.html: web/index.html
	$(AM_V_GEN)$(MKDIR_P) web/assets && cp $(srcdir)/web/index.html $@.tmp && mv $@.tmp $@
web/assets/app.css: build-aux/join-modules web/local.mk $(WEB_CSS)
	$(AM_V_GEN)$(MKDIR_P) web/assets && (cd $(srcdir) && build-aux/join-modules $(WEB_CSS)) >$@.tmp && mv $@.tmp $@
web/assets/app.js: build-aux/join-modules web/local.mk $(WEB_JS)
	$(AM_V_GEN)$(MKDIR_P) web/assets && (cd $(srcdir) && build-aux/join-modules $(WEB_JS)) >$@.tmp && mv $@.tmp $@

if HAVE_CHARTJS
WEB_ASSETS += web/assets/chart.js
web/assets/chart.js: $(CHARTJS)
	$(AM_V_GEN)$(MKDIR_P) web/assets && cp $(CHARTJS) $@.tmp && mv $@.tmp $@
endif

# The files alone: enough for a server that was started with --web-dir web/assets.
.PHONY: web-assets
web-assets: $(WEB_ASSETS)

# What browsers ask for: a quarter of the bytes.
WEB_PACKED = $(WEB_ASSETS:%=%.gz)
web/assets/%.gz: web/assets/%
	$(AM_V_GEN)gzip -9nc $< >$@.tmp && mv $@.tmp $@

nodist_libfedlane_api_a_SOURCES += web/web_files.c
web/web_files.c: build-aux/embed Makefile $(WEB_ASSETS) $(WEB_PACKED)
	$(AM_V_GEN)$(srcdir)/build-aux/embed web_files web/assets $(WEB_ASSETS:web/assets/%=%) \
	$(WEB_PACKED:web/assets/%=%) >$@.tmp && mv $@.tmp $@
CLEANFILES += web/web_files.c $(WEB_ASSETS) $(WEB_PACKED)
