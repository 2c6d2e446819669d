# The load generator; libssl comes with libcrypto.
noinst_LIBRARIES += libfedlane-load.a
libfedlane_load_a_SOURCES = \
	bench/histogram.c bench/histogram.h \
	bench/load_client.c bench/load_client.h \
	bench/load_exchange.c bench/load_exchange.h \
	bench/load_link.c bench/load_link.h
LOAD_LIBS = libfedlane-load.a -lssl $(BASE_LIBS)

noinst_PROGRAMS += bench/bench_load
bench_bench_load_SOURCES = bench/bench_load.c
bench_bench_load_LDADD = $(LOAD_LIBS)

noinst_PROGRAMS += bench/bench_plain
bench_bench_plain_SOURCES = bench/bench_plain.c
bench_bench_plain_LDADD = $(HTTPD_LIBS)

noinst_PROGRAMS += bench/bench_lanes
bench_bench_lanes_SOURCES = bench/bench_lanes.c
bench_bench_lanes_LDADD = $(LANES_LIBS)
