#include "common/tensor/safetensors.h"

#include <stdlib.h>
#include <string.h>
#include "common/tensor/safetensors_internal.h"

enum stage { STAGE_LENGTH, STAGE_HEADER, STAGE_DATA };

struct safetensors_stream {
    const struct tensor_table *table;
    const char *prefix;
    struct arena *arena;
    enum stage stage;
    struct fault failure; /* .err is ERR_OK until something was wrong */

    uint8_t length[8];
    char *json;
    uint64_t json_bytes;
    uint64_t filled; /* bytes of the present stage: length, header or data */

    struct safetensors_header header;
    size_t entry;       /* that the byte at `filled` belongs to */
    uint8_t partial[4]; /* a float cut in two by the caller's pieces */
    size_t num_partial;
};

enum err safetensors_stream_new(const struct tensor_table *table, const char *prefix, struct arena *arena,
                                struct safetensors_stream **out)
{
    struct safetensors_stream *s = calloc(1, sizeof *s);
    if (!s)
        return ERR_NO_MEMORY;
    s->table = table;
    s->arena = arena;
    s->prefix = arena_strdup(arena, prefix);
    if (!s->prefix) {
        free(s);
        return ERR_NO_MEMORY;
    }
    *out = s;
    return ERR_OK;
}

void safetensors_stream_free(struct safetensors_stream *s)
{
    free(s);
}

const struct safetensors_header *safetensors_stream_header(const struct safetensors_stream *s)
{
    return s->stage == STAGE_DATA ? &s->header : NULL;
}

static enum err take_length(struct safetensors_stream *s, const uint8_t **p, size_t *n)
{
    size_t some = sizeof s->length - s->filled;
    if (some > *n)
        some = *n;
    memcpy(s->length + s->filled, *p, some);
    *p += some;
    *n -= some;
    s->filled += some;
    if (s->filled < sizeof s->length)
        return ERR_OK;
    s->json_bytes = safetensors_get_length(s->length);
    enum err err = safetensors_check_length(s->json_bytes, s->table, &s->failure);
    if (err)
        return err;
    s->json = arena_alloc(s->arena, (size_t)s->json_bytes);
    if (!s->json)
        return fault_set(&s->failure, ERR_NO_MEMORY, NULL,
                         "out of memory for a safetensors header of %llu bytes",
                         (unsigned long long)s->json_bytes);
    s->stage = STAGE_HEADER;
    s->filled = 0;
    return ERR_OK;
}

static enum err take_header(struct safetensors_stream *s, const uint8_t **p, size_t *n)
{
    size_t some = (size_t)(s->json_bytes - s->filled);
    if (some > *n)
        some = *n;
    if (some > 0)
        memcpy(s->json + s->filled, *p, some);
    *p += some;
    *n -= some;
    s->filled += some;
    if (s->filled < s->json_bytes)
        return ERR_OK;
    enum err err =
        safetensors_header_parse(s->json, (size_t)s->json_bytes, s->arena, &s->header, &s->failure);
    if (!err)
        err = safetensors_match(&s->header, s->table, s->prefix, &s->failure);
    if (err)
        return err;
    s->stage = STAGE_DATA;
    s->filled = 0;
    return ERR_OK;
}

static uint32_t element_bits(const uint8_t *p, size_t size)
{
    uint32_t bits = 0;
    uint16_t half;
    if (size == 4) {
        memcpy(&bits, p, 4);
        return bits;
    }
    memcpy(&half, p, 2);
    return half;
}

/* Without an early exit, so that it vectorises. */
static bool block_is_finite(const uint8_t *p, size_t n, size_t size, uint32_t mask)
{
    uint32_t bad = 0;
    if (size == 4) {
        for (size_t i = 0; i < n; i++)
            bad |= (element_bits(p + 4 * i, 4) & mask) == mask;
    } else {
        for (size_t i = 0; i < n; i++)
            bad |= (element_bits(p + 2 * i, 2) & mask) == mask;
    }
    return bad == 0;
}

/* Whole elements of one type; *out_index is the first that is NaN or infinite. */
static bool elements_are_finite(const uint8_t *p, size_t n, enum dtype dtype, size_t *out_index)
{
    enum { BLOCK = 1024 };
    size_t size = dtype_size(dtype);
    uint32_t mask = dtype == DTYPE_F32 ? 0x7f800000u : dtype == DTYPE_F16 ? 0x7c00u : 0x7f80u;
    for (size_t from = 0; from < n; from += BLOCK) {
        size_t i = from;
        if (block_is_finite(p + size * from, n - from < BLOCK ? n - from : BLOCK, size, mask))
            continue;
        while ((element_bits(p + size * i, size) & mask) != mask)
            i++;
        *out_index = i;
        return false;
    }
    return true;
}

/* n bytes of the present entry, which is of a float type: completes a cut element, checks whole ones, keeps
 * the rest. */
static enum err check_floats(struct safetensors_stream *s, const struct safetensors_entry *e,
                             const uint8_t *p, size_t n)
{
    size_t size = dtype_size(e->dtype), bad = 0;
    uint64_t index = (s->filled - e->begin - s->num_partial) / size;
    if (s->num_partial > 0) {
        while (n > 0 && s->num_partial < size) {
            s->partial[s->num_partial++] = *p++;
            n--;
        }
        if (s->num_partial < size)
            return ERR_OK;
        s->num_partial = 0;
        if (!elements_are_finite(s->partial, 1, e->dtype, &bad))
            return safetensors_refuse_non_finite(e->name, index, &s->failure);
        index++;
    }
    if (!elements_are_finite(p, n / size, e->dtype, &bad))
        return safetensors_refuse_non_finite(e->name, index + bad, &s->failure);
    s->num_partial = n % size;
    memcpy(s->partial, p + n - s->num_partial, s->num_partial);
    return ERR_OK;
}

static enum err take_data(struct safetensors_stream *s, const uint8_t **p, size_t *n)
{
    const struct safetensors_header *h = &s->header;
    while (s->entry < h->num_entries && s->filled == h->entries[s->entry].end)
        s->entry++;
    if (s->entry == h->num_entries)
        return fault_set(&s->failure, ERR_INVALID_SAFETENSORS, NULL,
                         "the header describes %llu bytes of data, the file has more",
                         (unsigned long long)h->data_bytes);
    const struct safetensors_entry *e = &h->entries[s->entry];
    uint64_t left = e->end - s->filled;
    size_t some = left < *n ? (size_t)left : *n;
    if (dtype_is_float(e->dtype)) {
        enum err err = check_floats(s, e, *p, some);
        if (err)
            return err;
    }
    *p += some;
    *n -= some;
    s->filled += some;
    return ERR_OK;
}

enum err safetensors_stream_feed(struct safetensors_stream *s, const void *bytes, size_t n,
                                 struct fault *fault)
{
    const uint8_t *p = bytes;
    while (!s->failure.err && (n > 0 || (s->stage == STAGE_HEADER && s->json_bytes == 0))) {
        enum err err = ERR_OK;
        if (s->stage == STAGE_LENGTH)
            err = take_length(s, &p, &n);
        else if (s->stage == STAGE_HEADER)
            err = take_header(s, &p, &n);
        else
            err = take_data(s, &p, &n);
        if (err && !s->failure.err)
            bug("a safetensors error without its fault");
    }
    if (s->failure.err && fault)
        *fault = s->failure;
    return s->failure.err;
}

enum err safetensors_stream_end(struct safetensors_stream *s, struct fault *fault)
{
    if (!s->failure.err && s->stage == STAGE_LENGTH)
        (void)fault_set(
            &s->failure, ERR_INVALID_SAFETENSORS, NULL,
            "a safetensors file begins with 8 bytes of header length; this one has only %llu bytes",
            (unsigned long long)s->filled);
    if (!s->failure.err && s->stage == STAGE_HEADER)
        (void)fault_set(&s->failure, ERR_INVALID_SAFETENSORS, NULL,
                        "the file ends within its header: %llu bytes announced, %llu there",
                        (unsigned long long)s->json_bytes, (unsigned long long)s->filled);
    if (!s->failure.err && s->filled < s->header.data_bytes)
        (void)fault_set(&s->failure, ERR_INVALID_SAFETENSORS, NULL,
                        "the header describes %llu bytes of data, the file has only %llu",
                        (unsigned long long)s->header.data_bytes, (unsigned long long)s->filled);
    if (s->failure.err && fault)
        *fault = s->failure;
    return s->failure.err;
}
