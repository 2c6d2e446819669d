/* The n-th allocation, or the n-th call of the store, fails while requests of all kinds go by, for every n:
 * the answer says so and can be tried again, or the connection is cut; and tried again, all ends as if
 * nothing had happened.
 *
 * The server is whole but for its sockets and threads (tests/fuzz/server.h), so that n means the same each
 * time. */
#include <malloc.h>
#include <string.h>
#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "tests/fuzz/server.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"
#include "tests/unit/core/flaky_store.h"

#define JSON   "Content-Type: application/json\n"
#define TENSOR "Content-Type: application/vnd.safetensors\n"
#define NEVER  (-1L)

/* Check's own asserts tell another process each time that they hold; here that are millions. */
#define MUST(cond)                                                                                           \
    do {                                                                                                     \
        if (!(cond))                                                                                         \
            ck_abort_msg("does not hold: %s", #cond);                                                        \
    } while (0)

/* What a client of each step sends. All that can be repeated carries a key. */
struct step {
    enum fuzz_caller caller;
    const char *method, *target, *body; /* body "@": weights of the model */
    int status;
    int again;        /* what a repeat gives where the first answer was lost; 0: the same */
    char name, taken; /* the id of the answer that `taken` ('n' or 't') stands for is remembered as `name` */
};

#define DEVICE_FIELDS                                                                                        \
    "\"dataset\":\"other\",\"num_examples\":4,\"num_test_examples\":1,\"input\":[2],\"classes\":2"
#define HASH(digit)                                                                                          \
    "\"token_sha256\":\"" digit "000000000000000000000000000000000000000000000000000000000000000\""

static const struct step steps[] = {
    {CALLER_ADMIN, "POST", "/api/v1/tokens", "{\"name\":\"x\",\"role\":\"viewer\"," HASH("a") "}", 201, 0,
     'K', 'n'},
    {CALLER_ENROLLMENT, "POST", "/api/v1/workers",
     "{\"name\":\"w2\",\"instance_id\":\"1190a0b0c0d07e0f8a0b0c0d0e0f0a0b\"," HASH(
         "b") ",\"devices\":[{\"ordinal\":0," DEVICE_FIELDS "},{\"ordinal\":1," DEVICE_FIELDS "}]}",
     201, 0, 'W', 'n'},
    {CALLER_ENROLLMENT, "POST", "/api/v1/devices",
     "{\"name\":\"d2\",\"labels\":{\"a\":\"b\"}," HASH("c") "," DEVICE_FIELDS "}", 201, 0, 'D', 'n'},
    {CALLER_OPERATOR, "POST", "/api/v1/experiments", "{\"name\":\"e\"}", 201, 0, 'E', 'n'},
    {CALLER_OPERATOR, "PATCH", "/api/v1/experiments/$E", "{\"description\":\"changed\"}", 200, 0, 0, 0},
    {CALLER_OPERATOR, "POST", "/api/v1/runs",
     "{\"num_rounds\":2,\"autostart\":false,\"dataset\":\"none\",\"model\":{\"input\":[2],\"layers\":[{"
     "\"type\":\"dense\","
     "\"units\":2}]},\"training\":{\"learning_rate\":0.1},\"selection\":{\"population\":2}}",
     201, 0, 'R', 'n'},
    {CALLER_OPERATOR, "PUT", "/api/v1/runs/$R/models/0/weights", "@", 200, 0, 0, 0},
    {CALLER_OPERATOR, "POST", "/api/v1/runs/$R/start", NULL, 200, 0, 0, 0},
    {CALLER_OPERATOR, "POST", "/api/v1/runs/$r/pause", NULL, 200, 0, 0, 0},
    {CALLER_OPERATOR, "POST", "/api/v1/runs/$r/resume", NULL, 200, 0, 0, 0},
    {CALLER_OPERATOR, "PATCH", "/api/v1/runs/$R/config", "{\"training\":{\"learning_rate\":0.2}}", 200, 0, 0,
     0},
    /* No heartbeat waits for what it tells to be stored; the next one tells it again. */
    {CALLER_WORKER, "POST", "/api/v1/workers/$w/heartbeat",
     "{\"resources\":{\"cpus\":2},\"tasks\":[{\"task_id\":\"$u\",\"steps_done\":1,\"train_loss\":0.5}]}", 200,
     0, 0, 0},
    {CALLER_WORKER, "POST", "/api/v1/workers/$w/heartbeat",
     "{\"resources\":{\"cpus\":2},\"tasks\":[{\"task_id\":\"$u\",\"steps_done\":1,\"train_loss\":0.5}]}", 200,
     0, 0, 0},
    {CALLER_DEVICE, "POST", "/api/v1/devices/$d/heartbeat",
     "{\"tasks\":[{\"task_id\":\"$t\",\"steps_done\":1}]}", 200, 0, 0, 0},
    {CALLER_DEVICE, "POST", "/api/v1/tasks/$t/progress", "{\"steps_done\":2,\"train_loss\":\"NaN\"}", 200, 0,
     0, 0},
    {CALLER_DEVICE, "PUT", "/api/v1/tasks/$t/update?steps_done=4", "@", 200, 0, 0, 0},
    {CALLER_WORKER, "POST", "/api/v1/tasks/$u/fail", "{\"code\":\"oom\",\"detail\":\"x\",\"steps_done\":1}",
     200, 0, 0, 0},
    {CALLER_WORKER, "POST", "/api/v1/workers/$w/tasks:claim?wait=1", "{\"holding\":[]}", 200, 0, 'V', 't'},
    {CALLER_WORKER, "POST", "/api/v1/tasks/$V/release", NULL, 200, 0, 0, 0},
    {CALLER_WORKER, "POST", "/api/v1/workers/$w/tasks:claim", "{\"holding\":[]}", 200, 0, 'V', 't'},
    {CALLER_WORKER, "PUT", "/api/v1/tasks/$V/update?steps_done=4", "@", 200, 0, 0, 0},
    /* That closed the round; the last one follows, to the run's end. */
    {CALLER_DEVICE, "POST", "/api/v1/devices/$d/tasks:claim", NULL, 200, 0, 'T', 't'},
    {CALLER_DEVICE, "PUT", "/api/v1/tasks/$T/update?steps_done=2&stop_reason=budget", "@", 200, 0, 0, 0},
    {CALLER_WORKER, "POST", "/api/v1/workers/$w/tasks:claim", "{\"holding\":[]}", 200, 0, 'V', 't'},
    {CALLER_WORKER, "PUT", "/api/v1/tasks/$V/update?steps_done=4&eval_test_loss=0.5&eval_test_examples=1",
     "@", 200, 0, 0, 0},
    {CALLER_WORKER, "POST", "/api/v1/workers/$w/tasks:claim", "{\"holding\":[]}", 200, 0, 'V', 't'},
    {CALLER_WORKER, "PUT", "/api/v1/tasks/$V/update?steps_done=4", "@", 200, 0, 0, 0},
    {CALLER_DEVICE, "GET", "/api/v1/runs/$r/models/latest/weights", NULL, 200, 0, 0, 0},
    {CALLER_DEVICE, "PATCH", "/api/v1/devices/$d", "{\"labels\":{\"room\":\"b\"}}", 200, 0, 0, 0},
    {CALLER_OPERATOR, "POST", "/api/v1/runs/$R/stop", NULL, 200, 0, 0, 0},
    {CALLER_VIEWER, "GET", "/api/v1/events", NULL, 200, 0, 0, 0},
    {CALLER_VIEWER, "GET", "/api/v1/runs/$r/metrics?max_points=2", NULL, 200, 0, 0, 0},
    {CALLER_ADMIN, "DELETE", "/api/v1/tokens/$K", NULL, 204, 404, 0, 0},
    {CALLER_ADMIN, "DELETE", "/api/v1/devices/$D", NULL, 204, 404, 0, 0},
    {CALLER_ADMIN, "DELETE", "/api/v1/workers/$W", NULL, 204, 404, 0, 0},
    {CALLER_ADMIN, "GET", "/api/v1/audit", NULL, 200, 0, 0, 0},
    {CALLER_VIEWER, "GET", "/metrics", NULL, 200, 0, 0, 0},
};
#define NUM_STEPS (sizeof steps / sizeof *steps)

/* What must be the same in the end. */
static const char *const views[] = {
    "/api/v1/tokens",
    "/api/v1/workers",
    "/api/v1/devices",
    "/api/v1/devices?label=room",
    "/api/v1/devices?label=a=b&status=revoked",
    "/api/v1/experiments",
    "/api/v1/runs",
    "/api/v1/runs/$R/events",
    "/api/v1/runs/$r/events",
    "/api/v1/runs/$r/rounds",
    "/api/v1/runs/$r/metrics",
    "/api/v1/runs/$r/models",
    "/api/v1/runs/$R/models",
    "/api/v1/runs/$R/spec",
    "/api/v1/runs/$r/rounds/0/tasks",
    "/api/v1/runs/$r/rounds/1/tasks",
    "/api/v1/runs/$r/rounds/2/tasks",
};

static struct flaky flaky;

/* ---- the weights ---- */

static size_t weights(uint8_t out[512])
{
    static const char header[] = "{\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                                 "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}";
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    size_t n = sizeof header - 1;
    memset(out, 0, 8);
    out[0] = (uint8_t)n;
    memcpy(out + 8, header, n);
    memcpy(out + 8 + n, values, sizeof values);
    return 8 + n + sizeof values;
}

/* ---- one step ---- */

static struct fuzz_answer ask(const struct step *s, size_t number)
{
    uint8_t file[512];
    char headers[160];
    bool is_file = s->body && s->body[0] == '@';
    (void)snprintf(headers, sizeof headers, "%sIdempotency-Key: step-%zu\n",
                   is_file   ? TENSOR
                   : s->body ? JSON
                             : "",
                   number);
    fuzz_server_step(number);
    size_t n = is_file ? weights(file) : s->body ? strlen(s->body) : 0;
    return fuzz_ask(s->caller, s->method, s->target, headers, is_file ? (const void *)file : s->body, n);
}

/* Documented, and worth another try. */
static bool is_failure(const struct fuzz_answer *a)
{
    return a->status == 0 || a->is_cut || a->status == 500 || a->status == 503 || a->status == 507;
}

/* Until it is done, as a client does; true where something failed on the way. */
static bool do_step(const struct step *s, size_t number)
{
    bool has_failed = false;
    for (int tries = 0;; tries++) {
        struct fuzz_answer a = ask(s, number);
        bool is_again = has_failed && s->again && a.status == s->again;
        bool is_done = !a.is_cut && (a.status == s->status || is_again);
        if (!is_done && !is_failure(&a))
            ck_abort_msg("step %zu, %s %s: %d %s", number, s->method, s->target, a.status,
                         a.body.data ? a.body.data : "");
        if (!is_done && tries == 3)
            ck_abort_msg("step %zu, %s %s: fails again: %d", number, s->method, s->target, a.status);
        has_failed |= !is_done;
        fuzz_answer_release(&a);
        if (is_done)
            break;
    }
    if (s->name)
        fuzz_id_set(s->name, fuzz_id(s->taken));
    return has_failed;
}

/* ---- what is there in the end ---- */

struct ids {
    char texts[400][ID_SIZE];
    size_t count;
};

static size_t number_of(struct ids *ids, const char *id)
{
    size_t i = 0;
    while (i < ids->count && memcmp(ids->texts[i], id, ID_SIZE - 1) != 0)
        i++;
    if (i == ids->count) {
        MUST(i < sizeof ids->texts / sizeof *ids->texts);
        memcpy(ids->texts[ids->count++], id, ID_SIZE - 1);
    }
    return i;
}

/* Two traces may stay: a claim whose answer was lost is made again as the next attempt, and what was tried
 * again has drawn another id. So ids become numbers, in the order in which they come. */
static void add_view(struct buf *out, struct ids *ids, const char *text)
{
    static const char attempt[] = "\"attempt\":", bytes_out[] = "\"bytes_out\":";
    for (const char *at = text; *at;) {
        size_t hex = strspn(at, "0123456789abcdef");
        bool is_attempt = str_has_prefix(at, attempt);
        if (is_attempt || str_has_prefix(at, bytes_out)) {
            at += is_attempt ? sizeof attempt - 1 : sizeof bytes_out - 1;
            at += strspn(at, "0123456789");
        } else if (hex == ID_SIZE - 1) {
            MUST(!buf_printf(out, "#%zu", number_of(ids, at)));
            at += hex;
        } else {
            size_t n = hex ? hex : 1;
            MUST(!buf_append(out, at, n));
            at += n;
        }
    }
}

static char *state(void)
{
    struct buf all = BUF_INIT(16 * MIB);
    struct ids ids = {.count = 0};
    char *text;
    size_t n;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        struct fuzz_answer a = fuzz_ask(CALLER_ADMIN, "GET", views[i], "Accept: application/json\n", NULL, 0);
        if (a.status != 200)
            ck_abort_msg("%s: %d", views[i], a.status);
        MUST(!buf_printf(&all, "\n%s\n", views[i]));
        add_view(&all, &ids, a.body.data);
        fuzz_answer_release(&a);
    }
    MUST(!buf_take(&all, &text, &n));
    return text;
}

static void same_state(const char *expected, long n, size_t failed_step)
{
    char *actual = state();
    size_t at = 0, from;
    while (expected[at] && expected[at] == actual[at])
        at++;
    from = at > 200 ? at - 200 : 0;
    if (expected[at] || actual[at])
        ck_abort_msg("after failure %ld in step %zu (%s %s) not\n%.400s\nbut\n%.400s", n, failed_step,
                     steps[failed_step].method, steps[failed_step].target, expected + from, actual + from);
    free(actual);
}

/* ---- the ways to fail ---- */

struct way {
    const char *name;
    enum err store_err; /* ERR_OK: memory fails */
};
static const struct way ways[] = {{"memory", ERR_OK},
                                  {"a full disk", ERR_STORAGE_FULL},
                                  {"a busy store", ERR_UNAVAILABLE},
                                  {"a store without memory", ERR_NO_MEMORY},
                                  {"an input/output error", ERR_IO}};

static long memory_left = NEVER; /* of the allocations within the server */

static void memory_hook(bool begins)
{
    if (begins && memory_left >= 0)
        alloc_fail_at(memory_left);
    else if (!begins && memory_left >= 0)
        memory_left = alloc_fail_left();
}

static void store_hook(bool begins)
{
    (void)begins;
}

static void open_server(const struct way *way)
{
    struct store *store;
    struct blobs *blobs;
    flaky = (struct flaky){.left = NEVER, .err = way->store_err};
    memory_left = NEVER;
    fuzz_server_hook(NULL);
    if (way->store_err) {
        MUST(!flaky_store_open(&flaky, &store));
        MUST(!flaky_blobs_open(&flaky, &blobs));
        fuzz_server_open_over(store, blobs);
    } else {
        fuzz_server_open();
    }
    fuzz_server_hook(way->store_err ? store_hook : memory_hook);
}

/* All steps, of whose allocations or calls the n-th fails. False: there are not that many. */
static bool run_steps(const struct way *way, long n, const char *expected)
{
    size_t failed_step = 0;
    open_server(way);
    memory_left = way->store_err ? NEVER : n;
    flaky.left = way->store_err ? n : NEVER;
    for (size_t i = 0; i < NUM_STEPS; i++)
        if (do_step(&steps[i], i))
            failed_step = i;
    bool was_hit = (way->store_err ? flaky.left : memory_left) < 0;
    memory_left = flaky.left = NEVER;
    fuzz_server_hook(NULL);
    same_state(expected, n, failed_step);
    fuzz_server_close();
    return was_hit;
}

static char *expected_state(void)
{
    open_server(&ways[0]);
    for (size_t i = 0; i < NUM_STEPS; i++)
        MUST(!do_step(&steps[i], i));
    fuzz_server_hook(NULL);
    char *text = state();
    fuzz_server_close();
    return text;
}

/* Every n takes long under sanitizers; a stride that is no divisor of anything meets other places in each
 * step. */
static long stride(const struct way *way)
{
    if (unit_is_full())
        return 1;
    return FAULT_STRIDE * (way->store_err ? 13 : 31);
}

START_TEST(whatever_fails_nothing_is_lost_or_counted_twice)
{
    const struct way *way = &ways[_i];
    long n = _i;
    char *expected = expected_state();
    while (run_steps(way, n, expected))
        n += stride(way);
    ck_assert_msg(n > (way->store_err ? 300 : 1000), "%s: only %ld places", way->name, n);
    free(expected);
}
END_TEST

int main(void)
{
    /* The same large blocks again and again: not from the kernel each time. */
    (void)mallopt(M_MMAP_THRESHOLD, 256 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 512 << 20);
    TCase *tc = unit_case("torture");
    tcase_add_loop_test(tc, whatever_fails_nothing_is_lost_or_counted_twice, 0, sizeof ways / sizeof *ways);
    return unit_run_case("API under torture", tc);
}
