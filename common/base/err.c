#include "common/base/err.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"

struct err_row {
    const char *name, *code;
    int http_status;
    bool retry_helps;
};

static const struct err_row rows[ERR_COUNT] = {
#define X(name, status, retry, code) [ERR_##name] = {#name, code, status, retry},
    ERR_TABLE(X)
#undef X
};

static const struct err_row *row_of(enum err e)
{
    if ((unsigned)e >= ERR_COUNT)
        bug("%d is no error number", (int)e);
    return &rows[e];
}

const char *err_name(enum err e)
{
    return row_of(e)->name;
}

const char *err_code(enum err e)
{
    return row_of(e)->code;
}

int err_http_status(enum err e)
{
    return row_of(e)->http_status;
}

bool err_retry_helps(enum err e)
{
    return row_of(e)->retry_helps;
}

enum err err_from_code(const char *code)
{
    for (size_t i = 0; code && i < ERR_COUNT; i++)
        if (strcmp(rows[i].code, code) == 0)
            return (enum err)i;
    return ERR_INTERNAL;
}

/* A text that was cut, or that quotes what a peer sent, may hold broken sequences; a JSON reply must not. */
static void make_utf8(char *text)
{
    for (size_t n = strlen(text), used; n > 0; text += used, n -= used) {
        used = utf8_sequence(text, n);
        if (used == 0) {
            *text = '?';
            used = 1;
        }
    }
}

enum err fault_set(struct fault *f, enum err e, const char *field, const char *fmt, ...)
{
    if (!f)
        return e;
    /* Built aside: the arguments may be texts of this very fault. */
    struct fault made = {.err = e};
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(made.detail, sizeof made.detail, fmt, ap);
    va_end(ap);
    (void)snprintf(made.field, sizeof made.field, "%s", field ? field : "");
    make_utf8(made.detail);
    make_utf8(made.field);
    *f = made;
    return e;
}

enum err fault_within(struct fault *f, const char *fmt, ...)
{
    char prefix[sizeof f->field], inner[sizeof f->field];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(prefix, sizeof prefix, fmt, ap);
    va_end(ap);
    memcpy(inner, f->field, sizeof inner);
    const char *joint = inner[0] && inner[0] != '[' && prefix[0] ? "." : "";
    char joined[2 * sizeof f->field + 1];
    (void)snprintf(joined, sizeof joined, "%s%s%s", prefix, joint, inner);
    joined[sizeof f->field - 1] = '\0';
    memcpy(f->field, joined, sizeof f->field);
    make_utf8(f->field);
    return f->err;
}

void bug_at(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    (void)fprintf(stderr, "bug at %s:%d: ", file, line);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
    abort();
}
