#include "server/api/report.h"

#include <stdlib.h>
#include <string.h>
#include "common/api/update_meta.h"
#include "common/base/str.h"
#include "common/json/json_spec.h"
#include "server/api/fields.h"

const char *const report_query[] = {
#define X(kind, name) #name,
    UPDATE_META_TABLE(X)
#undef X
        "metrics",
    NULL};

#define NUM_QUERY (sizeof report_query / sizeof report_query[0] - 1)
_Static_assert(NUM_QUERY <= LIMIT_QUERY_PARAMS, "a query can hold them all");

void report_said_in_query(const struct request *rq, struct report_said *out)
{
    *out = (struct report_said){0};
    for (size_t i = 0; i < NUM_QUERY; i++)
        out->values[i] = request_query(rq, report_query[i]);
}

enum err report_said_keep(const struct report_said *said, struct arena *arena, const char **out_text)
{
    struct obj o = obj_new();
    for (size_t i = 0; i < NUM_QUERY; i++)
        if (said->values[i])
            obj_text(&o, report_query[i], said->values[i]);
    json_t *json = obj_end(&o);
    char *text = NULL;
    enum err e = json ? json_text(json, &text) : ERR_NO_MEMORY;
    json_decref(json);
    if (!e && !(*out_text = arena_strdup(arena, text)))
        e = ERR_NO_MEMORY;
    free(text);
    return e;
}

enum err report_said_read(const char *text, struct arena *arena, struct report_said *out)
{
    json_t *json = json_loads(text, 0, NULL);
    enum err e = json_is_object(json) ? ERR_OK : ERR_CORRUPT;
    *out = (struct report_said){0};
    for (size_t i = 0; i < NUM_QUERY && e == ERR_OK; i++) {
        const char *value = json_string_value(json_object_get(json, report_query[i]));
        if (value && !(out->values[i] = arena_strdup(arena, value)))
            e = ERR_NO_MEMORY;
    }
    json_decref(json);
    return e;
}

struct pairs {
    struct safetensors_pair *items;
    size_t count;
};

static enum err pairs_new(struct arena *arena, size_t max, struct pairs *out)
{
    out->items = arena_calloc(arena, max, sizeof *out->items);
    out->count = 0;
    return out->items ? ERR_OK : ERR_NO_MEMORY;
}

static const char *pairs_find(const struct pairs *p, const char *key)
{
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->items[i].key, key) == 0)
            return p->items[i].value;
    }
    return NULL;
}

/* Adds what the query says and the body does not. */
static enum err add_query(const struct report_said *said, struct pairs *p, struct fault *fault)
{
    for (size_t i = 0; i < NUM_QUERY; i++) {
        const char *name = report_query[i], *value = said->values[i];
        if (!value)
            continue;
        const char *other = pairs_find(p, name);
        if (other && strcmp(other, value) != 0)
            return fault_set(fault, ERR_INVALID_FIELD, name,
                             "The query says %.80s, the body %.80s. Give it once, or twice the same.", value,
                             other);
        if (!other)
            p->items[p->count++] = (struct safetensors_pair){.key = name, .value = value};
    }
    return ERR_OK;
}

enum err report_from_header(const struct report_said *said, const struct safetensors_header *header,
                            struct arena *arena, struct task_report *out, struct fault *fault)
{
    struct pairs p;
    size_t n = header ? header->num_metadata : 0;
    enum err e = pairs_new(arena, n + NUM_QUERY, &p);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(header->metadata[i].key, "format") != 0)
            p.items[p.count++] = header->metadata[i];
    }
    e = add_query(said, &p, fault);
    return e == ERR_OK ? task_report_parse(p.items, p.count, true, arena, out, fault) : e;
}

/* As it would stand in a safetensors header: numbers in decimal, `metrics` as JSON text. */
static enum err text_of(const char *name, const json_t *value, struct arena *arena, const char **out,
                        struct fault *fault)
{
    *out = NULL;
    if (json_is_string(value)) {
        *out = json_string_value(value);
        return ERR_OK;
    }
    bool is_metrics = strcmp(name, "metrics") == 0;
    if (is_metrics ? !json_is_array(value) : !json_is_number(value))
        return fault_set(fault, ERR_INVALID_FIELD, name, "It must be %s.",
                         is_metrics ? "an array" : "a number or text");
    char *text = NULL;
    enum err e = json_text(value, &text);
    if (!e && !(*out = arena_strdup(arena, text)))
        e = ERR_NO_MEMORY;
    free(text);
    return e;
}

static bool is_in(const char *const *list, const char *word)
{
    while (*list && strcmp(*list, word) != 0)
        list++;
    return *list != NULL;
}

enum err report_from_json(const struct report_said *said, const json_t *body, const char *const *skip,
                          struct arena *arena, struct task_report *out, struct fault *fault)
{
    if (!json_is_object(body))
        return fault_set(fault, ERR_INVALID_FIELD, "", "The body must be a JSON object.");
    struct pairs p;
    enum err e = pairs_new(arena, json_object_size(body) + NUM_QUERY, &p);
    if (e != ERR_OK)
        return e;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)body, key, value)
    {
        struct safetensors_pair pair = {.key = key};
        if (is_in(skip, key) || json_is_null(value))
            continue;
        if ((e = text_of(key, value, arena, &pair.value, fault)) != ERR_OK)
            return e;
        p.items[p.count++] = pair;
    }
    e = add_query(said, &p, fault);
    return e == ERR_OK ? task_report_parse(p.items, p.count, true, arena, out, fault) : e;
}

enum err report_digest(const char *sha256, const struct report_said *said, struct arena *arena,
                       char out[SHA256_HEX_SIZE])
{
    struct sha256 *h = NULL;
    uint8_t digest[SHA256_SIZE];
    enum err e = sha256_new(&h);
    if (e == ERR_OK)
        e = sha256_update(h, sha256, strlen(sha256));
    for (size_t i = 0; e == ERR_OK && i < NUM_QUERY; i++) {
        const char *value = said->values[i];
        if (!value)
            continue;
        const char *line = arena_printf(arena, "\n%s=%zu:%s", report_query[i], strlen(value), value);
        e = line ? sha256_update(h, line, strlen(line)) : ERR_NO_MEMORY;
    }
    if (e == ERR_OK)
        e = sha256_final(h, digest);
    sha256_free(h);
    if (e == ERR_OK)
        hex_encode(digest, sizeof digest, out);
    return e;
}
