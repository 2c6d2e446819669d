# Fuzz targets. With --enable-fuzzers (clang) libFuzzer is their main(), and `make fuzzers` builds them; else they replay
# the stored inputs of tests/fuzz/corpus as tests.
FUZZ_TARGETS = \
	tests/bin/fuzz_http \
	tests/bin/fuzz_cursors \
	tests/bin/fuzz_beat \
	tests/bin/fuzz_http_parts \
	tests/bin/fuzz_json_spec \
	tests/bin/fuzz_run_spec \
	tests/bin/fuzz_safetensors \
	tests/bin/fuzz_data_spec \
	tests/bin/fuzz_idx \
	tests/bin/fuzz_csv \
	tests/bin/fuzz_leaf \
	tests/bin/fuzz_npy \
	tests/bin/fuzz_text \
	tests/bin/fuzz_sse \
	tests/bin/fuzz_worker \
	tests/bin/fuzz_trace \
	tests/bin/fuzz_lanes \
	tests/bin/fuzz_secrets
EXTRA_DIST += .gitattributes tests/fuzz/corpus tests/fuzz/run.py tests/fuzz/seeds.py
check_PROGRAMS += $(FUZZ_TARGETS)

check_LIBRARIES += tests/bin/libfuzztest.a
tests_bin_libfuzztest_a_SOURCES = tests/fuzz/data.c tests/fuzz/data.h tests/fuzz/fuzz.c tests/fuzz/fuzz.h
if FUZZERS
FUZZ_LINK = $(AM_LDFLAGS) -fsanitize=fuzzer
else
tests_bin_libfuzztest_a_SOURCES += tests/fuzz/replay.c
FUZZ_LINK = $(AM_LDFLAGS)
TESTS += $(FUZZ_TARGETS)
endif

.PHONY: fuzzers
fuzzers: $(FUZZ_TARGETS)

FUZZ_SERVER = \
	tests/fuzz/server.c tests/fuzz/server.h tests/fuzz/server_impl.h \
	tests/fuzz/exchange.c \
	tests/fuzz/population.c \
	tests/fuzz/fake_mhd.c tests/fuzz/fake_mhd.h
FUZZ_LIBS = tests/bin/libfuzztest.a
FUZZ_API_LIBS = $(FUZZ_LIBS) $(SERVER_LIBS) $(ZLIB_LIBS)
FUZZ_DATA_LIBS = $(FUZZ_LIBS) $(DATA_LIBS)
FUZZ_CLI_LIBS = $(FUZZ_LIBS) $(CLI_LIBS)

tests_bin_fuzz_http_SOURCES = tests/fuzz/fuzz_http.c $(FUZZ_SERVER)
tests_bin_fuzz_http_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_http_LDADD = $(FUZZ_API_LIBS)

tests_bin_fuzz_cursors_SOURCES = tests/fuzz/fuzz_cursors.c $(FUZZ_SERVER)
tests_bin_fuzz_cursors_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_cursors_LDADD = $(FUZZ_API_LIBS)

tests_bin_fuzz_beat_SOURCES = tests/fuzz/fuzz_beat.c
tests_bin_fuzz_beat_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_beat_LDADD = $(FUZZ_API_LIBS)

tests_bin_fuzz_http_parts_SOURCES = tests/fuzz/fuzz_http_parts.c
tests_bin_fuzz_http_parts_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_http_parts_LDADD = $(FUZZ_LIBS) libfedlane-worker.a $(CORE_LIBS) $(HTTPD_LIBS) $(HTTP_LIBS) $(DATA_LIBS)

tests_bin_fuzz_json_spec_SOURCES = tests/fuzz/fuzz_json_spec.c
tests_bin_fuzz_json_spec_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_json_spec_LDADD = $(FUZZ_DATA_LIBS)

tests_bin_fuzz_run_spec_SOURCES = tests/fuzz/fuzz_run_spec.c
tests_bin_fuzz_run_spec_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_run_spec_LDADD = $(FUZZ_LIBS) $(CORE_LIBS) $(ZLIB_LIBS)

tests_bin_fuzz_safetensors_SOURCES = tests/fuzz/fuzz_safetensors.c
tests_bin_fuzz_safetensors_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_safetensors_LDADD = $(FUZZ_LIBS) $(FL_LIBS) $(ZLIB_LIBS)

tests_bin_fuzz_data_spec_SOURCES = tests/fuzz/fuzz_data_spec.c
tests_bin_fuzz_data_spec_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_data_spec_LDADD = $(FUZZ_DATA_LIBS)

tests_bin_fuzz_idx_SOURCES = tests/fuzz/fuzz_idx.c
tests_bin_fuzz_idx_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_idx_LDADD = $(FUZZ_DATA_LIBS)

tests_bin_fuzz_csv_SOURCES = tests/fuzz/fuzz_csv.c
tests_bin_fuzz_csv_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_csv_LDADD = $(FUZZ_CLI_LIBS)

tests_bin_fuzz_leaf_SOURCES = tests/fuzz/fuzz_leaf.c
tests_bin_fuzz_leaf_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_leaf_LDADD = $(FUZZ_DATA_LIBS)

tests_bin_fuzz_npy_SOURCES = tests/fuzz/fuzz_npy.c
tests_bin_fuzz_npy_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_npy_LDADD = $(FUZZ_DATA_LIBS)

tests_bin_fuzz_text_SOURCES = tests/fuzz/fuzz_text.c
tests_bin_fuzz_text_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_text_LDADD = $(FUZZ_DATA_LIBS)

tests_bin_fuzz_sse_SOURCES = tests/fuzz/fuzz_sse.c
tests_bin_fuzz_sse_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_sse_LDADD = $(FUZZ_CLI_LIBS) $(HTTPD_LIBS)

tests_bin_fuzz_worker_SOURCES = tests/fuzz/fuzz_worker.c
tests_bin_fuzz_worker_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_worker_LDADD = $(FUZZ_LIBS) libfedlane-worker.a libfedlane-trainer.a $(DATA_LIBS) $(HTTP_LIBS) $(NN_LIBS)

tests_bin_fuzz_trace_SOURCES = tests/fuzz/fuzz_trace.c
tests_bin_fuzz_trace_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_trace_LDADD = $(FUZZ_CLI_LIBS)

tests_bin_fuzz_lanes_SOURCES = tests/fuzz/fuzz_lanes.c
tests_bin_fuzz_lanes_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_lanes_LDADD = $(FUZZ_LIBS) $(LANES_LIBS) $(ZLIB_LIBS)

tests_bin_fuzz_secrets_SOURCES = tests/fuzz/fuzz_secrets.c
tests_bin_fuzz_secrets_LDFLAGS = $(FUZZ_LINK)
tests_bin_fuzz_secrets_LDADD = $(FUZZ_API_LIBS)
