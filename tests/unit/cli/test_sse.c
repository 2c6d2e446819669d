#include <string.h>
#include "cli/watch/sse.h"
#include "tests/support/unit.h"

static char seen[4096];

static enum err note(void *ctx, const char *id, const char *type, const char *data)
{
    size_t len = strlen(seen);
    (void)ctx;
    (void)snprintf(seen + len, sizeof seen - len, "[%s|%s|%s]", id, type, data);
    return strcmp(data, "stop") == 0 ? ERR_CANCELLED : ERR_OK;
}

/* The same in pieces of every size. */
static void ck_events(const char *stream, const char *expected)
{
    size_t n = strlen(stream);
    for (size_t piece = 1; piece <= n; piece++) {
        struct sse_reader r;
        sse_reader_init(&r, note, NULL);
        seen[0] = '\0';
        for (size_t at = 0; at < n; at += piece)
            ck_assert_int_eq(sse_feed(&r, stream + at, at + piece < n ? piece : n - at), ERR_OK);
        ck_assert_msg(strcmp(seen, expected) == 0, "pieces of %zu: %s", piece, seen);
        sse_reader_release(&r);
    }
}

START_TEST(test_events)
{
    ck_events("id: 1\nevent: a\ndata: x\n\nid: 2\nevent: b\ndata: y\n\n", "[1|a|x][2|b|y]");
    ck_events("data: x\r\n\r\ndata: y\r\rdata: z\n\n", "[|message|x][|message|y][|message|z]");
    ck_events("id: 7\ndata: a\ndata: b\ndata:\ndata:  c\n\ndata: d\n\n",
              "[7|message|a\nb\n\n c][7|message|d]");
    ck_events(": comment\n\n: more\ndata: x\nretry: 5\nunknown: y\nbare\n\n", "[|message|x]");
    ck_events("event: lost\n\ndata: x\n\n", "[|message|x]");
    ck_events("\xef\xbb\xbf"
              "data: x\n\n",
              "[|message|x]");
    ck_events("data: no end\n", "");
    ck_events("data: {\"a\": \"b:c\"}\n\n", "[|message|{\"a\": \"b:c\"}]");
}
END_TEST

START_TEST(test_long_id_is_none)
{
    char stream[400], id[100];
    memset(id, '9', sizeof id - 1);
    id[sizeof id - 1] = '\0';
    (void)snprintf(stream, sizeof stream, "id: 3\ndata: x\n\nid: %s\ndata: y\n\n", id);
    ck_events(stream, "[3|message|x][3|message|y]");
}
END_TEST

START_TEST(test_reconnection)
{
    struct sse_reader r;
    sse_reader_init(&r, note, NULL);
    seen[0] = '\0';
    const char *first = "id: 4\ndata: x\n\nid: 5\nevent: half\ndata: lo", *second = "data: y\n\n";
    ck_assert_int_eq(sse_feed(&r, first, strlen(first)), ERR_OK);
    sse_reader_restart(&r);
    ck_assert_int_eq(sse_feed(&r, second, strlen(second)), ERR_OK);
    ck_assert_str_eq(seen, "[4|message|x][4|message|y]");
    sse_reader_release(&r);
}
END_TEST

START_TEST(test_errors)
{
    struct sse_reader r;
    static char big[1 << 20];
    sse_reader_init(&r, note, NULL);
    seen[0] = '\0';
    ck_assert_int_eq(sse_feed(&r, "data: stop\n\ndata: x\n\n", 21), ERR_CANCELLED);
    ck_assert_str_eq(seen, "[|message|stop]");
    sse_reader_restart(&r);
    memset(big, 'x', sizeof big);
    enum err e = sse_feed(&r, "data: ", 6);
    for (int i = 0; i < 6 && !e; i++)
        e = sse_feed(&r, big, sizeof big);
    ck_assert_int_eq(e, ERR_PAYLOAD_TOO_LARGE);
    sse_reader_release(&r);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_events, test_long_id_is_none, test_reconnection, test_errors};
    return unit_run("cli sse", tests, sizeof tests / sizeof *tests);
}
