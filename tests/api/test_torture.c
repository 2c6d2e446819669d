/* The n-th allocation, the n-th call of the store or the n-th of the disk fails while requests of all kinds
 * go by, for every n: the answer says so and can be tried again, or the connection is cut; and tried again,
 * all ends as if nothing had happened. Over the store in memory and over SQLite.
 *
 * The server is whole but for its sockets and threads (tests/fuzz/server.h), so that n means the same each
 * time, or nearly: SQLite's store has threads of its own. */
#include <malloc.h>
#include <string.h>
#include <unistd.h>
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/crypto/random.h"
#include "server/api/routes.h"
#include "server/core/core.h"
#include "tests/api/torture_steps.h"
#include "tests/store/fault_vfs.h"
#include "tests/store/support.h"
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
    "/api/v1/tasks/$T/uploads",
};

static struct flaky flaky;

/* ---- one step ---- */

/* Of a piece, [from, to) is sent. */
static struct fuzz_answer ask(const struct torture_step *s, size_t number, size_t from, size_t to)
{
    uint8_t file[512];
    char headers[256], place[64] = "";
    bool is_file = s->body && s->body[0] == '@';
    if (s->is_piece)
        (void)snprintf(place, sizeof place, "Upload-Offset: %zu\nContent-Length: %zu\n", from, to - from);
    (void)snprintf(headers, sizeof headers, "%s%s%sIdempotency-Key: step-%zu\n", s->headers ? s->headers : "",
                   place,
                   s->is_piece ? ""
                   : is_file   ? TENSOR
                   : s->body   ? JSON
                               : "",
                   number);
    fuzz_server_step(number);
    size_t n = is_file ? torture_weights(file) : s->body ? strlen(s->body) : 0;
    const void *body = is_file ? (const void *)(file + from) : s->body;
    return fuzz_ask(s->caller, s->method, s->target, headers, body, s->is_piece ? to - from : n);
}

/* Documented, and worth another try. */
static bool is_failure(const struct fuzz_answer *a)
{
    return a->status == 0 || a->is_cut || a->status == 500 || a->status == 503 || a->status == 507;
}

/* A piece that comes again is told where the upload is by now, and goes on from there. */
static bool is_moved(const struct torture_step *s, const struct fuzz_answer *a, size_t *from)
{
    if (!s->is_piece || a->status != 409 || a->upload_offset < 0)
        return false;
    *from = (size_t)a->upload_offset;
    return true;
}

/* Until it is done, as a client does; true where something failed on the way. */
static bool do_step(const struct torture_step *s, size_t number)
{
    uint8_t file[512];
    bool has_failed = false;
    size_t from = s->from, to = s->to ? s->to : torture_weights(file);
    for (int tries = 0;; tries++) {
        struct fuzz_answer a = ask(s, number, from, to);
        bool is_again = has_failed && s->again && a.status == s->again;
        bool has_moved = has_failed && is_moved(s, &a, &from);
        bool is_done = !a.is_cut && (a.status == s->status || is_again || (has_moved && from == s->to));
        if (!is_done && !has_moved && !is_failure(&a))
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

/* Three traces may stay: a claim whose answer was lost is made again as the next attempt, and what was tried
 * again has drawn another id, whose end names a run that was given no name. So ids become numbers, in the
 * order in which they come, and what else may differ is left out. */
static void add_view(struct buf *out, struct ids *ids, const char *text)
{
    static const char *const traces[] = {"\"attempt\":", "\"bytes_out\":", "\"name\":\"fedprox-"};
    for (const char *at = text; *at;) {
        size_t hex = strspn(at, "0123456789abcdef"), n = hex ? hex : 1;
        if (hex == ID_SIZE - 1)
            MUST(!buf_printf(out, "#%zu", number_of(ids, at)));
        else
            MUST(!buf_append(out, at, n));
        at += n;
        for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
            if (!str_has_prefix(at, traces[i]))
                continue;
            at += strlen(traces[i]);
            at += strspn(at, "0123456789abcdef");
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
                     torture_steps[failed_step].method, torture_steps[failed_step].target, expected + from,
                     actual + from);
    free(actual);
}

/* ---- the ways to fail ---- */

struct way {
    const char *name;
    bool is_sqlite;
    enum { OF_MEMORY, OF_STORE, OF_DISK } of;
    enum err store_err;   /* of OF_STORE */
    enum disk_fault disk; /* of OF_DISK */
    long stride;          /* in the check. No divisor of anything: it meets other places in each step */
    long least;           /* there are at least as many places */
};
static const struct way ways[] = {
    {"memory", false, OF_MEMORY, ERR_OK, DISK_FULL, 31, 1000},
    {"a full disk", false, OF_STORE, ERR_STORAGE_FULL, DISK_FULL, 13, 300},
    {"a busy store", false, OF_STORE, ERR_UNAVAILABLE, DISK_FULL, 13, 300},
    {"a store without memory", false, OF_STORE, ERR_NO_MEMORY, DISK_FULL, 13, 300},
    {"an input/output error", false, OF_STORE, ERR_IO, DISK_FULL, 13, 300},
    {"memory, SQLite", true, OF_MEMORY, ERR_OK, DISK_FULL, 307, 1000},
    {"a busy store, SQLite", true, OF_STORE, ERR_UNAVAILABLE, DISK_FULL, 101, 300},
    {"SQLite's disk is full", true, OF_DISK, ERR_OK, DISK_FULL, 61, 300},
    {"SQLite's disk is broken", true, OF_DISK, ERR_OK, DISK_BROKEN, 61, 300},
};

static const struct way *way;
static const char *dir;          /* of the server, while it is open */
static long memory_left = NEVER; /* of the allocations within the server */

static void hook(bool begins)
{
    if (begins && memory_left >= 0)
        alloc_fail_anywhere(memory_left);
    else if (!begins && memory_left >= 0)
        memory_left = alloc_fail_anywhere_left();
}

static void open_server(void)
{
    const struct backend *backend = &backends[way->is_sqlite];
    struct store *store;
    struct blobs *blobs;
    flaky = (struct flaky){.left = NEVER, .err = way->store_err};
    memory_left = NEVER;
    fuzz_server_hook(NULL);
    dir = make_dir();
    MUST(!flaky_store_over(&flaky, open_store(backend, dir), &store));
    MUST(!flaky_blobs_over(&flaky, open_blobs(backend, dir), &blobs));
    fuzz_server_open_over(store, blobs, dir);
    torture_prepare(dir);
    fuzz_server_hook(hook);
}

/* The server starts once more: what it then has of weights. */
static int64_t bytes_after_restart(void)
{
    static struct clock_fake clock;
    struct store *store = open_store(sqlite_backend(), dir);
    struct blobs *blobs = open_blobs(sqlite_backend(), dir);
    struct core *core;
    struct fault fault = FAULT_NONE;
    const struct core_config config = {
        .store = store, .blobs = blobs, .clock = clock_fake(&clock), .entropy = entropy_system()};
    MUST(!core_new(&config, &core) && !core_recover(core, &fault));
    int64_t bytes = blobs->ops->total_bytes(blobs);
    store->ops->close(store);
    core_free(core);
    blobs->ops->close(blobs);
    return bytes;
}

struct expected {
    char *state;
    int64_t bytes;
};

static int64_t close_server(void)
{
    fuzz_server_close();
    int64_t bytes = way->is_sqlite ? bytes_after_restart() : 0;
    remove_dir(dir);
    return bytes;
}

static void arm(long n)
{
    if (way->of == OF_MEMORY)
        memory_left = n;
    else if (way->of == OF_STORE)
        flaky.left = n;
    else
        fault_vfs_arm(way->disk, (int)n, 1);
}

static bool disarm(void)
{
    bool was_hit = way->of == OF_MEMORY  ? memory_left < 0
                   : way->of == OF_STORE ? flaky.left < 0
                                         : fault_vfs_disarm();
    memory_left = flaky.left = NEVER;
    fuzz_server_hook(NULL);
    return was_hit;
}

/* All steps, of whose allocations or calls the n-th fails. False: there are not that many. */
static bool run_steps(long n, const struct expected *expected)
{
    size_t failed_step = 0;
    open_server();
    arm(n);
    for (size_t i = 0; i < torture_num_steps; i++)
        if (do_step(&torture_steps[i], i))
            failed_step = i;
    bool was_hit = disarm();
    same_state(expected->state, n, failed_step);
    int64_t bytes = close_server();
    ck_assert_msg(bytes == expected->bytes, "after failure %ld in step %zu: %lld bytes of weights, not %lld",
                  n, failed_step, (long long)bytes, (long long)expected->bytes);
    return was_hit;
}

static struct expected undisturbed(void)
{
    struct expected e;
    open_server();
    for (size_t i = 0; i < torture_num_steps; i++)
        MUST(!do_step(&torture_steps[i], i));
    (void)disarm();
    e.state = state();
    e.bytes = close_server();
    return e;
}

START_TEST(whatever_fails_nothing_is_lost_or_counted_twice)
{
    way = &ways[_i];
    long n = _i, stride = unit_is_full() ? 1 : FAULT_STRIDE * way->stride;
    if (way->is_sqlite)
        fault_vfs_install();
    struct expected expected = undisturbed();
    while (run_steps(n, &expected))
        n += stride;
    ck_assert_msg(n > way->least, "%s: only %ld places", way->name, n);
    free(expected.state);
}
END_TEST

/* A refusal names what is wrong, or is one of memory: fuzz_ask() proves that it is whole. */
START_TEST(refusals_are_whole_or_say_that_memory_is_short)
{
    way = &ways[0];
    struct torture_step refused = {.caller = CALLER_OPERATOR,
                                   .method = "POST",
                                   .target = "/api/v1/runs",
                                   .body = "{\"seed\":\"x\"}",
                                   .status = 400};
    long n = 0;
    open_server();
    for (bool was_hit = true; was_hit; n++) {
        arm(n);
        struct fuzz_answer a = ask(&refused, (size_t)n, 0, 0);
        MUST(is_failure(&a) || a.status == refused.status);
        fuzz_answer_release(&a);
        was_hit = memory_left < 0;
    }
    (void)disarm();
    (void)close_server();
    ck_assert_int_gt(n, 50);
}
END_TEST

/* ---- the steps themselves ---- */

/* Whether the target, up to its query, is one of the pattern's: "$x" stands for a "{name}". */
static bool is_of(const char *target, const char *pattern)
{
    while (*target && *target != '?') {
        if (target[0] == '$' && *pattern == '{') {
            target += 2;
            pattern += strcspn(pattern, "}") + 1;
        } else if (*pattern == '{' && target[0] >= '0' && target[0] <= '9') {
            target += strspn(target, "0123456789");
            pattern += strcspn(pattern, "}") + 1;
        } else if (*target++ != *pattern++) {
            return false;
        }
    }
    return !*pattern;
}

static bool has_step(const struct route *r)
{
    for (size_t i = 0; i < torture_num_steps; i++)
        if (str_eq(torture_steps[i].method, http_method_name(r->method)) &&
            is_of(torture_steps[i].target, r->path))
            return true;
    return false;
}

START_TEST(each_route_that_changes_something_has_a_step)
{
    for (size_t i = 0; i < api_num_routes; i++) {
        const struct route *r = &api_routes[i];
        ck_assert_msg(r->method == HTTP_GET || has_step(r), "no step of torture_steps.c is a %s %s",
                      http_method_name(r->method), r->path);
    }
}
END_TEST

int main(void)
{
    log_init(LOG_ERROR + 1, LOG_TEXT);
    /* The same large blocks again and again: not from the kernel each time. */
    (void)mallopt(M_MMAP_THRESHOLD, 256 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 512 << 20);
    /* What the disk does is tried elsewhere; here it is only in the way. */
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 0);
    TCase *tc = unit_case("torture");
    tcase_add_test(tc, each_route_that_changes_something_has_a_step);
    tcase_add_test(tc, refusals_are_whole_or_say_that_memory_is_short);
    tcase_add_loop_test(tc, whatever_fails_nothing_is_lost_or_counted_twice, 0, sizeof ways / sizeof *ways);
    return unit_run_case("API under torture", tc);
}
