#include "common/data/csv_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "common/base/str.h"
#include "common/data/csv_reader.h"
#include "common/data/decimal.h"
#include "common/data/path.h"

enum role { ROLE_LABEL = -1, ROLE_DEVICE = -2, ROLE_IGNORED = -3, ROLE_TEXT = -4 };

#define COLUMNS_MAX 1000000

/* -- the fields ------------------------------------------------------------------------------------------ */

enum err csv_layout_init(const struct csv_fields *fields, struct csv_layout *out, struct fault *fault)
{
    const char *delimiter = fields->delimiter ? fields->delimiter : ",";
    *out = (struct csv_layout){.fields = fields, .delimiter = delimiter[0]};
    if (strlen(delimiter) != 1 || !strchr(",;\t|:!#&*/ ~^", delimiter[0]))
        return fault_set(fault, ERR_INVALID_FIELD, "data.delimiter",
                         "must be one character between cells, such as \",\", \";\" or \"\\t\"");
    if (str_eq(fields->label, fields->device))
        return fault_set(fault, ERR_INVALID_FIELD, "data.device", "is the column of the labels");
    if (fields->text && (str_eq(fields->text, fields->label) || str_eq(fields->text, fields->device)))
        return fault_set(fault, ERR_INVALID_FIELD, "data.text",
                         "is the column of the labels or of the devices");
    for (size_t i = 0; i < json_array_size(fields->features); i++)
        if (!json_is_string(json_array_get(fields->features, i)))
            return fault_set(fault, ERR_INVALID_FIELD, "data.features", "must be a list of names of columns");
    if (fields->features && json_array_size(fields->features) == 0)
        return fault_set(fault, ERR_INVALID_FIELD, "data.features", "names no column");
    return ERR_OK;
}

void csv_layout_release(struct csv_layout *l)
{
    name_table_release(&l->columns);
    free(l->roles);
    *l = (struct csv_layout){0};
}

/* -- the header ------------------------------------------------------------------------------------------ */

/* A few names of columns, for a message. */
static const char *some_columns(const struct csv_layout *l, char *out, size_t room)
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < l->columns.count && i < 8 && len + 1 < room; i++)
        len += (size_t)snprintf(out + len, room - len, "%s%.30s", i ? ", " : "", l->columns.names[i]);
    return out;
}

static enum err find_column(const struct csv_reader *r, const struct csv_layout *l, const char *name,
                            const char *field, size_t *out, struct fault *fault)
{
    char names[280];
    *out = name_find(&l->columns, name, strlen(name));
    if (*out != NAME_NONE)
        return ERR_OK;
    return fault_set(fault, ERR_INVALID_FIELD, field,
                     "%s, line 1: has no column \"%.60s\"; its columns are %s%s", path_shown(r->file.path),
                     name, some_columns(l, names, sizeof names), l->columns.count > 8 ? ", ..." : "");
}

static enum err choose_features(const struct csv_reader *r, struct csv_layout *l, struct fault *fault)
{
    const json_t *chosen = l->fields->features;
    for (size_t i = 0; i < json_array_size(chosen); i++) {
        const char *name = json_string_value(json_array_get(chosen, i));
        char field[64];
        size_t column;
        (void)snprintf(field, sizeof field, "data.features[%zu]", i);
        const enum err err = find_column(r, l, name, field, &column, fault);
        if (err != ERR_OK)
            return err;
        if (l->roles[column] != ROLE_IGNORED)
            return fault_set(fault, ERR_INVALID_FIELD, field, "\"%.60s\" is %s", name,
                             l->roles[column] == ROLE_LABEL    ? "the label"
                             : l->roles[column] == ROLE_DEVICE ? "the device"
                                                               : "there twice");
        l->roles[column] = (int32_t)l->num_features++;
    }
    return ERR_OK;
}

static enum err all_features(const struct csv_reader *r, struct csv_layout *l, struct fault *fault)
{
    for (size_t i = 0; i < l->columns.count; i++) {
        if (l->roles[i] != ROLE_IGNORED)
            continue;
        if (l->columns.names[i][0] == '\0')
            return csv_fault(
                r, NULL, fault,
                "column %zu has no name, as a row number has that pandas writes; leave it out with "
                "index=False, or name the columns to use in data.features",
                i + 1);
        l->roles[i] = (int32_t)l->num_features++;
    }
    return ERR_OK;
}

static enum err give_roles(const struct csv_reader *r, struct csv_layout *l, struct fault *fault)
{
    size_t column;
    l->roles = malloc(l->columns.count * sizeof *l->roles);
    if (!l->roles)
        return fault_set(fault, ERR_NO_MEMORY, r->file.field, "no memory for %zu columns", l->columns.count);
    for (size_t i = 0; i < l->columns.count; i++)
        l->roles[i] = ROLE_IGNORED;
    enum err err = find_column(r, l, l->fields->label, "data.label", &column, fault);
    if (err == ERR_OK)
        l->roles[column] = ROLE_LABEL;
    if (err == ERR_OK && l->fields->device) {
        err = find_column(r, l, l->fields->device, "data.device", &column, fault);
        if (err == ERR_OK)
            l->roles[column] = ROLE_DEVICE;
    }
    if (err == ERR_OK && l->fields->text) {
        err = find_column(r, l, l->fields->text, "data.text", &column, fault);
        if (err == ERR_OK)
            l->roles[column] = ROLE_TEXT;
        return err;
    }
    if (err == ERR_OK)
        err = l->fields->features ? choose_features(r, l, fault) : all_features(r, l, fault);
    if (err == ERR_OK && l->num_features == 0)
        err = csv_fault(r, NULL, fault, "there is no column for a feature");
    return err;
}

static enum err new_column(const struct csv_reader *r, struct csv_layout *l, const struct csv_cell *cell,
                           struct fault *fault)
{
    const size_t before = l->columns.count;
    size_t number;
    if (before == COLUMNS_MAX)
        return csv_fault(r, NULL, fault, "more than %d columns", COLUMNS_MAX);
    if (name_put(&l->columns, cell->text, cell->len, &number) != ERR_OK)
        return fault_set(fault, ERR_NO_MEMORY, r->file.field, "no memory for the names of the columns");
    if (number < before)
        return csv_fault(r, NULL, fault, "two columns have the name \"%.60s\"", l->columns.names[number]);
    return ERR_OK;
}

static enum err known_column(const struct csv_reader *r, const struct csv_layout *l, size_t i,
                             const struct csv_cell *cell, struct fault *fault)
{
    const char *name = i < l->columns.count ? l->columns.names[i] : NULL;
    if (name && strncmp(name, cell->text, cell->len) == 0 && name[cell->len] == '\0' &&
        (i + 1 == l->columns.count) == cell->is_last)
        return ERR_OK;
    return csv_fault(r, NULL, fault,
                     "column %zu is \"%.*s\"%s, but the columns must be those of %s in the same order", i + 1,
                     cell->len < 40 ? (int)cell->len : 40, cell->text, cell->is_last ? ", the last one" : "",
                     path_shown(l->first_file));
}

static enum err read_header(struct csv_reader *r, struct csv_layout *l, struct fault *fault)
{
    struct csv_cell cell = {0};
    bool is_there;
    enum err err = csv_begin_row(r, &is_there, fault);
    if (err == ERR_OK && !is_there)
        err = csv_fault(r, NULL, fault, "the file is empty; its first line must name the columns");
    for (size_t i = 0; err == ERR_OK && !cell.is_last; i++) {
        err = csv_next(r, &cell, fault);
        if (err == ERR_OK && (memchr(cell.text, '\0', cell.len) || !utf8_is_valid(cell.text, cell.len)))
            return csv_fault(r, NULL, fault, "the name of column %zu is no UTF-8; save the file as UTF-8",
                             i + 1);
        if (err == ERR_OK)
            err = l->first_file ? known_column(r, l, i, &cell, fault) : new_column(r, l, &cell, fault);
    }
    if (err == ERR_OK && !l->first_file) {
        err = give_roles(r, l, fault);
        l->first_file = r->file.path;
    }
    return err;
}

/* -- the rows -------------------------------------------------------------------------------------------- */

struct reading {
    struct csv_reader reader;
    const struct csv_target *target;
    struct csv_layout *layout;
    struct classes *classes;
    struct collector *out;
    size_t device; /* of the present row */
    struct fault *fault;
};

static void trim(struct csv_cell *cell)
{
    for (; cell->len > 0 && (*cell->text == ' ' || *cell->text == '\t'); cell->len--)
        cell->text++;
    while (cell->len > 0 && (cell->text[cell->len - 1] == ' ' || cell->text[cell->len - 1] == '\t'))
        cell->len--;
}

static bool is_word(const struct csv_cell *cell, const char *word)
{
    return cell->len == strlen(word) && strncasecmp(cell->text, word, cell->len) == 0;
}

static enum err no_feature(const struct reading *t, const char *column, struct csv_cell cell,
                           enum decimal why)
{
    const int shown = cell.len < 40 ? (int)cell.len : 40;
    const struct csv_reader *r = &t->reader;
    if (cell.len == 0)
        return csv_fault(
            r, column, t->fault,
            "the cell is empty; fill it or leave the row out, or choose columns with data.features");
    if (why == DECIMAL_TOO_LARGE)
        return csv_fault(r, column, t->fault, "%.*s is too large for a float", shown, cell.text);
    const char sign = *cell.text;
    if (sign == '-' || sign == '+') {
        cell.text++;
        cell.len--;
    }
    if (is_word(&cell, "nan") || is_word(&cell, "inf") || is_word(&cell, "infinity"))
        return csv_fault(r, column, t->fault, "%.*s is no finite number; fill the cell or leave the row out",
                         (int)cell.len, cell.text);
    cell.text -= sign == '-' || sign == '+';
    return csv_fault(
        r, column, t->fault,
        "\"%.*s\" is no number; leave a column of texts out with data.features, or turn it into numbers",
        shown, cell.text);
}

static enum err take_label(struct reading *t, const char *column, const struct csv_cell *cell, int32_t *out)
{
    char why[200];
    const enum err err = class_of_text(t->classes, cell->text, cell->len, out, why, sizeof why);
    if (err == ERR_BAD_FILE)
        return csv_fault(&t->reader, column, t->fault, "%s", why);
    return err == ERR_OK ? err : fault_set(t->fault, err, "data.classes", "no memory for the labels");
}

static enum err take_text(struct reading *t, const char *column, const struct csv_cell *cell)
{
    const enum err err = words_add(t->layout->fields->words, cell->text, cell->len, "data.path", t->fault);
    if (err == ERR_BAD_FILE)
        return csv_fault(&t->reader, column, t->fault, "a text that is no UTF-8; save the file as UTF-8");
    return err;
}

static enum err take_device(struct reading *t, const char *column, const struct csv_cell *cell)
{
    const int shown = cell->len < 60 ? (int)cell->len : 60;
    if (t->target->split == SPLIT_TEST) {
        t->device = name_find(&t->out->devices, cell->text, cell->len);
        if (t->device != NAME_NONE)
            return ERR_OK;
        return csv_fault(&t->reader, column, t->fault,
                         "device \"%.*s\" has nothing to train on, only this test row", shown, cell->text);
    }
    const enum err err = collector_device(t->out, cell->text, cell->len, &t->device, t->fault);
    if (err == ERR_BAD_FILE)
        return csv_fault(&t->reader, column, t->fault,
                         "\"%.*s\" is no name of a device: it must have 1 to %d bytes of UTF-8 in one line",
                         shown, cell->text, LIMIT_NAME);
    return err;
}

static enum err take_cell(struct reading *t, size_t column, struct csv_cell *cell, float *x, int32_t *y)
{
    const int32_t role = t->layout->roles[column];
    const char *name = t->layout->columns.names[column];
    if (role == ROLE_IGNORED)
        return ERR_OK;
    if (role == ROLE_DEVICE)
        return take_device(t, name, cell);
    if (role == ROLE_TEXT)
        return take_text(t, name, cell);
    trim(cell);
    if (role == ROLE_LABEL)
        return take_label(t, name, cell, y);
    const enum decimal got = decimal_float(cell->text, cell->len, &x[role]);
    return got == DECIMAL_GOOD ? ERR_OK : no_feature(t, name, *cell, got);
}

static enum err read_row(struct reading *t)
{
    struct collector *c = t->out;
    const size_t columns = t->layout->columns.count;
    struct csv_cell cell = {0};
    enum err err = collector_reserve(c, 1, t->fault);
    if (err != ERR_OK)
        return err;
    float *x = c->are_texts ? NULL : c->pool.values + c->pool.num_rows * c->pool.num_features;
    int32_t *y = c->pool.labels + c->pool.num_rows;
    for (size_t i = 0; i < columns; i++) {
        err = csv_next(&t->reader, &cell, t->fault);
        if (err != ERR_OK)
            return err;
        if (cell.is_last != (i + 1 == columns))
            return csv_fault(&t->reader, NULL, t->fault,
                             "the row has %s%zu fields, but there are %zu columns",
                             cell.is_last ? "" : "more than ", i + 1, columns);
        err = take_cell(t, i, &cell, x, y);
        if (err != ERR_OK)
            return err;
    }
    collector_add(c, 1, t->device, t->target->split);
    return ERR_OK;
}

static enum err read_rows(struct reading *t)
{
    bool is_there = false;
    const size_t before = t->out->pool.num_rows;
    enum err err = read_header(&t->reader, t->layout, t->fault);
    t->out->pool.num_features = t->layout->num_features;
    if (err == ERR_OK)
        err = collector_origin(t->out, t->reader.file.path, NULL, t->fault);
    while (err == ERR_OK) {
        err = csv_begin_row(&t->reader, &is_there, t->fault);
        if (err != ERR_OK || !is_there)
            break;
        err = read_row(t);
    }
    if (err == ERR_OK && t->out->pool.num_rows == before)
        err = csv_fault(&t->reader, NULL, t->fault, "the file has no row behind the names of its columns");
    return err;
}

enum err csv_read(const char *path, const char *field, const struct csv_target *target,
                  struct csv_layout *layout, struct classes *classes, struct collector *out,
                  struct fault *fault)
{
    struct reading t = {.target = target,
                        .layout = layout,
                        .classes = classes,
                        .out = out,
                        .device = target->device,
                        .fault = fault};
    enum err err = csv_open(path, field, layout->delimiter, &t.reader, fault);
    if (err == ERR_OK)
        err = read_rows(&t);
    csv_close(&t.reader);
    return err;
}
