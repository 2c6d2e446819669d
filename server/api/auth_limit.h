/* How often an address may fail to say who it is: a token bucket for each, in memory. Whoever shows a token
 * that is good is never held up by it, so machines behind one address do not suffer from a neighbour's
 * mistakes. */
#ifndef FEDLANE_API_AUTH_LIMIT_H
#define FEDLANE_API_AUTH_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include "common/base/err.h"

struct auth_limit;

enum err auth_limit_new(int64_t most, struct auth_limit **out) MUST_CHECK;
void auth_limit_free(struct auth_limit *l);
/* Counts a failure of `address` (numeric; of IPv6 its /64 counts, which is what one customer gets). False:
 * there were more than `most` of late; one a second is forgotten. Any thread. A table of fixed
 * size: of two addresses that want one place, the one that failed less keeps nothing. */
bool auth_limit_failed(struct auth_limit *l, const char *address, int64_t now_ms) MUST_CHECK;

#endif
