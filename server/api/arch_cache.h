/* Architectures of runs, parsed once: every update is checked against its run's tensors. Thread-safe. */
#ifndef FEDLANE_API_ARCH_CACHE_H
#define FEDLANE_API_ARCH_CACHE_H

#include "common/model/arch.h"
#include "server/store/store.h"

struct arch_cache;
struct arch_ref; /* a shared architecture; a run's never changes */

enum err arch_cache_new(struct arch_cache **out) MUST_CHECK;
void arch_cache_free(struct arch_cache *c);
/* Inside a read. The caller gives it back by arch_unref(). */
enum err arch_cache_get(struct arch_cache *c, struct store_txn *txn, const char *run_id, struct arena *arena,
                        struct arch_ref **out) MUST_CHECK;
const struct arch *arch_of(const struct arch_ref *ref);
void arch_unref(struct arch_ref *ref); /* NULL is fine */

#endif
