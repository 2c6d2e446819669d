#include <stdio.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/http/http_impl.h"
#include "common/json/json_spec.h"

struct problem {
    const char *code, *title, *detail, *field, *request_id;
};

static const struct json_field problem_fields[] = {
    JSON_FIELD(struct problem, code, JSON_FIELD_TEXT, .allow_null = true),
    JSON_FIELD(struct problem, title, JSON_FIELD_TEXT, .allow_null = true),
    JSON_FIELD(struct problem, detail, JSON_FIELD_TEXT, .allow_null = true),
    JSON_FIELD(struct problem, field, JSON_FIELD_TEXT, .allow_null = true),
    JSON_FIELD(struct problem, request_id, JSON_FIELD_TEXT, .allow_null = true),
};

static const struct {
    int status;
    enum err err;
} status_rows[] = {
    {401, ERR_UNAUTHORIZED},
    {403, ERR_FORBIDDEN},
    {404, ERR_NOT_FOUND},
    {405, ERR_METHOD_NOT_ALLOWED},
    {408, ERR_TIMEOUT},
    {409, ERR_CONFLICT},
    {413, ERR_PAYLOAD_TOO_LARGE},
    {415, ERR_UNSUPPORTED_MEDIA_TYPE},
    {416, ERR_RANGE_NOT_SATISFIABLE},
    {422, ERR_INVALID_UPDATE},
    {429, ERR_RATE_LIMITED},
    {431, ERR_HEADERS_TOO_LARGE},
    {500, ERR_INTERNAL},
    {507, ERR_STORAGE_FULL},
};

static enum err err_of_status(int status)
{
    for (size_t i = 0; i < sizeof status_rows / sizeof *status_rows; i++)
        if (status_rows[i].status == status)
            return status_rows[i].err;
    if (status >= 500)
        return ERR_UNAVAILABLE;
    return status >= 400 ? ERR_INVALID_FIELD : ERR_NOT_FOUND;
}

/* A server newer than we are may know codes that we do not. */
static enum err err_of_problem(const struct problem *p, int status)
{
    enum err e = err_from_code(p->code);
    bool is_known = e != ERR_OK && str_eq(p->code, err_code(e));
    return is_known ? e : err_of_status(status);
}

static bool said(const char *text)
{
    return text && *text;
}

static bool parse_problem(const struct http_response *r, struct arena *arena, struct problem *out)
{
    const char *type = http_response_header(r, "Content-Type");
    json_t *root = NULL;
    if (!type ||
        !(str_has_prefix(type, "application/problem+json") || str_has_prefix(type, "application/json")))
        return false;
    if (json_text_parse(r->body.data ? r->body.data : "", r->body.len, &root, NULL) != ERR_OK)
        return false;
    enum err e = json_spec_parse(root, problem_fields, sizeof problem_fields / sizeof *problem_fields,
                                 JSON_IGNORE_UNKNOWN, "", arena, out, NULL);
    json_decref(root);
    return !e && said(out->code);
}

/* The start of a body that is no problem+json, on one line: often a proxy's page, which names the cause. */
static void start_of_body(const struct http_response *r, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < r->body.len && n + 1 < size; i++) {
        char c = r->body.data[i];
        bool is_blank = c <= ' ' || c > '~';
        if (!is_blank)
            out[n++] = c;
        else if (n > 0 && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    out[n] = '\0';
}

static enum err read_other(const struct http_response *r, const struct http_request *request, const char *url,
                           struct fault *f)
{
    enum err e = request->errors_are_problems ? ERR_UNAVAILABLE : err_of_status(r->status);
    const char *method = request->method;
    const char *location = http_response_header(r, "Location");
    char body[160];
    if (r->status < 400)
        return fault_set(
            f, e, NULL,
            "%s %.160s: the server answered %d and points to %.160s; redirects are not followed, so that "
            "no token goes astray: give that address",
            method, url, r->status, location ? location : "nowhere");
    start_of_body(r, body, sizeof body);
    return fault_set(f, e, NULL, "%s %.200s: the server answered %d%s%s", method, url, r->status,
                     body[0] ? ": " : "", body);
}

enum err problem_read(const struct http_response *r, const struct http_request *request, const char *url,
                      bool names_request, struct fault *f)
{
    struct problem p = {0};
    struct arena arena = ARENA_INIT(64 * KIB);
    enum err e;
    if (!parse_problem(r, &arena, &p)) {
        e = read_other(r, request, url, f);
    } else {
        const char *text = said(p.detail) ? p.detail : said(p.title) ? p.title : p.code;
        names_request = names_request && p.request_id;
        e = fault_set(f, err_of_problem(&p, r->status), p.field, "%.400s%s%.64s%s", text,
                      names_request ? " (request " : "", names_request ? p.request_id : "",
                      names_request ? ")" : "");
    }
    arena_release(&arena);
    return e;
}
