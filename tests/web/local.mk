# The dashboard: its logic by node, the page in a real browser. Both skip (77) where what they need is not installed.
TESTS += tests/web/unit_tests.sh tests/web/browser_tests.py
EXTRA_DIST += tests/web/unit_tests.sh tests/web/browser_tests.py tests/web/browser.py tests/web/stage.py tests/web/screenshots.py \
	tests/web/contrast.js tests/web/fits.js tests/web/focus.js tests/web/palette.js \
	tests/web/test_a_bad_page.py tests/web/test_compare.py tests/web/test_fleet.py tests/web/test_live.py \
	tests/web/test_page.py tests/web/test_runs.py tests/web/test_server.py tests/web/test_signing_in.py tests/web/test_views.py \
	tests/web/test_round.py tests/web/test_run.py \
	tests/web/unit/prom.test.mjs tests/web/unit/server_facts.test.mjs tests/web/unit/compare.test.mjs tests/web/unit/compare_data.test.mjs \
	tests/web/unit/fleet.test.mjs tests/web/unit/scatter.test.mjs \
	tests/web/unit/format.test.mjs \
	tests/web/unit/sse.test.mjs \
	tests/web/unit/renewal.test.mjs \
	tests/web/unit/stream.test.mjs \
	tests/web/unit/router.test.mjs \
	tests/web/unit/schema.test.mjs \
	tests/web/unit/new_run.test.mjs \
	tests/web/unit/runs.test.mjs \
	tests/web/unit/series.test.mjs \
	tests/web/unit/charts.test.mjs \
	tests/web/unit/strip.test.mjs \
	tests/web/unit/gantt.test.mjs \
	tests/web/unit/stats.test.mjs \
	tests/web/unit/styles.test.mjs \
	tests/web/unit/modules.test.mjs \
	tests/web/unit/spec_diff.test.mjs \
	tests/web/unit/run_page.test.mjs
