noinst_LIBRARIES += libfedlane-httpd.a
libfedlane_httpd_a_SOURCES = \
	server/httpd/body.c \
	server/httpd/daemon.c \
	server/httpd/exchange.c \
	server/httpd/framing.c server/httpd/head.c \
	server/httpd/httpd.c server/httpd/httpd.h \
	server/httpd/internal.h \
	server/httpd/listen.c server/httpd/listen.h \
	server/httpd/loop.c \
	server/httpd/match.h \
	server/httpd/peers.c server/httpd/peers.h \
	server/httpd/problem.c \
	server/httpd/range.c server/httpd/range.h \
	server/httpd/reply.c server/httpd/reply.h \
	server/httpd/request.c server/httpd/request.h \
	server/httpd/router.c server/httpd/router.h \
	server/httpd/send.c \
	server/httpd/settle.c \
	server/httpd/sse.c server/httpd/sse.h \
	server/httpd/stream.c \
	server/httpd/timers.c server/httpd/timers.h \
	server/httpd/tls.c server/httpd/tls.h \
	server/httpd/uri.c server/httpd/uri.h \
	server/httpd/waiters.c server/httpd/waiters.h
