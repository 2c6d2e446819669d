/* CSV: the reader of large files says the same of a compressed file; cells that are quoted and written anew
 * read back as they were; a table of them loads as a data set or is refused with its place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/csv.h"
#include "common/base/limits.h"
#include "common/data/csv_reader.h"
#include "tests/fuzz/data.h"

static const char delimiters[] = {',', ';', '\t', '|'};

/* All cells, each as its length, its bytes and whether it ends a row. The error is the reader's. */
static enum err read_cells(const char *path, char delimiter, struct buf *out)
{
    struct csv_reader r;
    struct fault fault = FAULT_NONE;
    bool is_there = false;
    enum err e = csv_open(path, "data.path", delimiter, &r, &fault);
    fuzz_prove_told(e, &fault);
    if (e)
        return e;
    while (!(e = csv_begin_row(&r, &is_there, &fault)) && is_there) {
        struct csv_cell cell = {0};
        uint64_t line = r.line;
        while (!e && !cell.is_last) {
            e = csv_next(&r, &cell, &fault);
            if (e)
                break;
            PROVE(r.line >= line && r.cell_line <= r.line);
            PROVE(!buf_append(out, &cell.len, sizeof cell.len) && !buf_append(out, cell.text, cell.len));
            PROVE(!buf_append(out, cell.is_last ? "\n" : ",", 1));
        }
        if (e)
            break;
    }
    fuzz_prove_told(e, &fault);
    PROVE(!e || e == ERR_BAD_FILE);
    csv_close(&r);
    return e;
}

/* The cells of a row, written by the command line's own writer. */
static void write_anew(const struct buf *cells, struct buf *out)
{
    for (size_t at = 0; at < cells->len;) {
        size_t len;
        memcpy(&len, cells->data + at, sizeof len);
        char *text = strndup(cells->data + at + sizeof len, len);
        PROVE(text != NULL);
        at += sizeof len + len;
        PROVE(!csv_add_text(out, text, cells->data[at] == '\n'));
        at++;
        free(text);
    }
}

static void prove_round_trip(const struct buf *cells)
{
    struct buf csv = BUF_INIT(16 * MIB), again = BUF_INIT(16 * MIB);
    if (cells->len == 0)
        return;
    write_anew(cells, &csv);
    PROVE(!read_cells(fuzz_file(0, csv.data, csv.len), ',', &again));
    PROVE(cells->len == again.len && memcmp(cells->data, again.data, again.len) == 0);
    buf_release(&csv);
    buf_release(&again);
}

/* No NUL in a cell, no row of one empty cell, which written anew is an empty line, and no byte order mark,
 * which written at the front is none of the cell's. */
static bool can_be_written(const struct fuzz_input *in)
{
    return in->left && !memchr(in->at, '\0', in->left) && !memmem(in->at, in->left, "\"\"", 2) &&
           !memmem(in->at, in->left, "\xef\xbb\xbf", 3);
}

/* The small reader of traces: it must not crash, and says what is wrong. */
static void parse_text(const struct fuzz_input *in)
{
    struct arena arena = ARENA_INIT(64 * MIB);
    struct csv csv = {0};
    struct fault fault = FAULT_NONE;
    char *text = fuzz_text(in);
    enum err e = csv_parse(text, &arena, &csv, &fault);
    fuzz_prove_told(e, &fault);
    for (size_t row = 0; row < csv.num_rows && !e; row++)
        for (size_t column = 0; column < csv.num_columns; column++)
            PROVE(strlen(csv_cell(&csv, row, (int)column)) <= in->left);
    arena_release(&arena);
    free(text);
}

static void load(const struct fuzz_input *in, uint8_t how)
{
    static const char *const more[] = {"", ",\"device\":\"d\"", ",\"classes\":[\"a\",\"b\"]",
                                       ",\"partition\":{\"name\":\"iid\",\"devices\":2}",
                                       ",\"features\":[\"x\"],\"standardise\":\"device\""};
    char spec[256];
    (void)snprintf(spec, sizeof spec, "{\"source\":\"csv\",\"path\":\"%s\",\"label\":\"y\"%s}",
                   fuzz_file(0, in->at, in->left), more[how % 5]);
    (void)fuzz_dataset_text(spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    uint8_t how = fuzz_byte(&in);
    char delimiter = delimiters[how % 4];
    struct buf plain = BUF_INIT(16 * MIB), packed = BUF_INIT(16 * MIB);
    enum err e = read_cells(fuzz_file(0, in.at, in.left), delimiter, &plain);
    if (!(in.left >= 2 && in.at[0] == 0x1f && in.at[1] == 0x8b)) {
        PROVE(read_cells(fuzz_gzip_file(1, in.at, in.left), delimiter, &packed) == e);
        PROVE(plain.len == packed.len && (plain.len == 0 || memcmp(plain.data, packed.data, plain.len) == 0));
    }
    if (!e && can_be_written(&in))
        prove_round_trip(&plain);
    parse_text(&in);
    load(&in, how / 4);
    buf_release(&plain);
    buf_release(&packed);
    return 0;
}
