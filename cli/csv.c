#include "cli/csv.h"
#include <string.h>
#include "common/base/str.h"
#include "common/json/json_num.h"

/* -- writing --------------------------------------------------------------------------------------------- */

enum err csv_add_text(struct buf *csv, const char *text, bool is_last)
{
    bool must_quote = strpbrk(text, ",\"\r\n") != NULL;
    enum err e = must_quote ? buf_puts(csv, "\"") : ERR_OK;
    for (const char *s = text; *s && !e; s++) {
        if (*s == '"')
            e = buf_append(csv, "\"", 1);
        if (!e)
            e = buf_append(csv, s, 1);
    }
    if (!e && must_quote)
        e = buf_puts(csv, "\"");
    return e ? e : buf_puts(csv, is_last ? "\n" : ",");
}

enum err csv_add(struct buf *csv, const json_t *value, bool is_last)
{
    const char *end = is_last ? "\n" : ",";
    if (!value || json_is_null(value))
        return buf_puts(csv, end);
    if (json_is_integer(value))
        return buf_printf(csv, "%lld%s", (long long)json_integer_value(value), end);
    if (json_is_real(value))
        return buf_printf(csv, "%.17g%s", json_real_value(value), end);
    if (json_is_boolean(value))
        return buf_printf(csv, "%s%s", json_is_true(value) ? "true" : "false", end);
    return csv_add_text(csv, json_is_string(value) ? json_string_value(value) : "", is_last);
}

/* -- reading --------------------------------------------------------------------------------------------- */

struct reader {
    char *at;
    size_t line;
    struct fault *fault;
};

enum field_end { END_FIELD, END_ROW, END_BAD };

/* Cuts the field at r->at out and moves behind it. */
static enum field_end next_field(struct reader *r, char **out)
{
    char *from = r->at, *to = r->at;
    bool is_quoted = *from == '"';
    *out = to;
    if (is_quoted) {
        for (from++; *from && (*from != '"' || from[1] == '"'); from++) {
            from += *from == '"';
            r->line += *from == '\n';
            *to++ = *from;
        }
        if (*from != '"')
            return END_BAD;
        from++;
    } else {
        for (; *from && *from != ',' && *from != '\n' && *from != '\r'; from++)
            *to++ = *from;
    }
    char stop = *from;
    if (stop == '\r' && from[1] == '\n')
        stop = *++from;
    if (stop && stop != ',' && stop != '\n')
        return END_BAD;
    r->at = stop ? from + 1 : from;
    *to = '\0';
    return stop == ',' ? END_FIELD : END_ROW;
}

static size_t count_lines(const char *text)
{
    size_t n = 1;
    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

static size_t count_commas(const char *line)
{
    size_t n = 1;
    for (; *line && *line != '\n'; line++)
        n += *line == ',';
    return n;
}

static enum err read_row(struct reader *r, const char **cells, size_t max, size_t *out_count)
{
    enum field_end end = END_FIELD;
    *out_count = 0;
    while (end == END_FIELD) {
        char *field;
        if (*out_count == max)
            return fault_set(r->fault, ERR_BAD_FILE, NULL, "line %zu: more fields than titles", r->line);
        end = next_field(r, &field);
        cells[(*out_count)++] = field;
    }
    if (end == END_BAD)
        return fault_set(r->fault, ERR_BAD_FILE, NULL, "line %zu: a quote is out of place", r->line);
    r->line++;
    return ERR_OK;
}

enum err csv_parse(char *text, struct arena *arena, struct csv *out, struct fault *fault)
{
    if (str_has_prefix(text, "\xef\xbb\xbf"))
        text += 3; /* the mark by which spreadsheets say that it is UTF-8 */
    struct reader r = {.at = text, .line = 1, .fault = fault};
    size_t max_columns = count_commas(text), max_rows = count_lines(text), count;
    *out = (struct csv){0};
    out->titles = arena_calloc(arena, max_columns, sizeof *out->titles);
    if (!out->titles)
        return ERR_NO_MEMORY;
    enum err e = read_row(&r, out->titles, max_columns, &out->num_columns);
    if (e)
        return e;
    if (out->num_columns == 1 && !*out->titles[0])
        return fault_set(fault, ERR_BAD_FILE, NULL, "line 1: there are no titles");
    out->cells = arena_calloc(arena, max_rows * out->num_columns, sizeof *out->cells);
    out->lines = arena_calloc(arena, max_rows, sizeof *out->lines);
    if (!out->cells || !out->lines)
        return ERR_NO_MEMORY;
    while (*r.at) {
        size_t line = r.line;
        e = read_row(&r, out->cells + out->num_rows * out->num_columns, out->num_columns, &count);
        if (e)
            return e;
        if (count == 1 && out->num_columns > 1 && !*csv_cell(out, out->num_rows, 0))
            continue; /* an empty line */
        if (count != out->num_columns)
            return fault_set(fault, ERR_BAD_FILE, NULL, "line %zu: %zu fields, but there are %zu titles",
                             line, count, out->num_columns);
        out->lines[out->num_rows++] = line;
    }
    return ERR_OK;
}

int csv_column(const struct csv *c, const char *title)
{
    for (size_t i = 0; i < c->num_columns; i++)
        if (str_eq(c->titles[i], title))
            return (int)i;
    return -1;
}
