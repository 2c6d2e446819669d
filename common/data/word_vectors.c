#include "common/data/word_vectors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/data/decimal.h"
#include "common/data/path.h"
#include "common/data/text_file.h"

#define FIELD     "data.vectors"
#define WIDTH_MAX 65536

struct line {
    const char *text;
    size_t len;
};

struct reading {
    struct text_file file;
    uint64_t number;    /* of the line, from 1 */
    long long promised; /* words, by a first line that says so; 0 without one */
    uint64_t num_words;
    size_t num_found, num_again; /* words with a line; lines of a word that has one before */
    const struct name_table *wanted;
    struct word_vectors *out;
    struct fault *fault;
};

void word_vectors_release(struct word_vectors *v)
{
    free(v->values);
    free(v->rows);
    *v = (struct word_vectors){0};
}

static enum err at_line(struct reading *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
static enum err at_line(struct reading *r, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fault_set(r->fault, ERR_BAD_FILE, FIELD, "%s, line %llu: %s", path_shown(r->file.path),
                     (unsigned long long)r->number, text);
}

/* -- pieces of a line ------------------------------------------------------------------------------------ */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The last piece of the line, which is cut off from it. */
static struct line take_last(struct line *l)
{
    size_t end = l->len, start;
    while (end > 0 && is_blank(l->text[end - 1]))
        end--;
    for (start = end; start > 0 && !is_blank(l->text[start - 1]);)
        start--;
    l->len = start;
    return (struct line){l->text + start, end - start};
}

static size_t count_pieces(struct line l)
{
    size_t n = 0;
    for (size_t i = 0; i < l.len; i++)
        n += !is_blank(l.text[i]) && (i == 0 || is_blank(l.text[i - 1]));
    return n;
}

static size_t first_piece(struct line l)
{
    size_t n = 0;
    while (n < l.len && !is_blank(l.text[n]))
        n++;
    return n;
}

/* -- one line -------------------------------------------------------------------------------------------- */

/* word2vec's first line: how many words, how many numbers each. */
static bool is_header(struct reading *r, struct line l)
{
    long long width = 0;
    if (r->number != 1)
        return false;
    const struct line second = take_last(&l), first = take_last(&l);
    if (decimal_whole(first.text, first.len, &r->promised) != DECIMAL_GOOD || r->promised < 1 ||
        decimal_whole(second.text, second.len, &width) != DECIMAL_GOOD || width < 1 || width > WIDTH_MAX) {
        r->promised = 0;
        return false;
    }
    r->out->width = (size_t)width;
    return true;
}

static bool is_number(struct line l)
{
    float value;
    return decimal_float(l.text, l.len, &value) == DECIMAL_GOOD;
}

/* Does the line end in so many numbers, with something else before them? */
static bool ends_in_numbers(struct line l, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_number(take_last(&l)))
            return false;
    const struct line before = take_last(&l);
    return before.len > 0 && !is_number(before);
}

/* A word may have blanks in it (GloVe 840B), but what looks like a number is one. */
static enum err check_width(struct reading *r, struct line l, size_t pieces)
{
    struct word_vectors *v = r->out;
    if (v->width == 0)
        v->width = pieces - 1;
    if (v->width < 1 || v->width > WIDTH_MAX)
        return at_line(r, "has %zu numbers behind its word; a vector has 1 to %d", v->width, WIDTH_MAX);
    if (pieces == v->width + 1 || (pieces > v->width + 1 && ends_in_numbers(l, v->width)))
        return ERR_OK;
    return at_line(r, "has %zu numbers behind its word, not %zu as the lines before say", pieces - 1,
                   v->width);
}

static enum err make_room(struct reading *r)
{
    struct word_vectors *v = r->out;
    if (v->count < v->room)
        return ERR_OK;
    const size_t room = v->room ? 2 * v->room : 64;
    float *values = room > LIMIT_DATA_POOL / sizeof *values / v->width
                        ? NULL
                        : realloc(v->values, room * v->width * sizeof *values);
    if (!values)
        return fault_set(r->fault, ERR_NO_MEMORY, FIELD, "no memory for %zu word vectors of %zu numbers",
                         room, v->width);
    v->values = values;
    v->room = room;
    if (v->count == 0) {
        memset(values, 0, v->width * sizeof *values);
        v->count = 1;
    }
    return ERR_OK;
}

static enum err take_vector(struct reading *r, struct line l, size_t word)
{
    struct word_vectors *v = r->out;
    const enum err err = make_room(r);
    if (err != ERR_OK)
        return err;
    float *row = v->values + v->count * v->width;
    for (size_t j = v->width; j > 0; j--) {
        const struct line piece = take_last(&l);
        if (decimal_float(piece.text, piece.len, &row[j - 1]) != DECIMAL_GOOD)
            return at_line(r, "number %zu of \"%.60s\" is \"%.*s\", which is no finite number", j,
                           r->wanted->names[word], piece.len < 40 ? (int)piece.len : 40, piece.text);
    }
    v->rows[word] = (uint32_t)v->count++;
    r->num_found++;
    return ERR_OK;
}

static enum err take_line(struct reading *r, struct line l)
{
    const size_t pieces = count_pieces(l);
    r->number++;
    if (pieces == 0 || (pieces == 2 && is_header(r, l)))
        return ERR_OK;
    const enum err err = check_width(r, l, pieces);
    if (err != ERR_OK)
        return err;
    r->num_words++;
    if (pieces != r->out->width + 1)
        return ERR_OK; /* a word with blanks, which no text has */
    const size_t word = name_find(r->wanted, l.text, first_piece(l));
    if (word == NAME_NONE)
        return ERR_OK;
    if (r->out->rows[word] == 0)
        return take_vector(r, l, word);
    if (r->num_again++ == 0)
        log_warning("data", "%s, line %llu: \"%.60s\" had a line before; the first one of a word counts",
                    path_shown(r->file.path), (unsigned long long)r->number, r->wanted->names[word]);
    return ERR_OK;
}

/* -- the file -------------------------------------------------------------------------------------------- */

static enum err read_lines(struct reading *r)
{
    struct text_file *f = &r->file;
    enum err err = ERR_OK;
    size_t looked = 0; /* bytes from f->at on that have no line's end */
    while (err == ERR_OK) {
        const char *start = f->block + f->at, *from = start + looked;
        const char *end = memchr(from, '\n', (size_t)(f->block + f->end - from));
        if (end) {
            err = take_line(r, (struct line){start, (size_t)(end - start)});
            f->at += (size_t)(end - start) + 1;
            looked = 0;
        } else if (!f->is_at_end) {
            looked = f->end - f->at;
            err = text_more(f, f->at, r->fault);
        } else {
            return f->at < f->end ? take_line(r, (struct line){start, f->end - f->at}) : ERR_OK;
        }
    }
    return err;
}

static enum err check_all(struct reading *r)
{
    if (r->promised && r->num_words != (uint64_t)r->promised)
        return fault_set(r->fault, ERR_BAD_FILE, FIELD,
                         "%s: its first line promises %lld words, but there are %llu: copy the file again",
                         path_shown(r->file.path), r->promised, (unsigned long long)r->num_words);
    if (r->num_found == 0)
        return fault_set(r->fault, ERR_BAD_FILE, FIELD,
                         "%s: has none of the %zu different words of the data; is it of another language?",
                         path_shown(r->file.path), r->wanted->count);
    return ERR_OK;
}

static enum err read_file(struct reading *r)
{
    struct sha256 *sum = NULL;
    uint8_t digest[SHA256_SIZE];
    enum err err = sha256_new(&sum);
    if (err == ERR_OK)
        err = text_sum(&r->file, sum);
    if (err == ERR_OK)
        err = read_lines(r);
    if (err == ERR_OK)
        err = sha256_final(sum, digest);
    if (err == ERR_OK)
        hex_encode(digest, sizeof digest, r->out->sha256);
    sha256_free(sum);
    return err;
}

enum err word_vectors_read(const char *path, const struct name_table *wanted, struct word_vectors *out,
                           struct fault *fault)
{
    struct reading r = {.wanted = wanted, .out = out, .fault = fault};
    out->rows = calloc(wanted->count + 1, sizeof *out->rows);
    if (!out->rows)
        return fault_set(fault, ERR_NO_MEMORY, FIELD, "no memory for %zu words", wanted->count);
    enum err err = text_open(path, FIELD, &r.file, fault);
    if (err != ERR_OK)
        return err;
    err = read_file(&r);
    text_close(&r.file);
    if (err != ERR_OK && fault && fault->err == ERR_OK)
        return fault_set(fault, err, FIELD, "%s: no memory to read it", path_shown(path));
    return err == ERR_OK ? check_all(&r) : err;
}
