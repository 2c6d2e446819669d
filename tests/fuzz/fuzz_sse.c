/* Event streams, as the command line reads them: the same events whatever the pieces, and what the server
 * writes is read as it was meant. Input: a byte that says how it is cut, then the stream. */
#include <stdlib.h>
#include <string.h>
#include "cli/watch/sse.h"
#include "common/base/limits.h"
#include "server/httpd/sse.h"
#include "tests/fuzz/fuzz.h"

static enum err on_event(void *ctx, const char *id, const char *type, const char *data)
{
    PROVE(strlen(id) <= SSE_MAX_ID && type[0] != '\0');
    return buf_printf(ctx, "%s|%s|%s\n", id, type, data);
}

static void read_stream(const uint8_t *bytes, size_t n, uint8_t cut, struct buf *events)
{
    struct sse_reader r;
    uint32_t state = cut;
    sse_reader_init(&r, on_event, events);
    for (size_t at = 0; at < n;) {
        state = state * 1664525u + 1013904223u;
        size_t some = cut == 0 ? n : 1 + (state >> 16) % (cut % 9 + 1);
        some = some < n - at ? some : n - at;
        PROVE(!sse_feed(&r, bytes + at, some));
        at += some;
    }
    PROVE(strlen(r.last_id) <= SSE_MAX_ID);
    sse_reader_release(&r);
}

struct expected {
    const char *data;
    int count;
};

static enum err expect(void *ctx, const char *id, const char *type, const char *data)
{
    struct expected *e = ctx;
    PROVE(strcmp(id, "7") == 0 && strcmp(type, "round") == 0);
    PROVE(strcmp(data, e->data) == 0);
    e->count++;
    return ERR_OK;
}

/* The input as the data of an event; line ends of any kind come out as \n. */
static void prove_round_trip(const char *text)
{
    struct buf out = BUF_INIT(16 * MIB), lines = BUF_INIT(16 * MIB);
    struct sse_reader r;
    for (const char *at = text; *at; at++)
        if (*at != '\n' || at == text || at[-1] != '\r')
            PROVE(!buf_append(&lines, *at == '\r' ? "\n" : at, 1));
    struct expected expected = {.data = lines.data ? lines.data : ""};
    PROVE(!sse_event(&out, "7", "round", text));
    sse_reader_init(&r, expect, &expected);
    PROVE(!sse_feed(&r, out.data, out.len) && expected.count == 1);
    sse_reader_release(&r);
    /* What would start a field of the sender's choosing is refused. */
    buf_clear(&out);
    bool has_break = strpbrk(text, "\r\n") != NULL;
    PROVE((sse_event(&out, text, NULL, "") == ERR_INVALID_FIELD) == has_break);
    buf_release(&out);
    buf_release(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct buf whole = BUF_INIT(16 * MIB), pieces = BUF_INIT(16 * MIB);
    uint8_t cut = fuzz_byte(&in);
    char *text = fuzz_text(&in);
    read_stream(in.at, in.left, 0, &whole);
    read_stream(in.at, in.left, cut ? cut : 1, &pieces);
    PROVE(whole.len == pieces.len && (whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0));
    prove_round_trip(text);
    free(text);
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
