#include "bench/load_exchange.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FILL_PIECES 16

/* A measurement that cannot go on has no result. */
void load_die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)fputs("load client: ", stderr);
    (void)vfprintf(stderr, fmt, ap);
    (void)fputc('\n', stderr);
    va_end(ap);
    exit(EXIT_FAILURE);
}

/* --- the request --- */

static void piece_add(struct iovec *pieces, int *count, const void *bytes, size_t size, uint64_t *skip)
{
    if (*skip >= size) {
        *skip -= size;
        return;
    }
    pieces[(*count)++] =
        (struct iovec){.iov_base = (char *)(uintptr_t)bytes + *skip, .iov_len = size - (size_t)*skip};
    *skip = 0;
}

/* What comes after the first `skip` bytes, or the next FILL_PIECES of it. */
static int pieces_from(const struct load_request *r, uint64_t skip, struct iovec *pieces)
{
    int count = 0;
    piece_add(pieces, &count, r->head, r->head_size, &skip);
    piece_add(pieces, &count, r->body, r->body_size, &skip);
    for (int i = 0; i < FILL_PIECES && skip < r->fill_total; i++) {
        size_t at = (size_t)(skip % r->fill_size), n = r->fill_size - at;
        n = n < r->fill_total - skip ? n : (size_t)(r->fill_total - skip);
        pieces[count++] = (struct iovec){.iov_base = (char *)(uintptr_t)r->fill + at, .iov_len = n};
        skip += n;
    }
    return count;
}

void exchange_begin(struct load_exchange *x, const struct load_request *request)
{
    x->request = *request;
    x->sent = 0;
    x->to_send = request->head_size + request->body_size + request->fill_total;
    buf_clear(&x->in);
    x->head_size = 0;
    x->answer = (struct load_answer){.status = 0};
}

bool exchange_send(struct load_exchange *x)
{
    struct iovec pieces[2 + FILL_PIECES];
    x->wants_out = false;
    while (x->sent < x->to_send) {
        ssize_t n = link_send(&x->link, pieces, pieces_from(&x->request, x->sent, pieces));
        if (n == LINK_ENDED)
            return false;
        if (n == LINK_BLOCKED) {
            x->wants_out = !x->link.waits_for_input;
            break;
        }
        x->sent += (uint64_t)n;
    }
    return true;
}

/* --- the answer --- */

static void must_append(struct buf *b, const char *bytes, size_t n)
{
    if (buf_append(b, bytes, n))
        load_die("no memory for an answer");
}

static bool head_parse(struct load_exchange *x)
{
    const char *length = strcasestr(x->in.data, "\r\nContent-Length:");
    char *end = NULL;
    if (strncmp(x->in.data, "HTTP/1.1 ", 9) != 0)
        return false;
    x->answer.status = (int)strtol(x->in.data + 9, &end, 10);
    if (x->answer.status != 204 && x->answer.status != 304 && !length)
        return false;
    x->answer.content_size = length ? strtoull(length + 17, NULL, 10) : 0;
    x->content_left = x->answer.content_size;
    return true;
}

/* Bytes of the head; false when it is none of ours. What follows the head stays in *bytes. */
static bool take_head(struct load_exchange *x, const char **bytes, size_t *n)
{
    size_t before = x->in.len;
    must_append(&x->in, *bytes, *n < EXCHANGE_HEAD - before ? *n : EXCHANGE_HEAD - before);
    const char *from = x->in.data + (before > 3 ? before - 3 : 0), *end = strstr(from, "\r\n\r\n");
    if (!end) {
        *n = 0;
        return x->in.len < EXCHANGE_HEAD;
    }
    x->head_size = (size_t)(end - x->in.data) + 4;
    size_t used = x->head_size - before;
    *bytes += used;
    *n -= used;
    x->in.len = x->head_size - 1; /* the head's last line feed becomes its NUL */
    x->in.data[x->in.len] = '\0';
    return head_parse(x) && buf_append(&x->in, "", 1) == ERR_OK;
}

static void take_body(struct load_exchange *x, const char *bytes, size_t n, size_t keep_body)
{
    size_t kept = x->in.len - x->head_size, room = keep_body - kept;
    x->content_left -= n;
    must_append(&x->in, bytes, n < room ? n : room);
}

bool exchange_take(struct load_exchange *x, const char *bytes, size_t n, size_t keep_body)
{
    if (!x->head_size && !take_head(x, &bytes, &n))
        return false;
    if (!x->head_size)
        return true;
    if (n > x->content_left)
        return false;
    take_body(x, bytes, n, keep_body);
    return true;
}

bool exchange_is_done(const struct load_exchange *x)
{
    return x->head_size && x->content_left == 0;
}

const struct load_answer *exchange_answer(struct load_exchange *x, bool has_ended)
{
    x->answer.head = x->head_size ? x->in.data : "";
    x->answer.body = x->head_size ? x->in.data + x->head_size : "";
    x->answer.body_size = x->head_size ? x->in.len - x->head_size : 0;
    if (has_ended)
        x->answer.status = 0;
    return &x->answer;
}
