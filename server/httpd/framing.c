/* Where a request ends, and that no two readers of it can think otherwise: or one request could hide in
 * another (RFC 9112, section 11.2), behind a proxy that reads it in another way. */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "common/base/str.h"
#include "server/httpd/internal.h"

/* Fields that may stand there once: of two, one reader takes the first, another the last. */
enum single { LENGTH, CODING, NUM_FRAMING, NUM_SINGLE = 7 };
static const char *const single_names[NUM_SINGLE] = {[LENGTH] = "Content-Length",
                                                     [CODING] = "Transfer-Encoding",
                                                     "Host",
                                                     "Authorization",
                                                     "Content-Type",
                                                     "Content-Encoding",
                                                     "Idempotency-Key"};

struct framing {
    struct request *rq;
    size_t counts[NUM_SINGLE];
    const char *values[NUM_SINGLE];
    struct fault *fault;
    enum err err;
};

/* What RFC 9110 calls a token. A blank before the colon is none: "Content-Length : 5" would be another field
 * to us than to a reader who forgives it. */
static bool is_token(const char *name)
{
    const char *at = name;
    while (*at && (isalnum((unsigned char)*at) || strchr("!#$%&'*+-.^_`|~", *at)))
        at++;
    return at > name && !*at;
}

static bool has_control(const char *value)
{
    for (; *value; value++)
        if (((unsigned char)*value < 0x20 && *value != '\t') || *value == 0x7f)
            return true;
    return false;
}

/* libmicrohttpd appends what follows a line break and a blank to the field's name. */
static bool is_folded(const char *name)
{
    for (size_t i = 0; i < NUM_FRAMING; i++) {
        size_t n = strlen(single_names[i]);
        if (strncasecmp(name, single_names[i], n) == 0 && name[n])
            return true;
    }
    return false;
}

static enum err field_check(const char *name, const char *value, struct fault *fault)
{
    if (!is_token(name))
        return fault_set(
            fault, ERR_INVALID_FIELD, NULL,
            "\"%.40s\" is no name of a header field: a name has no blanks and no control characters, "
            "and a colon follows it directly",
            name);
    if (is_folded(name))
        return fault_set(fault, ERR_INVALID_FIELD, NULL,
                         "a header field may not go on in the next line; send each in one line");
    if (has_control(value))
        return fault_set(fault, ERR_INVALID_FIELD, name, "a header field may not hold control characters");
    return ERR_OK;
}

/* Blanks at a value's end are none of it (RFC 9110, 5.5); libmicrohttpd leaves them there. */
static enum err trim(struct request *rq, const char *value, struct fault *fault)
{
    size_t n = strlen(value), len = n;
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        len--;
    if (len == n)
        return ERR_OK;
    struct trimmed *t = arena_alloc(&rq->arena, sizeof *t);
    char *text = arena_strndup(&rq->arena, value, len);
    if (!t || !text)
        return reply_no_memory(fault);
    *t = (struct trimmed){.raw = value, .text = text, .next = rq->trimmed};
    rq->trimmed = t;
    return ERR_OK;
}

static enum MHD_Result visit(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct framing *f = cls;
    (void)kind;
    f->err = field_check(name, value ? value : "", f->fault);
    if (!f->err && value)
        f->err = trim(f->rq, value, f->fault);
    for (size_t i = 0; i < NUM_SINGLE && !f->err; i++)
        if (strcasecmp(name, single_names[i]) == 0) {
            f->counts[i]++;
            f->values[i] = value;
        }
    return f->err ? MHD_NO : MHD_YES;
}

static enum err singles_check(const struct framing *f)
{
    if (f->counts[LENGTH] + f->counts[CODING] > 1)
        return fault_set(f->fault, ERR_INVALID_FIELD, single_names[f->counts[CODING] ? CODING : LENGTH],
                         "the body's length may be stated only once: by one Content-Length, or by "
                         "Transfer-Encoding: chunked");
    for (size_t i = NUM_FRAMING; i < NUM_SINGLE; i++)
        if (f->counts[i] > 1)
            return fault_set(f->fault, ERR_INVALID_FIELD, single_names[i],
                             "this header field may be given only once");
    return ERR_OK;
}

static enum err length_read(struct request *rq, const struct framing *f)
{
    if (f->counts[CODING]) {
        if (f->values[CODING] && strcasecmp(f->values[CODING], "chunked") == 0)
            return ERR_OK;
        return fault_set(f->fault, ERR_INVALID_FIELD, single_names[CODING],
                         "the only transfer coding that is understood is chunked");
    }
    uint64_t length = 0;
    if (f->counts[LENGTH] &&
        (!f->values[LENGTH] || str_to_u64(f->values[LENGTH], &length) || length == REQUEST_LENGTH_UNKNOWN))
        return fault_set(f->fault, ERR_PAYLOAD_TOO_LARGE, single_names[LENGTH], "no body can be that long");
    rq->content_length = length;
    return ERR_OK;
}

enum err framing_check(struct request *rq, struct fault *fault)
{
    struct framing f = {.rq = rq, .fault = fault};
    rq->content_length = REQUEST_LENGTH_UNKNOWN;
    (void)MHD_get_connection_values(rq->mhd, MHD_HEADER_KIND, visit, &f);
    if (!f.err)
        f.err = singles_check(&f);
    return f.err ? f.err : length_read(rq, &f);
}
