/* Event ids, page cursors and other values of queries, on every list: taken, or refused with 400, and what a
 * page gives as its next cursor is taken. Input: the value's bytes; the first one says how many an answer may
 * have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "tests/fuzz/server.h"

static const char *const lists[] = {
    "/api/v1/tokens?cursor=",
    "/api/v1/audit?cursor=",
    "/api/v1/workers?cursor=",
    "/api/v1/devices?cursor=",
    "/api/v1/devices?status=online&cursor=",
    "/api/v1/devices/$d/tasks?cursor=",
    "/api/v1/experiments?cursor=",
    "/api/v1/runs?cursor=",
    "/api/v1/runs/$r/rounds?cursor=",
    "/api/v1/runs/$r/rounds/0/tasks?cursor=",
    "/api/v1/runs/$r/work?cursor=",
    "/api/v1/runs/$r/metrics?cursor=",
    "/api/v1/runs/$r/events?cursor=",
    "/api/v1/events?cursor=",
    "/api/v1/runs/$r/models?cursor=",
};

static const char *const values[] = {
    "/api/v1/runs/$r/events?since=",
    "/api/v1/events?since=",
    "/api/v1/runs/$r/metrics?since_round=",
    "/api/v1/runs/$r/metrics?max_points=",
    "/api/v1/runs/$r/metrics?name=",
    "/api/v1/runs/$r/metrics?device=",
    "/api/v1/runs/$r/rounds/0/tasks?status=",
    "/api/v1/devices?label=",
    "/api/v1/devices?run=",
    "/api/v1/runs?limit=",
    "/api/v1/runs?sparkline=",
    "/api/v1/runs?experiment=",
    "/api/v1/runs/$r/rounds/",
    "/api/v1/runs/$r/models/",
    "/api/v1/experiments/",
    "/api/v1/audit?token=",
};

#define COUNT(a)    (sizeof(a) / sizeof *(a))
#define JSON_WANTED "Accept: application/json\n"

/* Asks for the list with this value; returns what the page gives as the next cursor, which the caller frees.
 */
static char *ask(const char *list, const char *value, int limit)
{
    char target[1200], *next = NULL;
    (void)snprintf(target, sizeof target, "%s%s%s%d", list, value, limit ? "&limit=" : "", limit);
    if (!limit)
        target[strlen(target) - 1] = '\0';
    struct fuzz_answer a = fuzz_ask(CALLER_ADMIN, "GET", target, JSON_WANTED, NULL, 0);
    PROVE(a.status == 200 || a.status == 400 || a.status == 404);
    json_t *json = a.body.len ? json_loads(a.body.data, 0, NULL) : NULL;
    const char *cursor = a.status == 200 ? json_string_value(json_object_get(json, "next_cursor")) : NULL;
    if (cursor) {
        next = strdup(cursor);
        PROVE(next != NULL);
    }
    json_decref(json);
    fuzz_answer_release(&a);
    return next;
}

/* Every page leads to the next one, and there is a last one. */
static void prove_pages(const char *list, const char *value, int limit)
{
    char *cursor = ask(list, value, limit);
    for (int pages = 0; cursor; pages++) {
        PROVE(pages < 300);
        struct fuzz_answer a;
        char target[1200];
        (void)snprintf(target, sizeof target, "%s%s&limit=%d", list, cursor, limit);
        a = fuzz_ask(CALLER_ADMIN, "GET", target, JSON_WANTED, NULL, 0);
        PROVE(a.status == 200);
        fuzz_answer_release(&a);
        char *next = ask(list, cursor, limit);
        PROVE(!next || strcmp(next, cursor) != 0);
        free(cursor);
        cursor = pages < 3 ? next : NULL;
        if (!cursor)
            free(next);
    }
}

/* As the id of the last event that a client saw. */
static void resume_stream(const char *text)
{
    static const char *const streams[] = {"/api/v1/events", "/api/v1/runs/$r/events"};
    char headers[700];
    (void)snprintf(headers, sizeof headers, "Accept: text/event-stream\nLast-Event-ID: %.600s\n", text);
    for (size_t i = 0; i < 2; i++) {
        struct fuzz_answer a = fuzz_ask(CALLER_VIEWER, "GET", streams[i], headers, NULL, 0);
        PROVE(a.status == 200 || a.status == 400);
        fuzz_answer_release(&a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_open;
    struct fuzz_input in = {data, size};
    int limit = 1 + fuzz_byte(&in) % 4;
    char value[800];
    size_t n = 0;
    if (!is_open) {
        fuzz_server_open();
        is_open = true;
    }
    char *text = fuzz_text(&in);
    /* Unreserved letters as they are, so that digits stay legible to the fuzzer; '%' too: broken escapes are
     * input. */
    for (size_t i = 0; text[i] && n + 4 < sizeof value; i++) {
        bool is_plain = strchr("0123456789abcdefghijklmnopqrstuvwxyz-._~%+", text[i]) != NULL;
        n +=
            (size_t)snprintf(value + n, sizeof value - n, is_plain ? "%c" : "%%%02x", (unsigned char)text[i]);
    }
    value[n] = '\0';
    for (size_t i = 0; i < COUNT(lists); i++)
        prove_pages(lists[i], value, limit);
    for (size_t i = 0; i < COUNT(values); i++)
        free(ask(values[i], value, 0));
    resume_stream(text);
    free(text);
    PROVE(!fuzz_server_changed()); /* who reads changes nothing */
    return 0;
}
