#include "server/core/work.h"

enum err op_weights_sent(struct store_txn *txn, void *arg)
{
    struct op_weights_sent *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct round_row round;
    enum err e = round_load(&w, a->run_id, a->version, &round); /* round t starts from version t */
    if (e)
        return e;
    round.bytes_out += a->bytes;
    return store_update(txn, RECORD_ROUND, &round);
}
