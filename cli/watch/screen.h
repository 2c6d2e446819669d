/* A few lines at the bottom of a terminal that are painted over and over. */
#ifndef FEDLANE_CLI_WATCH_SCREEN_H
#define FEDLANE_CLI_WATCH_SCREEN_H

#include <stdbool.h>
#include <stdio.h>
#include "common/base/buf.h"

enum color { COLOR_NONE, COLOR_GREEN, COLOR_YELLOW, COLOR_RED, COLOR_BLUE, COLOR_GREY, COLOR_BOLD };

struct screen {
    FILE *out;
    int width, height;
    bool has_color, has_utf8;
    int lines_painted; /* the cursor stands below them */
    struct buf frame;  /* what is painted now, written at once */
    int column;        /* of the line that is painted */
    int num_lines;
};

/* Width from COLUMNS, else from the terminal, else 80. Colours unless NO_COLOR is set or TERM is "dumb". */
void screen_init(struct screen *s, FILE *out);
void screen_release(struct screen *s);

/* begin, then text and line ends, then end. Text that is wider than the terminal is cut; lines past its
 * height are dropped, so that the cursor can come back. Nothing is shown before `end`. Out of memory leaves
 * the frame out. */
void screen_begin(struct screen *s);
void screen_text(struct screen *s, enum color color, const char *text);
void screen_printf(struct screen *s, enum color color, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* `width` cells, `fraction` of them filled. */
void screen_bar(struct screen *s, enum color color, int width, double fraction);
void screen_newline(struct screen *s);
void screen_end(struct screen *s);
/* A line above the painted ones, which stays. */
void screen_message(struct screen *s, const char *text);

#endif
