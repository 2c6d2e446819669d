noinst_LIBRARIES += libfedlane-http.a
libfedlane_http_a_SOURCES = \
	common/api/api.h common/api/update_meta.h \
	common/http/call.c \
	common/http/client.c \
	common/http/http.h common/http/http_impl.h \
	common/http/loop.c common/http/http_loop.h \
	common/http/outcome.c \
	common/http/problem.c \
	common/http/response.c \
	common/http/retry.c common/http/retry.h \
	common/http/url.c common/http/url.h
libfedlane_http_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
