/* CSV, cell by cell (RFC 4180): rows end with LF, CRLF or CR; a cell in quotation marks may hold the
 * delimiter, line ends, and quotation marks doubled. Empty lines are passed over. */
#ifndef FEDLANE_DATA_CSV_READER_H
#define FEDLANE_DATA_CSV_READER_H

#include "common/data/text_file.h"

struct csv_reader {
    struct text_file file;
    char delimiter;
    uint64_t line;      /* where the reader is, from 1 */
    uint64_t cell_line; /* where the last cell began */
};

struct csv_cell {
    const char *text; /* valid until the next call; no NUL behind it */
    size_t len;
    bool is_last; /* of its row */
};

enum err csv_open(const char *path, const char *field, char delimiter, struct csv_reader *out,
                  struct fault *fault) MUST_CHECK;
/* Is there another row? To be asked before its first cell. */
enum err csv_begin_row(struct csv_reader *r, bool *out_is_there, struct fault *fault) MUST_CHECK;
enum err csv_next(struct csv_reader *r, struct csv_cell *out, struct fault *fault) MUST_CHECK;
void csv_close(struct csv_reader *r);

/* "FILE, line N, column "NAME": ..." at the last cell; column NULL: without it. */
enum err csv_fault(const struct csv_reader *r, const char *column, struct fault *fault, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#endif
