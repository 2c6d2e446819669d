#include "server/api/round_walk.h"

#include "common/base/limits.h"

#define ROUNDS_AT_ONCE 500

enum err round_walk(struct store_txn *txn, const char *run_id, int64_t after, round_visit *visit, void *ctx)
{
    struct arena arena = ARENA_INIT(LIMIT_REQUEST_ARENA);
    enum err e = ERR_OK;
    bool is_end = false;
    while (e == ERR_OK && !is_end) {
        struct round_row *rows = NULL;
        size_t n = 0;
        e = store_find(txn, QUERY_ROUNDS, &arena, ROUNDS_AT_ONCE, &rows, &n, store_text(run_id),
                       store_int(after));
        is_end = n < ROUNDS_AT_ONCE;
        for (size_t i = 0; e == ERR_OK && i < n; i++) {
            bool stop = false;
            after = rows[i].n;
            e = visit(ctx, &rows[i], &stop);
            if (stop) {
                is_end = true;
                break;
            }
        }
        arena_clear(&arena);
    }
    arena_release(&arena);
    return e;
}
