/* Headers as writers write them, read without building a document: texts without escapes, whole numbers, few
 * members. What is not so goes to the parser, which alone knows what is wrong. */
#include <string.h>
#include "common/tensor/safetensors_internal.h"

#define MOST_MEMBERS 64 /* of an object: each name is compared with all before it */
#define MOST_DIGITS  15

struct scan {
    const char *at, *end;
    struct arena *arena;
};

struct text {
    const char *at;
    size_t n;
};

static bool is_at(const struct scan *s, char c)
{
    return s->at < s->end && *s->at == c;
}

static void skip_blanks(struct scan *s)
{
    while (is_at(s, ' ') || is_at(s, '\n') || is_at(s, '\r') || is_at(s, '\t'))
        s->at++;
}

static bool take(struct scan *s, char c)
{
    skip_blanks(s);
    if (!is_at(s, c))
        return false;
    s->at++;
    skip_blanks(s);
    return true;
}

/* After an element: another one, or the end. */
static bool take_comma_or(struct scan *s, char end, bool *out_is_end)
{
    *out_is_end = take(s, end);
    return *out_is_end || take(s, ',');
}

/* Visible ASCII and blanks alone: whether other bytes are UTF-8 is the parser's to judge. */
static bool take_text(struct scan *s, struct text *out)
{
    if (!is_at(s, '"'))
        return false;
    const char *from = ++s->at;
    while (s->at < s->end && *s->at >= ' ' && *s->at <= '~' && *s->at != '"' && *s->at != '\\')
        s->at++;
    *out = (struct text){from, (size_t)(s->at - from)};
    return is_at(s, '"') && s->at++;
}

static bool take_name(struct scan *s, struct text *out)
{
    return take_text(s, out) && take(s, ':');
}

static bool is_text(const struct text *t, const char *word)
{
    return t->n == strlen(word) && memcmp(t->at, word, t->n) == 0;
}

static bool keep(const struct scan *s, const struct text *t, const char **out)
{
    *out = arena_strndup(s->arena, t->at, t->n);
    return *out != NULL;
}

static bool take_whole(struct scan *s, int64_t *out)
{
    const char *from = s->at;
    int64_t value = 0;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9' && s->at - from < MOST_DIGITS)
        value = value * 10 + (*s->at++ - '0');
    *out = value;
    return s->at > from && (*from != '0' || s->at == from + 1);
}

static bool take_wholes(struct scan *s, int64_t *out, int most, int *out_count)
{
    bool is_end = false;
    *out_count = 0;
    if (!take(s, '['))
        return false;
    is_end = take(s, ']');
    while (!is_end) {
        if (*out_count == most || !take_whole(s, &out[*out_count]) || !take_comma_or(s, ']', &is_end))
            return false;
        ++*out_count;
    }
    return true;
}

static bool take_offsets(struct scan *s, struct safetensors_entry *e)
{
    int64_t ends[2];
    int count;
    if (!take_wholes(s, ends, 2, &count) || count != 2 || ends[1] < ends[0])
        return false;
    e->begin = (uint64_t)ends[0];
    e->end = (uint64_t)ends[1];
    return true;
}

static bool take_dtype(struct scan *s, struct safetensors_entry *e)
{
    struct text text;
    char word[8] = "";
    if (!take_text(s, &text) || text.n >= sizeof word)
        return false;
    memcpy(word, text.at, text.n);
    return dtype_parse(word, &e->dtype) == ERR_OK;
}

static bool spans_its_elements(struct safetensors_entry *e)
{
    int64_t bytes;
    return safetensors_count_elements(e) &&
           !__builtin_mul_overflow(e->num_elements, (int64_t)dtype_size(e->dtype), &bytes) &&
           (uint64_t)bytes == e->end - e->begin;
}

static bool take_entry(struct scan *s, struct safetensors_entry *e)
{
    unsigned had = 0;
    struct text name;
    if (!take(s, '{'))
        return false;
    for (bool is_end = false; !is_end;) {
        if (!take_name(s, &name))
            return false;
        unsigned field = is_text(&name, "dtype") ? 1 : is_text(&name, "shape") ? 2 : 4;
        bool is_fine = field == 1   ? take_dtype(s, e)
                       : field == 2 ? take_wholes(s, e->shape, LIMIT_TENSOR_DIMS, &e->num_dims)
                                    : is_text(&name, "data_offsets") && take_offsets(s, e);
        if (!is_fine || (had & field) || !take_comma_or(s, '}', &is_end))
            return false;
        had |= field;
    }
    return had == 7 && spans_its_elements(e);
}

static bool take_pair(struct scan *s, const struct text *name, struct safetensors_header *h)
{
    struct safetensors_pair *pair = &h->metadata[h->num_metadata];
    struct text value;
    if (!take_text(s, &value) || !keep(s, name, &pair->key) || !keep(s, &value, &pair->value))
        return false;
    for (size_t i = 0; i < h->num_metadata; i++)
        if (strcmp(h->metadata[i].key, pair->key) == 0)
            return false;
    h->num_metadata++;
    return true;
}

static bool take_metadata(struct scan *s, struct safetensors_header *h)
{
    struct text name;
    if (h->metadata || !take(s, '{'))
        return false;
    h->metadata = arena_calloc(s->arena, MOST_MEMBERS, sizeof *h->metadata);
    if (!h->metadata)
        return false;
    for (bool is_end = take(s, '}'); !is_end;)
        if (h->num_metadata == MOST_MEMBERS || !take_name(s, &name) || !take_pair(s, &name, h) ||
            !take_comma_or(s, '}', &is_end))
            return false;
    return true;
}

static bool take_tensor(struct scan *s, const struct text *name, struct safetensors_header *h)
{
    if (h->num_entries == MOST_MEMBERS)
        return false;
    struct safetensors_entry *e = &h->entries[h->num_entries];
    if (!keep(s, name, &e->name) || !take_entry(s, e))
        return false;
    for (size_t i = 0; i < h->num_entries; i++)
        if (strcmp(h->entries[i].name, e->name) == 0)
            return false;
    h->num_entries++;
    return true;
}

bool safetensors_header_scan(const char *json, size_t len, struct arena *arena,
                             struct safetensors_header *out)
{
    struct scan s = {.at = json, .end = json + len, .arena = arena};
    struct safetensors_header h = {.header_bytes = 8 + (uint64_t)len};
    struct text name;
    if (!take(&s, '{'))
        return false;
    h.entries = arena_calloc(arena, MOST_MEMBERS, sizeof *h.entries);
    if (!h.entries)
        return false;
    for (bool is_end = take(&s, '}'); !is_end;) {
        if (!take_name(&s, &name))
            return false;
        bool is_fine = is_text(&name, "__metadata__") ? take_metadata(&s, &h) : take_tensor(&s, &name, &h);
        if (!is_fine || !take_comma_or(&s, '}', &is_end))
            return false;
    }
    if (s.at != s.end)
        return false;
    *out = h;
    return true;
}
