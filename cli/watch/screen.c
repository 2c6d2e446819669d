#include "cli/watch/screen.h"
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include "cli/table.h"
#include "common/base/limits.h"
#include "common/base/str.h"

#define FRAME_MAX (1 * MIB)

static const char *const color_codes[] = {
    [COLOR_NONE] = "",        [COLOR_GREEN] = "\033[32m", [COLOR_YELLOW] = "\033[33m",
    [COLOR_RED] = "\033[31m", [COLOR_BLUE] = "\033[34m",  [COLOR_GREY] = "\033[90m",
    [COLOR_BOLD] = "\033[1m"};

static int positive_env(const char *name)
{
    const char *text = getenv(name);
    int64_t value = 0;
    return text && str_to_i64(text, &value) == ERR_OK && value > 0 && value < 10000 ? (int)value : 0;
}

static void measure(struct screen *s)
{
    struct winsize size = {0};
    (void)ioctl(fileno(s->out), TIOCGWINSZ, &size);
    s->width = positive_env("COLUMNS");
    s->height = positive_env("LINES");
    if (s->width == 0)
        s->width = size.ws_col ? size.ws_col : 80;
    if (s->height == 0)
        s->height = size.ws_row ? size.ws_row : 24;
}

void screen_init(struct screen *s, FILE *out)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    *s = (struct screen){.out = out, .frame = BUF_INIT(FRAME_MAX)};
    (void)setlocale(LC_CTYPE, "");
    s->has_utf8 = str_eq(nl_langinfo(CODESET), "UTF-8");
    s->has_color = !(no_color && *no_color) && term && !str_eq(term, "dumb");
    measure(s);
}

void screen_release(struct screen *s)
{
    buf_release(&s->frame);
}

/* -- painting -------------------------------------------------------------------------------------------- */

static void put(struct screen *s, const char *bytes, size_t n)
{
    /* A frame that does not fit is shown as far as it goes. */
    if (buf_append(&s->frame, bytes, n) != ERR_OK)
        s->num_lines = s->height;
}

static void puts_raw(struct screen *s, const char *text)
{
    put(s, text, strlen(text));
}

/* One line of the terminal stays free for the cursor. */
static bool is_full(const struct screen *s)
{
    return s->num_lines >= s->height - 1;
}

void screen_begin(struct screen *s)
{
    measure(s);
    buf_clear(&s->frame);
    s->column = s->num_lines = 0;
    if (s->lines_painted > 0) {
        char up[32];
        (void)snprintf(up, sizeof up, "\r\033[%dA", s->lines_painted);
        puts_raw(s, up);
    }
}

void screen_text(struct screen *s, enum color color, const char *text)
{
    if (is_full(s) || s->column >= s->width)
        return;
    if (s->has_color)
        puts_raw(s, color_codes[color]);
    size_t left = strlen(text);
    while (left > 0 && s->column < s->width) {
        size_t n = utf8_sequence(text, left);
        put(s, n ? text : "?", n ? n : 1);
        n = n ? n : 1;
        text += n;
        left -= n;
        s->column++;
    }
    if (s->has_color && color != COLOR_NONE)
        puts_raw(s, "\033[0m");
}

void screen_printf(struct screen *s, enum color color, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    screen_text(s, color, text);
}

void screen_bar(struct screen *s, enum color color, int width, double fraction)
{
    int filled = fraction > 0 ? (int)(fraction * width + 0.5) : 0;
    filled = filled > width ? width : filled;
    for (int i = 0; i < width; i++) {
        const char *cell = i < filled    ? (s->has_utf8 ? "\xe2\x96\x88" : "#")
                           : s->has_utf8 ? "\xe2\x96\x91"
                                         : "-";
        screen_text(s, i < filled ? color : COLOR_GREY, cell);
    }
}

void screen_newline(struct screen *s)
{
    if (is_full(s))
        return;
    puts_raw(s, "\033[K\n");
    s->column = 0;
    s->num_lines++;
}

void screen_end(struct screen *s)
{
    puts_raw(s, "\033[J");
    s->lines_painted = s->num_lines;
    (void)fwrite(s->frame.data ? s->frame.data : "", 1, s->frame.len, s->out);
    (void)fflush(s->out);
}

void screen_message(struct screen *s, const char *text)
{
    if (s->lines_painted > 0)
        (void)fprintf(s->out, "\r\033[%dA\033[J", s->lines_painted);
    (void)fprintf(s->out, "%s\n", text);
    s->lines_painted = 0;
}
