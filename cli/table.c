#include "cli/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/json/json_num.h"

#define GAP "  "

/* -- members --------------------------------------------------------------------------------------------- */

static json_t *at_one(const json_t *object, const char *path, size_t len)
{
    char key[64];
    json_t *found = NULL;
    while (len > 0) {
        const char *dot = memchr(path, '.', len);
        size_t part = dot ? (size_t)(dot - path) : len;
        if (part >= sizeof key)
            return NULL;
        memcpy(key, path, part);
        key[part] = '\0';
        found = json_object_get(object, key);
        object = found;
        path += dot ? part + 1 : part;
        len -= dot ? part + 1 : part;
    }
    return json_is_null(found) ? NULL : found;
}

json_t *json_at(const json_t *object, const char *path)
{
    json_t *found = NULL;
    while (*path && !found) {
        size_t len = strcspn(path, "|");
        found = at_one(object, path, len);
        path += len + (path[len] == '|');
    }
    return found;
}

const char *json_text_at(const json_t *object, const char *path)
{
    const char *text = json_string_value(json_at(object, path));
    return text ? text : "";
}

double json_number_at(const json_t *object, const char *path)
{
    double value = NAN;
    json_t *found = json_at(object, path);
    return found && json_num_read(found, &value) == ERR_OK ? value : NAN;
}

int64_t json_count_at(const json_t *object, const char *path)
{
    json_t *found = json_at(object, path);
    return json_is_integer(found) ? json_integer_value(found) : -1;
}

/* -- cells ----------------------------------------------------------------------------------------------- */

void text_clean(char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t n = utf8_sequence(text, left);
        unsigned char c = (unsigned char)*text;
        /* U+0080 to U+009F are control characters, too. */
        bool is_control = c < 0x20 || c == 0x7f || (n == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0);
        if (n == 0 || is_control) {
            n = n ? n : 1;
            memset(text, '?', n);
        }
        text += n;
        left -= n;
    }
}

int text_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void number_text(double value, char *out)
{
    if (isnan(value))
        (void)snprintf(out, CELL_SIZE, "nan");
    else if (isinf(value))
        (void)snprintf(out, CELL_SIZE, value < 0 ? "-inf" : "inf");
    else if (fabs(value) > 0 && (fabs(value) < 0.001 || fabs(value) >= 1e9))
        (void)snprintf(out, CELL_SIZE, "%.3e", value);
    else if (fabs(value) >= 10000)
        (void)snprintf(out, CELL_SIZE, "%.0f", value);
    else
        (void)snprintf(out, CELL_SIZE, "%.4f", value);
}

static void any_text(const json_t *value, char *out)
{
    if (json_is_string(value)) {
        (void)snprintf(out, CELL_SIZE, "%s", json_string_value(value));
    } else if (json_is_integer(value)) {
        (void)snprintf(out, CELL_SIZE, "%lld", (long long)json_integer_value(value));
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
        (void)snprintf(out, CELL_SIZE, "%s", text ? text : "-");
        free(text);
    }
}

void cell_text(const struct table_column *column, const json_t *item, char out[CELL_SIZE])
{
    const json_t *value = json_at(item, column->path);
    double number = NAN;
    (void)snprintf(out, CELL_SIZE, "-");
    if (!value)
        return;
    bool is_number = json_num_read(value, &number) == ERR_OK;
    if (column->kind == CELL_NUMBER && is_number)
        number_text(number, out);
    else if (column->kind == CELL_PERCENT && is_number)
        (void)snprintf(out, CELL_SIZE, "%.1f %%", 100 * number);
    else if (column->kind == CELL_YES_NO)
        (void)snprintf(out, CELL_SIZE, "%s", json_is_true(value) ? "yes" : "no");
    else
        any_text(value, out);
    if (column->kind == CELL_TIME && strlen(out) > 19 && out[10] == 'T') {
        out[10] = ' ';
        out[19] = '\0';
    }
    text_clean(out);
}

/* -- tables ---------------------------------------------------------------------------------------------- */

static bool is_right_aligned(const struct table_column *c)
{
    return c->kind == CELL_COUNT || c->kind == CELL_NUMBER || c->kind == CELL_PERCENT;
}

static void print_cell(FILE *out, const struct table_column *c, const char *text, int width, bool is_last)
{
    int fill = width - text_width(text);
    if (fill < 0)
        fill = 0;
    if (is_right_aligned(c))
        (void)fprintf(out, "%*s%s", fill, "", text);
    else
        (void)fprintf(out, "%s%*s", text, is_last ? 0 : fill, "");
    (void)fputs(is_last ? "\n" : GAP, out);
}

static int title_width(const struct table_column *c)
{
    int width = text_width(c->title);
    return width > c->min_width ? width : c->min_width;
}

static int column_width(const struct table_column *c, const json_t *items)
{
    char text[CELL_SIZE];
    int width = text_width(c->title);
    for (size_t i = 0; i < json_array_size(items); i++) {
        cell_text(c, json_array_get(items, i), text);
        int w = text_width(text);
        width = w > width ? w : width;
    }
    return width;
}

void table_print(FILE *out, const struct table_column *columns, size_t num_columns, const json_t *items)
{
    char text[CELL_SIZE];
    int widths[32];
    if (num_columns > sizeof widths / sizeof *widths)
        bug("a table of %zu columns", num_columns);
    for (size_t c = 0; c < num_columns; c++) {
        widths[c] = column_width(&columns[c], items);
        print_cell(out, &columns[c], columns[c].title, widths[c], c + 1 == num_columns);
    }
    for (size_t i = 0; i < json_array_size(items); i++) {
        for (size_t c = 0; c < num_columns; c++) {
            cell_text(&columns[c], json_array_get(items, i), text);
            print_cell(out, &columns[c], text, widths[c], c + 1 == num_columns);
        }
    }
}

void table_print_titles(FILE *out, const struct table_column *columns, size_t num_columns)
{
    for (size_t c = 0; c < num_columns; c++)
        print_cell(out, &columns[c], columns[c].title, title_width(&columns[c]), c + 1 == num_columns);
}

void table_print_row(FILE *out, const struct table_column *columns, size_t num_columns, const json_t *item)
{
    char text[CELL_SIZE];
    for (size_t c = 0; c < num_columns; c++) {
        cell_text(&columns[c], item, text);
        print_cell(out, &columns[c], text, title_width(&columns[c]), c + 1 == num_columns);
    }
}

void table_print_object(FILE *out, const struct table_column *columns, size_t num_columns, const json_t *item)
{
    char text[CELL_SIZE];
    int width = 0;
    for (size_t c = 0; c < num_columns; c++) {
        int w = json_at(item, columns[c].path) ? text_width(columns[c].title) : 0;
        width = w > width ? w : width;
    }
    for (size_t c = 0; c < num_columns; c++) {
        if (!json_at(item, columns[c].path))
            continue;
        cell_text(&columns[c], item, text);
        (void)fprintf(out, "%s%*s" GAP "%s\n", columns[c].title, width - text_width(columns[c].title), "",
                      text);
    }
}
