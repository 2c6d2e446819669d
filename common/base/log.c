#include "common/base/log.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/base/str.h"

#define MESSAGE_SIZE    4096
#define LINE_SIZE       4096 /* PIPE_BUF of Linux: a pipe takes the line whole, whoever else writes */
#define REQUEST_ID_SIZE 128

static enum log_level least_level = LOG_INFO;
static enum log_format line_format = LOG_TEXT;
static _Thread_local char request_id[REQUEST_ID_SIZE];

static const char *const level_names[] = {"debug", "info", "warning", "error"};
static const char *const format_names[] = {"text", "json"};

void log_init(enum log_level least, enum log_format format)
{
    least_level = least;
    line_format = format;
}

static int find_name(const char *const *names, int count, const char *text)
{
    for (int i = 0; i < count; i++)
        if (str_eq(names[i], text))
            return i;
    return -1;
}

enum err log_level_parse(const char *text, enum log_level *out)
{
    int i = find_name(level_names, (int)(sizeof level_names / sizeof *level_names), text);
    if (i < 0)
        return ERR_INVALID_FIELD;
    *out = (enum log_level)i;
    return ERR_OK;
}

enum err log_format_parse(const char *text, enum log_format *out)
{
    int i = find_name(format_names, (int)(sizeof format_names / sizeof *format_names), text);
    if (i < 0)
        return ERR_INVALID_FIELD;
    *out = (enum log_format)i;
    return ERR_OK;
}

void log_request_id_set(const char *id)
{
    (void)snprintf(request_id, sizeof request_id, "%s", id ? id : "");
}

struct line {
    char text[LINE_SIZE];
    size_t len;
};

/* Room for what closes a line stays free, so a long message is cut and the line is still whole. */
#define LINE_END_SIZE 8

static bool line_put(struct line *l, const char *bytes, size_t n)
{
    if (n > sizeof l->text - LINE_END_SIZE - l->len)
        return false;
    memcpy(l->text + l->len, bytes, n);
    l->len += n;
    return true;
}

/* Escapes what would break the line: a message can quote what a peer sent. */
static void line_put_escaped(struct line *l, const char *s)
{
    const bool is_json = line_format == LOG_JSON;
    for (size_t n = strlen(s), used; n > 0; s += used, n -= used) {
        char escape[8];
        size_t seq = utf8_sequence(s, n);
        used = seq ? seq : 1;
        unsigned char c = (unsigned char)*s;
        const char *put = s;
        size_t put_len = used;
        if (seq == 0)
            put_len = (size_t)snprintf(escape, sizeof escape, is_json ? "\\ufffd" : "\\x%02x", c);
        else if (c == '\n')
            put_len = (size_t)snprintf(escape, sizeof escape, "\\n");
        else if (c < 0x20 || c == 0x7f)
            put_len = (size_t)snprintf(escape, sizeof escape, is_json ? "\\u%04x" : "\\x%02x", c);
        else if (is_json && (c == '"' || c == '\\'))
            put_len = (size_t)snprintf(escape, sizeof escape, "\\%c", c);
        else
            escape[0] = '\0';
        if (seq == 0 || escape[0])
            put = escape;
        if (!line_put(l, put, put_len))
            return;
    }
}

static void line_put_text(struct line *l, const char *s)
{
    (void)line_put(l, s, strlen(s));
}

static void line_put_member(struct line *l, const char *name, const char *value)
{
    line_put_text(l, l->len ? ",\"" : "{\"");
    line_put_text(l, name);
    line_put_text(l, "\":\"");
    line_put_escaped(l, value);
    l->text[l->len++] = '"'; /* from the room that line_put keeps free */
}

static void line_as_json(struct line *l, const char *time, const char *level, const char *component,
                         const char *message)
{
    line_put_member(l, "time", time);
    line_put_member(l, "level", level);
    line_put_member(l, "component", component);
    line_put_member(l, "request_id", request_id);
    line_put_member(l, "message", message);
    l->text[l->len++] = '}';
}

static void line_as_text(struct line *l, const char *time, const char *level, const char *component,
                         const char *message)
{
    line_put_text(l, time);
    line_put_text(l, " ");
    line_put_text(l, level);
    line_put_text(l, " ");
    line_put_text(l, component);
    if (request_id[0]) {
        line_put_text(l, " [");
        line_put_escaped(l, request_id);
        line_put_text(l, "]");
    }
    line_put_text(l, " ");
    line_put_escaped(l, message);
}

void log_write(enum log_level level, const char *component, const char *fmt, ...)
{
    if (level < least_level)
        return;
    char message[MESSAGE_SIZE], time[TIME_TEXT_SIZE];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    str_hide_tokens(message);
    struct clock clock = clock_system();
    time_format(clock_now_ms(&clock), time);
    struct line line = {.len = 0};
    (line_format == LOG_JSON ? line_as_json : line_as_text)(&line, time, level_names[level], component,
                                                            message);
    line.text[line.len++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line.text, line.len); /* nowhere is left to report a failure */
    (void)ignored;
}
