# Real processes. Each script skips (77) where what it needs is not installed. The longest ones first.
scenario_tests = \
	tests/scenario/test_hostile.py \
	tests/scenario/test_full_disk.py \
	tests/scenario/test_openapi.py \
	tests/scenario/test_same_bits.py \
	tests/scenario/test_exactly_once.py \
	tests/scenario/test_simulated_time.py \
	tests/scenario/test_sweep.py \
	tests/scenario/test_backup.py \
	tests/scenario/test_crash.py \
	tests/scenario/test_crash_commands.py \
	tests/scenario/test_login_link.py \
	tests/scenario/test_start.py \
	tests/scenario/test_tls.py \
	tests/scenario/test_uploads.py \
	tests/scenario/test_cli.py \
	tests/scenario/test_data.py \
	tests/scenario/test_examples.py \
	tests/scenario/test_golden.py \
	tests/scenario/test_memory.py \
	tests/scenario/test_pitfalls.py \
	tests/scenario/test_false_claims.py \
	tests/scenario/test_malformed_http.py \
	tests/scenario/test_bad_input.py \
	tests/scenario/test_lanes.py \
	tests/scenario/test_limits.py \
	tests/scenario/test_numpy.py \
	tests/scenario/test_opencl.py \
	tests/scenario/test_python_safetensors.py \
	tests/scenario/test_own_data.py \
	tests/scenario/test_readme.py \
	tests/scenario/test_request_ids.py \
	tests/scenario/test_secrets.py \
	tests/scenario/test_routes.py \
	tests/scenario/test_upgrade.py \
	tests/scenario/test_vocabulary.py \
	tests/scenario/test_worker.py
TESTS += $(scenario_tests)
EXTRA_DIST += $(scenario_tests) tests/scenario/harness.py tests/scenario/proxy.py tests/scenario/specs.py tests/scenario/streams.py tests/scenario/crash.py tests/scenario/crash_commands.py tests/scenario/device.py tests/scenario/readme.py tests/scenario/worker_memory.py tests/requirements.txt
