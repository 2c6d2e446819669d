/* Requests to the whole server behind its HTTP layer, several in a row by callers of all roles. No answer is
 * a 5xx, every refusal is problem+json, and the books of each round balance.
 *
 * Input: requests, with a line "===" between them. A request's first line is CALLER METHOD TARGET, the caller
 * being one of the letters n(obody) a(dmin) o(perator) v(iewer) e(nrollment) w(orker) d(evice) r(evoked);
 * then lines of headers, an empty line, and the body. A body that begins with '@' is a safetensors file: the
 * JSON of its header up to the line's end, whose length is set in front, and the data. "t TICK 5000" turns
 * the clock by 5 s. See server.h for "$r" and so on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"
#include "tests/fuzz/server.h"

#define MOST_REQUESTS 12

static int64_t count_of(const json_t *round, const char *name)
{
    return json_integer_value(json_object_get(round, name));
}

/* selected = received + dropped + failed + late, of each closed round. */
static void prove_books(const char *run)
{
    char target[96];
    size_t i;
    json_t *round;
    (void)snprintf(target, sizeof target, "/api/v1/runs/%s/rounds?limit=1000", run);
    struct fuzz_answer a = fuzz_ask(CALLER_ADMIN, "GET", target, "", NULL, 0);
    PROVE(a.status == 200);
    json_t *json = json_loads(a.body.data, 0, NULL);
    json_array_foreach(json_object_get(json, "items"), i, round)
    {
        int64_t selected = count_of(round, "selected"), received = count_of(round, "received");
        int64_t answered =
            received + count_of(round, "dropped") + count_of(round, "failed") + count_of(round, "late");
        const char *status = json_string_value(json_object_get(round, "status"));
        PROVE(count_of(round, "partial") <= received && answered <= selected);
        PROVE(!str_eq(status, "closed") || answered == selected);
    }
    json_decref(json);
    fuzz_answer_release(&a);
}

static enum fuzz_caller caller_of(char letter)
{
    static const char letters[] = "naovewdr";
    const char *at = letter ? strchr(letters, letter) : NULL;
    return at ? (enum fuzz_caller)(at - letters) : CALLER_NOBODY;
}

/* The body as it is, or the safetensors file that it describes; the caller frees. */
static uint8_t *body_of(const struct fuzz_input *in, size_t *out_size)
{
    struct fuzz_input rest = *in;
    uint8_t *body = malloc(in->left + 8);
    PROVE(body != NULL);
    *out_size = in->left;
    if (in->left == 0 || *in->at != '@') {
        if (in->left)
            memcpy(body, in->at, in->left);
        return body;
    }
    (void)fuzz_byte(&rest);
    struct fuzz_input header = fuzz_until(&rest, "\n");
    for (int i = 0; i < 8; i++)
        body[i] = (uint8_t)((uint64_t)header.left >> 8 * i);
    if (header.left)
        memcpy(body + 8, header.at, header.left);
    if (rest.left)
        memcpy(body + 8 + header.left, rest.at, rest.left);
    *out_size = 8 + header.left + rest.left;
    return body;
}

static void one_request(struct fuzz_input *in)
{
    struct fuzz_input first = fuzz_until(in, "\n");
    struct fuzz_input head = {in->at, 0};
    if (in->left && *in->at == '\n') {
        (void)fuzz_byte(in); /* no headers */
    } else {
        head = fuzz_until(in, "\n\n");
    }
    char *line = fuzz_text(&first), *headers = fuzz_text(&head), *rest = line;
    const char *caller = strsep(&rest, " "), *method = strsep(&rest, " ");
    size_t size;
    int64_t ms;
    uint8_t *body = body_of(in, &size);
    if (method && rest && strcmp(method, "TICK") == 0) {
        if (str_to_i64(rest, &ms) == ERR_OK && ms >= 0 && ms <= 100000000)
            fuzz_tick(ms);
    } else if (method && *method && rest) {
        struct fuzz_answer a = fuzz_ask(caller_of(caller[0]), method, rest, headers, body, size);
        fuzz_answer_release(&a);
    }
    free(body);
    free(line);
    free(headers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_fresh;
    struct fuzz_input in = {data, size};
    if (!is_fresh)
        fuzz_server_open();
    for (int i = 0; i < MOST_REQUESTS && in.left; i++) {
        struct fuzz_input request = fuzz_until(&in, "\n===\n");
        one_request(&request);
    }
    /* The same state for each input; making it takes longer than most inputs, which change nothing. */
    is_fresh = !fuzz_server_changed();
    if (is_fresh)
        return 0;
    prove_books(fuzz_id('r'));
    fuzz_server_close();
    return 0;
}
