/* Running text: windows of characters, and the next one as label; a file per device. */
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/data/name_table.h"
#include "common/data/path.h"
#include "common/data/source.h"
#include "common/data/text_file.h"
#include "common/data/vocabulary.h"

#define FIELD      "data.path"
#define WINDOW_MAX 65536

struct params {
    struct source_common common;
    const char *path;
    json_t *vocabulary, *unknown;
    int64_t window, stride;
    double train_fraction;
};

static const struct json_field fields[] = {
    SOURCE_COMMON_FIELDS(struct params),
    JSON_FIELD(struct params, path, JSON_FIELD_TEXT, .is_required = true, .min = 1, .max = 4000),
    JSON_FIELD(struct params, vocabulary, JSON_FIELD_ANY, .min = 0),
    JSON_FIELD(struct params, unknown, JSON_FIELD_ANY, .min = 0),
    JSON_FIELD(struct params, window, JSON_FIELD_INT, .min = 1, .max = WINDOW_MAX),
    JSON_FIELD(struct params, stride, JSON_FIELD_INT, .min = 1, .max = 1e9),
    JSON_FIELD(struct params, train_fraction, JSON_FIELD_DOUBLE, .min = 0, .max = 1),
};

static const char *const endings[] = {".txt", ".txt.gz", NULL};

/* Where a device's text is in the whole, and its windows. */
struct piece {
    size_t first, test_first, num_train, num_test;
};

struct reading {
    struct params params;
    struct vocabulary vocabulary;
    struct token_list tokens;
    struct name_table names; /* of the devices; none for a single file */
    struct piece *pieces;    /* [num_pieces] */
    size_t num_pieces;
    struct arena arena; /* of names of files */
    struct loaded *out;
    struct fault *fault;
};

/* -- characters ------------------------------------------------------------------------------------------ */

static enum err take_character(struct reading *r, const struct text_file *f, size_t len)
{
    char why[200];
    uint32_t token;
    const uint32_t character = utf8_decode(f->block + f->at, len);
    if (character == '\r')
        return ERR_OK;
    if (character == 0)
        return text_fault(f, f->offset + f->at, r->fault, "a zero byte, which no text has");
    const enum err err = vocabulary_token(&r->vocabulary, character, &token, why, sizeof why);
    if (err == ERR_BAD_FILE)
        return text_fault(f, f->offset + f->at, r->fault, "%s", why);
    if (err != ERR_OK)
        return fault_set(r->fault, err, FIELD, "no memory for the vocabulary");
    return token_list_put(&r->tokens, token, FIELD, r->fault);
}

static enum err read_characters(struct reading *r, struct text_file *f)
{
    enum err err = ERR_OK;
    while (err == ERR_OK && (f->at < f->end || !f->is_at_end)) {
        const size_t left = f->end - f->at, len = utf8_sequence(f->block + f->at, left);
        if (len > 0) {
            err = take_character(r, f, len);
            f->at += len;
        } else if (left < UTF8_MOST && !f->is_at_end) {
            err = text_more(f, f->at, r->fault);
        } else {
            err = text_fault(f, f->offset + f->at, r->fault, "no UTF-8; save the file as UTF-8");
        }
    }
    return err;
}

/* -- windows --------------------------------------------------------------------------------------------- */

/* In n characters, each with one behind it. */
static size_t windows_in(const struct params *p, size_t n)
{
    const size_t window = (size_t)p->window, stride = (size_t)p->stride;
    return n > window ? (n - window - 1) / stride + 1 : 0;
}

/* The last part tests; between the two lies a window that neither has. */
static enum err cut(struct reading *r, const char *path, struct piece *piece)
{
    const struct params *p = &r->params;
    const size_t n = r->tokens.count - piece->first, window = (size_t)p->window;
    const size_t train = (size_t)((double)n * p->train_fraction);
    piece->num_train = windows_in(p, train);
    piece->test_first = piece->first + train + window;
    piece->num_test = n > train + window ? windows_in(p, n - train - window) : 0;
    if (piece->num_train > 0)
        return ERR_OK;
    return fault_set(
        r->fault, ERR_BAD_FILE, FIELD,
        "%s: has %zu characters, of which %zu train, but a device needs %zu to train on: a window and "
        "the character behind it; leave the file out or shorten data.window",
        path_shown(path), n, train, window + 1);
}

static enum err read_file(struct reading *r, const char *path)
{
    struct text_file f;
    struct piece *piece = &r->pieces[r->num_pieces];
    enum err err = text_open(path, FIELD, &f, r->fault);
    if (err != ERR_OK)
        return err;
    piece->first = r->tokens.count;
    err = read_characters(r, &f);
    text_close(&f);
    if (err == ERR_OK)
        err = cut(r, path, piece);
    r->num_pieces++;
    return err;
}

/* -- files ----------------------------------------------------------------------------------------------- */

static enum err no_memory(struct reading *r, size_t devices)
{
    return fault_set(r->fault, ERR_NO_MEMORY, FIELD, "no memory for %zu devices", devices);
}

static size_t stem_length(const char *file)
{
    for (size_t i = 0; endings[i]; i++)
        if (path_ends_in(file, endings[i]))
            return strlen(file) - strlen(endings[i]);
    return strlen(file);
}

static enum err take_name(struct reading *r, const char *path, const char *file)
{
    const size_t len = stem_length(file);
    size_t number;
    if (!source_name_is_good(file, len))
        return fault_set(r->fault, ERR_BAD_FILE, FIELD,
                         "%s: the name is no device's: it must have 1 to %d bytes of UTF-8 in one line",
                         path_shown(path), LIMIT_NAME);
    if (name_put(&r->names, file, len, &number) != ERR_OK)
        return no_memory(r, r->num_pieces + 1);
    if (number < r->num_pieces)
        return fault_set(r->fault, ERR_BAD_FILE, FIELD, "%s: there is another file of device \"%s\"",
                         path_shown(path), r->names.names[number]);
    return ERR_OK;
}

static enum err read_directory(struct reading *r)
{
    const char *dir = r->params.path, **files = NULL;
    size_t count = 0;
    enum err err = path_list(dir, endings, FIELD, &r->arena, &files, &count, r->fault);
    if (err != ERR_OK)
        return err;
    if (count == 0)
        return fault_set(r->fault, ERR_BAD_FILE, FIELD, "%s: has no *.txt or *.txt.gz, one for each device",
                         path_shown(dir));
    if (count > LIMIT_DEVICES_PER_RUN)
        return fault_set(r->fault, ERR_BAD_FILE, FIELD, "%s: has more than %d files", path_shown(dir),
                         LIMIT_DEVICES_PER_RUN);
    r->pieces = calloc(count, sizeof *r->pieces);
    if (!r->pieces)
        return no_memory(r, count);
    for (size_t i = 0; err == ERR_OK && i < count; i++) {
        const char *path = arena_printf(&r->arena, "%s/%s", dir, files[i]);
        err = path ? take_name(r, path, files[i]) : no_memory(r, count);
        if (err == ERR_OK)
            err = read_file(r, path);
    }
    return err;
}

static enum err read_all(struct reading *r)
{
    if (path_is_directory(r->params.path))
        return read_directory(r);
    r->pieces = calloc(1, sizeof *r->pieces);
    return r->pieces ? read_file(r, r->params.path) : no_memory(r, 1);
}

/* -- the end --------------------------------------------------------------------------------------------- */

static void list_windows(const struct reading *r, size_t first, size_t count, uint32_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint32_t)(first + i * (size_t)r->params.stride);
}

static enum err name_devices(struct reading *r)
{
    struct loaded *out = r->out;
    const size_t devices = r->num_pieces;
    out->names = r->names.count > 0 ? calloc(devices, sizeof *out->names) : NULL;
    out->num_train = calloc(devices, sizeof *out->num_train);
    bool is_good = out->num_train && (out->names || r->names.count == 0);
    for (size_t k = 0; is_good && k < r->names.count; k++) {
        out->names[k] = name_copy(&r->names, k);
        is_good = out->names[k] != NULL;
    }
    return is_good ? ERR_OK : no_memory(r, devices);
}

/* Example r of the pool is the window that begins at character r. */
static enum err share_out(struct reading *r)
{
    struct shares *shares = &r->out->shares;
    size_t windows = 0;
    if (r->tokens.count > UINT32_MAX)
        return fault_set(
            r->fault, ERR_INVALID_FIELD, FIELD,
            "%zu characters do not fit into one data set, which holds at most %lu: use smaller files",
            r->tokens.count, (unsigned long)UINT32_MAX);
    for (size_t k = 0; k < r->num_pieces; k++)
        windows += r->pieces[k].num_train + r->pieces[k].num_test;
    enum err err = shares_alloc(shares, r->num_pieces, windows, r->fault);
    if (err == ERR_OK)
        err = name_devices(r);
    if (err != ERR_OK)
        return err;
    for (size_t k = 0; k < r->num_pieces; k++) {
        const struct piece *piece = &r->pieces[k];
        uint32_t *rows = shares->rows + shares->first[k];
        list_windows(r, piece->first, piece->num_train, rows);
        list_windows(r, piece->test_first, piece->num_test, rows + piece->num_train);
        r->out->num_train[k] = piece->num_train;
        shares->first[k + 1] = shares->first[k] + piece->num_train + piece->num_test;
    }
    return ERR_OK;
}

static enum err finish(struct reading *r)
{
    struct pool *pool = &r->out->pool;
    const size_t window = (size_t)r->params.window;
    enum err err = vocabulary_finish(&r->vocabulary, &r->tokens, NULL, 0, r->fault);
    if (err == ERR_OK)
        err = vocabulary_tell(&r->vocabulary, r->out, r->fault);
    if (err != ERR_OK)
        return err;
    token_list_shrink(&r->tokens);
    *pool = (struct pool){.num_rows = r->tokens.count,
                          .num_features = window,
                          .num_classes = (int)r->out->num_tokens,
                          .text = {.tokens = r->tokens, .steps = window, .apart = 1}};
    r->tokens = (struct token_list){0};
    return ERR_OK;
}

enum err source_text(const json_t *data, uint64_t seed, struct loaded *out, struct fault *fault)
{
    struct reading r = {.params = {.window = 80, .stride = 1, .train_fraction = 0.9},
                        .arena = ARENA_INIT(GIB),
                        .out = out,
                        .fault = fault};
    (void)seed;
    enum err err = json_spec_parse(data, fields, sizeof fields / sizeof *fields, JSON_REFUSE_UNKNOWN, "data.",
                                   &r.arena, &r.params, fault);
    if (err == ERR_OK)
        err = vocabulary_init(r.params.vocabulary, r.params.unknown, &r.vocabulary, fault);
    if (err == ERR_OK)
        err = read_all(&r);
    if (err == ERR_OK)
        err = share_out(&r);
    if (err == ERR_OK)
        err = finish(&r);
    vocabulary_release(&r.vocabulary);
    token_list_release(&r.tokens);
    name_table_release(&r.names);
    free(r.pieces);
    arena_release(&r.arena);
    return err;
}
