/* The process's log, on stderr: plain text or JSON lines. Thread-safe; one line per call. Never give it a
 * token. */
#ifndef FEDLANE_BASE_LOG_H
#define FEDLANE_BASE_LOG_H

#include "common/base/err.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

/* Before the first log_write, or never: then info and above as text. */
void log_init(enum log_level least, enum log_format format);
/* "debug", "info", "warning", "error" */
enum err log_level_parse(const char *text, enum log_level *out) MUST_CHECK;
enum err log_format_parse(const char *text, enum log_format *out) MUST_CHECK;
/* The request that this thread works on ("" for none); stands in every line it logs until changed. */
void log_request_id_set(const char *request_id);

/* component: "httpd", "store", "core", "worker", ... Of a token in the message only "fl_..." is written. */
void log_write(enum log_level level, const char *component, const char *fmt, ...) PRINTF_LIKE(3, 4);
#define log_debug(component, ...)   log_write(LOG_DEBUG, component, __VA_ARGS__)
#define log_info(component, ...)    log_write(LOG_INFO, component, __VA_ARGS__)
#define log_warning(component, ...) log_write(LOG_WARNING, component, __VA_ARGS__)
#define log_error(component, ...)   log_write(LOG_ERROR, component, __VA_ARGS__)

#endif
