#include "server/httpd/peers.h"
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NUM_BUCKETS 4096
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

struct peer {
    struct peer *next;
    uint64_t network;
    unsigned count;
};

struct peers {
    unsigned most;
    pthread_mutex_t mutex;
    struct peer *buckets[NUM_BUCKETS];
};

enum err peers_new(unsigned most, struct peers **out)
{
    struct peers *p = calloc(1, sizeof *p);
    if (!p || pthread_mutex_init(&p->mutex, NULL)) {
        free(p);
        return ERR_NO_MEMORY;
    }
    p->most = most;
    *out = p;
    return ERR_OK;
}

void peers_free(struct peers *p)
{
    for (size_t i = 0; p && i < NUM_BUCKETS; i++)
        for (struct peer *peer = p->buckets[i], *next; peer; peer = next) {
            next = peer->next;
            free(peer);
        }
    if (p)
        (void)pthread_mutex_destroy(&p->mutex);
    free(p);
}

uint64_t peers_network(const struct sockaddr *address)
{
    unsigned char bytes[16] = {0};
    uint64_t network = 0;
    if (address && address->sa_family == AF_INET6)
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, sizeof bytes);
    bool is_v4 = address && address->sa_family == AF_INET;
    if (is_v4)
        memcpy(bytes, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    else if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)bytes)) {
        memcpy(bytes, bytes + 12, 4); /* a socket for both kinds has IPv4 addresses so */
        is_v4 = true;
    }
    if (is_v4)
        memset(bytes + 4, 0xff, 4); /* no IPv6 network that is routed ends so */
    memcpy(&network, bytes, sizeof network);
    return network ? network : 1;
}

/* Where the link to the network's peer is, or would be. */
static struct peer **find(struct peers *p, uint64_t network)
{
    struct peer **at = &p->buckets[network * HASH_FACTOR >> 52];
    while (*at && (*at)->network != network)
        at = &(*at)->next;
    return at;
}

bool peers_add(struct peers *p, uint64_t network)
{
    (void)pthread_mutex_lock(&p->mutex);
    struct peer **at = find(p, network), *peer = *at;
    if (!peer && (peer = calloc(1, sizeof *peer))) {
        peer->network = network;
        *at = peer;
    }
    bool is_taken = peer && (!p->most || peer->count < p->most);
    if (is_taken)
        peer->count++;
    (void)pthread_mutex_unlock(&p->mutex);
    return is_taken;
}

void peers_drop(struct peers *p, uint64_t network)
{
    (void)pthread_mutex_lock(&p->mutex);
    struct peer **at = find(p, network), *peer = *at;
    if (!peer || !peer->count)
        bug("a connection ends that was not counted");
    if (--peer->count == 0) {
        *at = peer->next;
        free(peer);
    }
    (void)pthread_mutex_unlock(&p->mutex);
}
