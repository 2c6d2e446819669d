#include "server/httpd/match.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"

#define MAX_SEGMENTS 16

/* In the order of precedence. */
enum segment_kind { SEGMENT_LITERAL, SEGMENT_PARAM_SUFFIX, SEGMENT_PARAM, SEGMENT_REST };

struct segment {
    enum segment_kind kind;
    char *text;         /* the literal, or the parameter's name; the row's own */
    const char *suffix; /* ":replay", behind the name's end */
};

struct row {
    const struct route *route;
    char *pattern; /* a copy of the path that is cut into the segments' texts */
    struct segment segments[MAX_SEGMENTS];
    size_t num_segments;
};

struct router {
    struct row *rows; /* the more particular first, so that the first match is the right one */
    size_t num_rows;
};

static const char *const method_names[HTTP_METHODS] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

const char *http_method_name(enum http_method m)
{
    return m < HTTP_METHODS ? method_names[m] : "?";
}

static bool segment_parse(char *text, struct segment *out)
{
    out->text = text;
    if (text[0] == '*') {
        out->kind = SEGMENT_REST;
        out->text = text + 1;
        return text[1] != '\0';
    }
    if (text[0] != '{') {
        out->kind = SEGMENT_LITERAL;
        return text[0] != '\0' && !strpbrk(text, "{}*%");
    }
    char *end = strchr(text, '}');
    if (!end || end == text + 1)
        return false;
    *end = '\0';
    out->text = text + 1;
    out->suffix = end + 1;
    out->kind = end[1] ? SEGMENT_PARAM_SUFFIX : SEGMENT_PARAM;
    return !strpbrk(end + 1, "{}*%") && !strpbrk(text + 1, "{*%");
}

static bool pattern_parse(struct row *row)
{
    char *at = row->pattern;
    if (*at++ != '/')
        return false;
    if (!*at)
        return true; /* "/" has no segments */
    size_t num_params = 0;
    while (at) {
        char *slash = strchr(at, '/');
        if (slash)
            *slash++ = '\0';
        if (row->num_segments == MAX_SEGMENTS)
            return false;
        struct segment *s = &row->segments[row->num_segments++];
        if (!segment_parse(at, s) || (s->kind == SEGMENT_REST && slash))
            return false;
        num_params += s->kind != SEGMENT_LITERAL;
        at = slash;
    }
    return num_params <= LIMIT_PATH_PARAMS;
}

/* Equal for two patterns that match the same paths. */
static int row_compare(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    for (size_t i = 0; i < a->num_segments && i < b->num_segments; i++) {
        const struct segment *x = &a->segments[i], *y = &b->segments[i];
        if (x->kind != y->kind)
            return x->kind < y->kind ? -1 : 1;
        int order = x->kind == SEGMENT_LITERAL        ? strcmp(x->text, y->text)
                    : x->kind == SEGMENT_PARAM_SUFFIX ? strcmp(x->suffix, y->suffix)
                                                      : 0;
        if (order)
            return order;
    }
    if (a->num_segments != b->num_segments)
        return a->num_segments < b->num_segments ? -1 : 1;
    return (int)a->route->method - (int)b->route->method;
}

static enum err row_check(const struct route *route, struct fault *fault)
{
    const char *id = route->operation_id ? route->operation_id : "(no operation_id)";
    if (!route->operation_id || !route->path || route->method >= HTTP_METHODS || !route->handler)
        return fault_set(fault, ERR_USAGE, NULL,
                         "route %s: operation_id, path, method and handler are all needed", id);
    if ((route->body == BODY_STREAM) != (route->sink != NULL))
        return fault_set(fault, ERR_USAGE, NULL, "route %s: BODY_STREAM and a sink belong together", id);
    return ERR_OK;
}

static enum err rows_check_unique(const struct router *r, struct fault *fault)
{
    for (size_t i = 0; i < r->num_rows; i++)
        for (size_t j = i + 1; j < r->num_rows; j++) {
            const struct route *a = r->rows[i].route, *b = r->rows[j].route;
            if (str_eq(a->operation_id, b->operation_id) || row_compare(&r->rows[i], &r->rows[j]) == 0)
                return fault_set(fault, ERR_USAGE, NULL,
                                 "routes %s (%s) and %s (%s) have the same id or the same paths",
                                 a->operation_id, a->path, b->operation_id, b->path);
        }
    return ERR_OK;
}

enum err router_new(const struct route *routes, size_t num_routes, struct router **out, struct fault *fault)
{
    enum err e = ERR_OK;
    struct router *r = calloc(1, sizeof *r);
    if (!r || !(r->rows = calloc(num_routes ? num_routes : 1, sizeof *r->rows))) {
        e = fault_set(fault, ERR_NO_MEMORY, NULL, "no memory for %zu routes", num_routes);
        goto out;
    }
    for (size_t i = 0; i < num_routes; i++) {
        struct row *row = &r->rows[r->num_rows];
        e = row_check(&routes[i], fault);
        if (e)
            goto out;
        row->route = &routes[i];
        row->pattern = strdup(routes[i].path);
        r->num_rows++;
        if (!row->pattern) {
            e = fault_set(fault, ERR_NO_MEMORY, NULL, "no memory for %zu routes", num_routes);
            goto out;
        }
        if (!pattern_parse(row)) {
            e = fault_set(fault, ERR_USAGE, NULL, "route %s: the pattern %s is malformed",
                          routes[i].operation_id, routes[i].path);
            goto out;
        }
    }
    e = rows_check_unique(r, fault);
    qsort(r->rows, r->num_rows, sizeof *r->rows, row_compare);
out:
    if (e)
        router_free(r);
    else
        *out = r;
    return e;
}

void router_free(struct router *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->rows && i < r->num_rows; i++)
        free(r->rows[i].pattern);
    free(r->rows);
    free(r);
}

/* Length of the segment without the suffix; 0 when it is not "something" + suffix. */
static size_t suffix_match(const char *segment, const char *suffix)
{
    size_t n = strlen(segment), m = strlen(suffix);
    return n > m && memcmp(segment + n - m, suffix, m) == 0 ? n - m : 0;
}

static bool row_matches(const struct row *row, const char *const *segments, size_t n)
{
    bool has_rest = row->num_segments && row->segments[row->num_segments - 1].kind == SEGMENT_REST;
    size_t fixed = row->num_segments - has_rest;
    if (has_rest ? n < fixed : n != fixed)
        return false;
    for (size_t i = 0; i < fixed; i++) {
        const struct segment *s = &row->segments[i];
        if ((s->kind == SEGMENT_LITERAL && strcmp(s->text, segments[i]) != 0) ||
            (s->kind == SEGMENT_PARAM_SUFFIX && !suffix_match(segments[i], s->suffix)) ||
            (s->kind == SEGMENT_PARAM && !segments[i][0]))
            return false;
    }
    return true;
}

/* What "*name" stands for becomes a path again, so nothing in it may climb or hide a separator. */
static enum err rest_join(const char *name, const char *const *segments, size_t n, struct arena *arena,
                          const char **out, struct fault *fault)
{
    size_t size = 1;
    for (size_t i = 0; i < n; i++) {
        if (!segments[i][0] || strchr(segments[i], '/') || str_eq(segments[i], ".") ||
            str_eq(segments[i], ".."))
            return fault_set(fault, ERR_INVALID_FIELD, name,
                             "a path may not hold empty parts, \".\", \"..\" or an encoded slash");
        size += strlen(segments[i]) + 1;
    }
    char *text = arena_alloc(arena, size), *at = text;
    if (!text)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory for this request; try again later");
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(segments[i]);
        if (i)
            *at++ = '/';
        memcpy(at, segments[i], len);
        at += len;
    }
    *out = text;
    return ERR_OK;
}

static enum err params_fill(const struct row *row, const char *const *segments, size_t n, struct arena *arena,
                            struct route_match *out, struct fault *fault)
{
    for (size_t i = 0; i < row->num_segments; i++) {
        const struct segment *s = &row->segments[i];
        if (s->kind == SEGMENT_LITERAL)
            continue;
        struct path_param *p = &out->params[out->num_params++];
        p->name = s->text;
        if (s->kind == SEGMENT_REST) {
            enum err e = rest_join(s->text, segments + i, n - i, arena, &p->value, fault);
            if (e)
                return e;
        } else if (s->kind == SEGMENT_PARAM_SUFFIX) {
            p->value = arena_strndup(arena, segments[i], suffix_match(segments[i], s->suffix));
            if (!p->value)
                return fault_set(fault, ERR_NO_MEMORY, NULL,
                                 "not enough memory for this request; try again later");
        } else {
            p->value = segments[i];
        }
    }
    return ERR_OK;
}

/* Patterns that match the same paths stand together, so the methods of the best one are all found. A path
 * that also matches a less particular pattern has that one's methods too. */
enum err router_match(const struct router *r, enum http_method method, const char *const *segments,
                      size_t num_segments, struct arena *arena, struct route_match *out, struct fault *fault)
{
    const struct row *found = NULL;
    *out = (struct route_match){.route = NULL};
    for (size_t i = 0; i < r->num_rows; i++) {
        const struct row *row = &r->rows[i];
        if (!row_matches(row, segments, num_segments))
            continue;
        out->allowed |= 1u << row->route->method;
        if (!found && row->route->method == method)
            found = row;
    }
    if (!found)
        return ERR_OK;
    out->route = found->route;
    return params_fill(found, segments, num_segments, arena, out, fault);
}
