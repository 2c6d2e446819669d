#include "server/api/auth_limit.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"

#define NUM_PLACES  4096
#define NUM_WAYS    4 /* places that an address may take */
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

struct place {
    uint64_t network; /* 0: free */
    int64_t level_ms; /* failures not forgotten yet, 1000 each */
    int64_t at_ms;    /* as of then */
};

struct auth_limit {
    int64_t most;
    pthread_mutex_t mutex;
    struct place places[NUM_PLACES];
};

enum err auth_limit_new(int64_t most, struct auth_limit **out)
{
    struct auth_limit *l = calloc(1, sizeof *l);
    if (!l)
        return ERR_NO_MEMORY;
    (void)pthread_mutex_init(&l->mutex, NULL);
    l->most = most;
    *out = l;
    return ERR_OK;
}

void auth_limit_free(struct auth_limit *l)
{
    if (!l)
        return;
    (void)pthread_mutex_destroy(&l->mutex);
    free(l);
}

static uint64_t network_of(const char *address)
{
    unsigned char bytes[16] = {0};
    uint64_t network = 0;
    if (inet_pton(AF_INET, address, bytes) == 1)
        memset(bytes + 4, 0xff, 4); /* no IPv6 network that is routed ends so */
    else if (inet_pton(AF_INET6, address, bytes) != 1)
        memset(bytes, 0xff, sizeof bytes); /* unknown: all share one place */
    memcpy(&network, bytes, sizeof network);
    return network ? network : 1;
}

static int64_t level_at(const struct place *p, int64_t now_ms)
{
    int64_t left = p->level_ms - (now_ms > p->at_ms ? now_ms - p->at_ms : 0);
    return left > 0 ? left : 0;
}

/* The address's own place, else the one of the four where least would be forgotten with it. */
static struct place *place_of(struct auth_limit *l, uint64_t network, int64_t now_ms)
{
    size_t first = (size_t)((network * HASH_FACTOR) >> 33) % (NUM_PLACES / NUM_WAYS) * NUM_WAYS;
    struct place *best = &l->places[first];
    for (size_t i = first; i < first + NUM_WAYS; i++) {
        if (l->places[i].network == network)
            return &l->places[i];
        if (level_at(&l->places[i], now_ms) < level_at(best, now_ms))
            best = &l->places[i];
    }
    *best = (struct place){.network = network};
    return best;
}

bool auth_limit_failed(struct auth_limit *l, const char *address, int64_t now_ms)
{
    const int64_t full = l->most * 1000;
    uint64_t network = network_of(address);
    (void)pthread_mutex_lock(&l->mutex);
    struct place *p = place_of(l, network, now_ms);
    int64_t level = level_at(p, now_ms) + 1000;
    bool is_fine = level <= full;
    if (!is_fine && p->level_ms < full)
        log_warning(
            "auth",
            "%s failed to show a good token more than %lld times: it is answered 429 until it fails less",
            address, (long long)l->most);
    p->level_ms = is_fine ? level : full;
    p->at_ms = now_ms;
    (void)pthread_mutex_unlock(&l->mutex);
    return is_fine;
}
