/* One request and its answer on a link. */
#ifndef FEDLANE_BENCH_LOAD_EXCHANGE_H
#define FEDLANE_BENCH_LOAD_EXCHANGE_H

#include "bench/load_client.h"
#include "bench/load_link.h"
#include "common/base/buf.h"
#include "common/base/limits.h"
#include "common/base/log.h"

#define EXCHANGE_HEAD (16 * KIB) /* the most bytes of an answer's head */

struct load_exchange {
    struct load_link link;
    struct load_request request;
    uint64_t sent, to_send;
    bool wants_out;        /* the link must take more before the rest can be sent */
    struct buf in;         /* the head, then what is kept of the body: EXCHANGE_HEAD and that, at most */
    size_t head_size;      /* 0: the head is not complete */
    uint64_t content_left; /* of the body */
    struct load_answer answer;
};

/* A measurement that cannot go on has no result. */
_Noreturn void load_die(const char *fmt, ...) PRINTF_LIKE(1, 2);

void exchange_begin(struct load_exchange *x, const struct load_request *request);
/* As much as the link takes. False: it ended. */
bool exchange_send(struct load_exchange *x);
/* Bytes that came. False: they are no answer of ours, or more than it. */
bool exchange_take(struct load_exchange *x, const char *bytes, size_t n, size_t keep_body);
bool exchange_is_done(const struct load_exchange *x);
/* What came; all but the latency. has_ended: the link did, before it was done. */
const struct load_answer *exchange_answer(struct load_exchange *x, bool has_ended);

#endif
