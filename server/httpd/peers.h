/* How many connections each address has, over all threads. An IPv6 address counts with its network (/64), in
 * which one machine may choose any. Thread-safe. */
#ifndef FEDLANE_HTTPD_PEERS_H
#define FEDLANE_HTTPD_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include "common/base/err.h"

struct peers;

enum err peers_new(unsigned most, struct peers **out) MUST_CHECK; /* most: of one address; 0: any number */
void peers_free(struct peers *p);                                 /* NULL is legal */

uint64_t peers_network(const struct sockaddr *address); /* never 0 */
/* False: it has as many as it may have, or there is no memory to count it. */
bool peers_add(struct peers *p, uint64_t network) MUST_CHECK;
void peers_drop(struct peers *p, uint64_t network); /* one that peers_add took */

#endif
