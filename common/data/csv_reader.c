#include "common/data/csv_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/data/path.h"

enum err csv_fault(const struct csv_reader *r, const char *column, struct fault *fault, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fault_set(fault, ERR_BAD_FILE, r->file.field, "%s, line %llu%s%.60s%s: %s",
                     path_shown(r->file.path), (unsigned long long)r->cell_line, column ? ", column \"" : "",
                     column ? column : "", column ? "\"" : "", text);
}

enum err csv_open(const char *path, const char *field, char delimiter, struct csv_reader *out,
                  struct fault *fault)
{
    *out = (struct csv_reader){.delimiter = delimiter, .line = 1, .cell_line = 1};
    return text_open(path, field, &out->file, fault);
}

void csv_close(struct csv_reader *r)
{
    text_close(&r->file);
}

/* Passes over a line's end, if there is one. */
static enum err line_end(struct csv_reader *r, size_t *start, bool *out_is_end, struct fault *fault)
{
    struct text_file *f = &r->file;
    bool is_there;
    *out_is_end = f->block[f->at] == '\n' || f->block[f->at] == '\r';
    if (!*out_is_end)
        return ERR_OK;
    r->line++;
    if (f->block[f->at++] == '\n')
        return ERR_OK;
    const enum err err = text_look(f, start, &is_there, fault);
    if (err == ERR_OK && is_there && f->block[f->at] == '\n')
        f->at++;
    return err;
}

enum err csv_begin_row(struct csv_reader *r, bool *out_is_there, struct fault *fault)
{
    struct text_file *f = &r->file;
    for (;;) {
        size_t start = f->at;
        bool is_empty;
        enum err err = text_look(f, &start, out_is_there, fault);
        if (err != ERR_OK || !*out_is_there)
            return err;
        r->cell_line = r->line;
        start = f->at;
        err = line_end(r, &start, &is_empty, fault);
        if (err != ERR_OK || !is_empty)
            return err;
    }
}

/* What stands behind a cell. */
static enum err end_cell(struct csv_reader *r, size_t *start, bool is_quoted, bool *out_is_last,
                         struct fault *fault)
{
    struct text_file *f = &r->file;
    bool is_there;
    enum err err = text_look(f, start, &is_there, fault);
    *out_is_last = !is_there;
    if (err != ERR_OK || !is_there)
        return err;
    if (f->block[f->at] == r->delimiter) {
        f->at++;
        return ERR_OK;
    }
    err = line_end(r, start, out_is_last, fault);
    if (err == ERR_OK && !*out_is_last)
        return csv_fault(r, NULL, fault,
                         is_quoted
                             ? "something follows a closing quotation mark; double those within a cell"
                             : "a quotation mark within a cell that does not begin with one; put the whole "
                               "cell in quotation marks and double those within");
    return err;
}

static enum err plain(struct csv_reader *r, size_t *start, size_t *out_len, bool *out_is_last,
                      struct fault *fault)
{
    struct text_file *f = &r->file;
    bool is_there = true;
    while (is_there) {
        const char delimiter = r->delimiter;
        const char *at = f->block + f->at, *end = f->block + f->end;
        while (at < end && *at != delimiter && *at != '\n' && *at != '\r' && *at != '"')
            at++;
        f->at = (size_t)(at - f->block);
        if (at < end)
            break;
        const enum err err = text_look(f, start, &is_there, fault);
        if (err != ERR_OK)
            return err;
    }
    *out_len = f->at - *start;
    return end_cell(r, start, false, out_is_last, fault);
}

/* Doubled quotation marks become single ones in place. */
static enum err quoted(struct csv_reader *r, size_t *start, size_t *out_len, bool *out_is_last,
                       struct fault *fault)
{
    struct text_file *f = &r->file;
    size_t len = 0;
    bool is_there = true;
    char last = 0;
    for (f->at++;; f->at++) {
        enum err err = text_look(f, start, &is_there, fault);
        if (err == ERR_OK && !is_there)
            err = csv_fault(r, NULL, fault, "the quotation mark that opens here is never closed");
        if (err != ERR_OK)
            return err;
        char c = f->block[f->at];
        if (c == '"') {
            f->at++;
            err = text_look(f, start, &is_there, fault);
            if (err != ERR_OK)
                return err;
            if (!is_there || f->block[f->at] != '"')
                break;
        }
        r->line += c == '\r' || (c == '\n' && last != '\r');
        last = c;
        f->block[*start + 1 + len++] = c;
    }
    *out_len = len;
    return end_cell(r, start, true, out_is_last, fault);
}

enum err csv_next(struct csv_reader *r, struct csv_cell *out, struct fault *fault)
{
    struct text_file *f = &r->file;
    size_t start = f->at;
    bool is_there;
    r->cell_line = r->line;
    enum err err = text_look(f, &start, &is_there, fault);
    if (err != ERR_OK)
        return err;
    start = f->at;
    const bool is_quoted = is_there && f->block[start] == '"';
    err = is_quoted ? quoted(r, &start, &out->len, &out->is_last, fault)
                    : plain(r, &start, &out->len, &out->is_last, fault);
    out->text = f->block + start + is_quoted;
    return err;
}
