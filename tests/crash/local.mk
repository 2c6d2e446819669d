# A server that kills itself at a chosen point; tests/scenario/crash.py drives it. Not a part of fedlane-server.
noinst_PROGRAMS += tests/bin/fedlane-server-crash
tests_bin_fedlane_server_crash_SOURCES = server/main.c tests/crash/crash_points.c \
	tests/store/shim_vfs.c tests/store/shim_vfs.h
tests_bin_fedlane_server_crash_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_bin_fedlane_server_crash_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=db_run -Wl,--wrap=topics_deliver -Wl,--wrap=send_reply \
	-Wl,--wrap=write -Wl,--wrap=fsync -Wl,--wrap=mkdir -Wl,--wrap=unlink -Wl,--wrap=rename -Wl,--wrap=renameat2
tests_bin_fedlane_server_crash_LDADD = $(SERVER_LIBS)
