#include <sys/socket.h>
#include <string.h>
#include "common/base/log.h"
#include "server/api/routes.h"
#include "tests/fuzz/fake_mhd.h"
#include "tests/fuzz/server_impl.h"

#define START_MS 1700000000000

struct fuzz_state fuzz;

const char *const fuzz_secrets[CALLERS] = {
    NULL,
    "fl_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "fl_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    "fl_cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",
    "fl_dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd",
    "fl_eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
    "fl_ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "fl_0000000000000000000000000000000000000000000000000000000000000000",
    "fl_1111111111111111111111111111111111111111111111111111111111111111",
};

/* What is drawn later is greater, so ids of the same moment lie in the order in which they were made. */
static enum err fill(void *ctx, void *out, size_t n)
{
    (void)ctx;
    unsigned char *bytes = out;
    uint64_t number = ++fuzz.entropy;
    for (size_t i = 0; i < n; i++) {
        uint64_t next = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (unsigned char)(i < 8 ? number >> (56 - 8 * i) : next >> (56 - i % 8));
    }
    return ERR_OK;
}

static void hear(void *ctx, const char *topic)
{
    (void)ctx;
    if (strcmp(topic, "advance") == 0)
        fuzz.wants_advance = true;
    else
        api_wake(fuzz.api, topic);
}

void fuzz_within(bool begins)
{
    if (fuzz.hook)
        fuzz.hook(begins);
}

void fuzz_advance(void)
{
    int64_t next_ms = 0;
    for (int i = 0; i == 0 || fuzz.wants_advance; i++) {
        fuzz.wants_advance = false;
        fuzz_within(true);
        enum err e = core_advance(fuzz.core, &next_ms);
        fuzz_within(false);
        if (e && !fuzz.hook)
            bug("core_advance: %s", err_name(e));
        fuzz.wants_advance |= e != ERR_OK; /* the conductor tries again */
        PROVE(i < 1000);                   /* it comes to rest */
    }
}

const char *fuzz_id(char name)
{
    const char *id = fuzz.ids[(unsigned char)name & 127];
    return id[0] ? id : NULL;
}

void fuzz_id_set(char name, const char *id)
{
    if (id && strlen(id) < FUZZ_ID_SIZE)
        (void)snprintf(fuzz.ids[(unsigned char)name], FUZZ_ID_SIZE, "%s", id);
}

void fuzz_tick(int64_t ms)
{
    fuzz.clock.ms += ms;
    fuzz_advance();
}

bool fuzz_server_changed(void)
{
    static int64_t known;
    struct store_stats stats;
    fuzz.store->ops->stats(fuzz.store, &stats);
    bool has_changed = stats.operations != known;
    known = stats.operations;
    return has_changed;
}

static void open_once(void)
{
    static bool is_done;
    struct fault fault = FAULT_NONE;
    if (is_done)
        return;
    is_done = true;
    log_init(LOG_ERROR + 1, LOG_TEXT);
    PROVE(socketpair(AF_UNIX, SOCK_STREAM, 0, fuzz.sockets) == 0);
    PROVE(!waiters_new(1000, &fuzz.waiters));
    PROVE(!router_new(api_routes, api_num_routes, &fuzz.httpd.router, &fault));
    (void)pthread_mutex_init(&fuzz.loop.mutex, NULL);
    (void)pthread_mutex_init(&fuzz.httpd.mutex, NULL);
    (void)pthread_cond_init(&fuzz.httpd.idle, NULL);
    fuzz.loop.httpd = &fuzz.httpd;
    fuzz.loop.is_woken = true; /* nobody sleeps */
    fuzz.httpd.config.waiters = fuzz.waiters;
}

void fuzz_server_open(void)
{
    struct store *store;
    struct blobs *blobs;
    PROVE(!store_memory_open(&store) && !blobs_memory_open(&blobs));
    fuzz_server_open_over(store, blobs, NULL);
}

void fuzz_server_open_over(struct store *store, struct blobs *blobs, const char *data_dir)
{
    struct fault fault = FAULT_NONE;
    open_once();
    memset(fuzz.ids, 0, sizeof fuzz.ids);
    fuzz.clock.ms = START_MS;
    fuzz.entropy = 1;
    fuzz.loop.id_next = 0;
    fuzz.store = store;
    fuzz.blobs = blobs;
    const struct core_config core = {.store = fuzz.store,
                                     .blobs = fuzz.blobs,
                                     .clock = clock_fake(&fuzz.clock),
                                     .entropy = {fill, NULL},
                                     .heartbeat_ms = 10000};
    PROVE(!core_new(&core, &fuzz.core));
    const struct api_config api = {.store = fuzz.store,
                                   .blobs = fuzz.blobs,
                                   .core = fuzz.core,
                                   .clock = core.clock,
                                   .waiters = fuzz.waiters,
                                   .heartbeat_ms = 10000,
                                   .data_dir = data_dir,
                                   .auth_failures = INT32_MAX};
    PROVE(!api_new(&api, &fuzz.api));
    fuzz.httpd.hooks = api_hooks(fuzz.api);
    fuzz.store->ops->listen(fuzz.store, hear, NULL);
    PROVE(!core_recover(fuzz.core, &fault));
    fuzz_populate();
    (void)fuzz_server_changed();
}

void fuzz_server_hook(fuzz_fault_hook *hook)
{
    fuzz.hook = hook;
    fake_reads = fuzz_within;
}

void fuzz_server_step(uint64_t step)
{
    fuzz.clock.ms = START_MS + 1000 + (int64_t)step;
    fuzz.entropy = step * 1000003 + 17;
}

void fuzz_server_close(void)
{
    timers_release(&fuzz.loop.timers);
    fuzz.store->ops->close(fuzz.store);
    api_free(fuzz.api);
    core_free(fuzz.core);
    fuzz.blobs->ops->close(fuzz.blobs);
}
