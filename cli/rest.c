#include "cli/rest.h"
#include <stdlib.h>
#include <string.h>
#include "cli/table.h"
#include "common/api/api.h"
#include "common/base/clock.h"
#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/crypto/random.h"
#include "common/crypto/token.h"
#include "common/http/url.h"
#include "common/json/json_spec.h"

#define TRIES 4

enum err rest_path_of(struct buf *path, const char *const *segments)
{
    buf_init(path, LIMIT_URL);
    enum err e = buf_puts(path, API_PREFIX);
    for (; *segments && !e; segments++)
        e = url_add_segment(path, *segments);
    return e;
}

/* -- the client ------------------------------------------------------------------------------------------ */

static enum err read_token(struct cli *cli, char *out, size_t size)
{
    const char *from_env = getenv("FEDLANE_TOKEN");
    *out = '\0';
    if (cli->options.token_file) {
        enum err e = token_file_read(cli->options.token_file, out, size, &cli->fault);
        return e ? (cli->fault.err = ERR_BAD_FILE) : ERR_OK;
    }
    if (from_env && str_copy(out, size, from_env) != ERR_OK)
        return fault_set(&cli->fault, ERR_USAGE, NULL, "FEDLANE_TOKEN is too long to be a token");
    return ERR_OK;
}

enum err rest_client(struct cli *cli, struct http_client **out)
{
    char token[512];
    uint64_t seed = 0;
    if (cli->client) {
        *out = cli->client;
        return ERR_OK;
    }
    enum err e = read_token(cli, token, sizeof token);
    if (!e)
        e = random_bytes(&seed, sizeof seed);
    const struct http_config config = {.base_url = cli->options.server,
                                       .user_agent = "fedlane/" PACKAGE_VERSION,
                                       .token = *token ? token : NULL,
                                       .ca_file = cli->options.ca_file,
                                       .cert_file = cli->options.cert_file,
                                       .key_file = cli->options.key_file,
                                       .retry_seed = seed};
    if (!e)
        e = http_client_new(&config, &cli->client, &cli->fault);
    *out = cli->client;
    return e;
}

static bool is_about_token(enum err e)
{
    return e == ERR_UNAUTHORIZED || e == ERR_TOKEN_REVOKED || e == ERR_TOKEN_EXPIRED || e == ERR_FORBIDDEN;
}

enum err rest_request(struct cli *cli, const struct http_request *request, struct http_response *out)
{
    struct http_client *client;
    enum err e = rest_client(cli, &client);
    if (!e)
        e = http_request(client, request, out, &cli->fault);
    if (is_about_token(e)) {
        struct fault inner = cli->fault;
        const char *token = getenv("FEDLANE_TOKEN");
        bool has_none = !cli->options.token_file && (!token || !*token);
        return fault_set(&cli->fault, e, NULL, "%.380s (%s)", inner.detail,
                         has_none ? "no token was given: use --token-file, or put it into FEDLANE_TOKEN"
                         : cli->options.token_file ? "the token is that of --token-file"
                                                   : "the token is that of FEDLANE_TOKEN");
    }
    return e;
}

/* -- calls ----------------------------------------------------------------------------------------------- */

static enum err call(struct cli *cli, const struct http_request *request, json_t **out)
{
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fault inner = FAULT_NONE;
    *out = NULL;
    enum err e = rest_request(cli, request, &response);
    if (!e && response.body.len > 0) {
        e = json_text_parse(response.body.data, response.body.len, out, &inner);
        if (e)
            e = fault_set(&cli->fault, ERR_UNAVAILABLE, NULL,
                          "%s%s: the answer is no JSON (%.200s); is this a Fedlane server?",
                          http_client_base_url(cli->client), request->path, inner.detail);
    }
    http_response_release(&response);
    return e;
}

enum err rest_get(struct cli *cli, const char *path, json_t **out)
{
    const struct http_request request = {.path = path, .timeout_ms = REST_TIMEOUT_MS, .max_tries = TRIES};
    return call(cli, &request, out);
}

enum err rest_post(struct cli *cli, const char *path, const json_t *body, const char *key, json_t **out)
{
    char id[ID_SIZE], *text = NULL;
    struct entropy entropy = entropy_system();
    struct clock clock = clock_system();
    enum err e = body ? json_text(body, &text) : ERR_OK;
    if (!e && !key) {
        e = id_new(&entropy, clock_now_ms(&clock), id);
        key = id;
    }
    const struct http_header header = {HEADER_IDEMPOTENCY_KEY, key};
    const struct http_request request = {.method = "POST",
                                         .path = path,
                                         .body = text,
                                         .body_size = text ? strlen(text) : 0,
                                         .headers = &header,
                                         .num_headers = 1,
                                         .timeout_ms = REST_TIMEOUT_MS,
                                         .max_tries = TRIES};
    if (!e)
        e = call(cli, &request, out);
    free(text);
    return e;
}

enum err rest_delete(struct cli *cli, const char *path)
{
    const struct http_request request = {
        .method = "DELETE", .path = path, .timeout_ms = REST_TIMEOUT_MS, .max_tries = TRIES};
    json_t *reply = NULL;
    enum err e = call(cli, &request, &reply);
    json_decref(reply);
    return e;
}

/* -- lists ----------------------------------------------------------------------------------------------- */

static enum err get_page(struct cli *cli, const char *path, const char *cursor, int64_t limit, json_t **out)
{
    struct buf full = BUF_INIT(LIMIT_URL);
    int64_t page = limit > 0 && limit < LIMIT_PAGE ? limit : LIMIT_PAGE;
    enum err e = buf_puts(&full, path);
    if (!e)
        e = url_add_query_int(&full, "limit", page);
    if (!e && *cursor)
        e = url_add_query(&full, "cursor", cursor);
    if (!e)
        e = rest_get(cli, full.data, out);
    buf_release(&full);
    return e;
}

enum err rest_list(struct cli *cli, const char *path, int64_t limit, json_t **out)
{
    json_t *all = json_array(), *page = NULL;
    const char *cursor = "";
    enum err e = all ? ERR_OK : ERR_NO_MEMORY;
    while (!e && cursor) {
        json_t *next = NULL;
        int64_t left = limit > 0 ? limit - (int64_t)json_array_size(all) : 0;
        e = get_page(cli, path, cursor, left, &next);
        json_decref(page);
        page = next;
        if (!e && json_array_extend(all, json_object_get(page, "items")) != 0)
            e = fault_set(&cli->fault, ERR_UNAVAILABLE, NULL,
                          "%s: the answer has no items; is this a Fedlane server?", path);
        cursor = json_string_value(json_object_get(page, "next_cursor"));
        if (limit > 0 && (int64_t)json_array_size(all) >= limit)
            break;
    }
    json_decref(page);
    if (e)
        json_decref(all);
    else
        *out = all;
    return e;
}

/* -- names ----------------------------------------------------------------------------------------------- */

static enum err pick_by_name(struct cli *cli, const char *kind, const char *ref, const json_t *items,
                             const char **out_id)
{
    const char *nearest = NULL, *ids = "";
    size_t found = 0;
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const char *name = json_text_at(item, "name"), *id = json_text_at(item, "id");
        if (json_at(item, "revoked_at"))
            continue;
        if (str_eq(name, ref)) {
            *out_id = arena_strdup(&cli->arena, id);
            if (++found <= 4)
                ids = arena_printf(&cli->arena, "%s%s%s", ids, *ids ? ", " : "", id);
            if (!*out_id || !ids)
                return ERR_NO_MEMORY;
        } else if (!nearest || str_distance(ref, name) < str_distance(ref, nearest)) {
            nearest = name;
        }
    }
    if (found == 1)
        return ERR_OK;
    if (found > 1)
        return fault_set(&cli->fault, ERR_USAGE, NULL, "%zu %s have the name \"%s\"; give an id: %s%s", found,
                         kind, ref, ids, found > 4 ? ", ..." : "");
    return fault_set(&cli->fault, ERR_USAGE, NULL, "none of the %s has the id or the name \"%s\"%s%s%s", kind,
                     ref, nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
}

enum err rest_resolve(struct cli *cli, const char *kind, const char *ref, const char **out_id)
{
    struct buf path;
    json_t *items = NULL;
    if (id_is_valid(ref)) {
        *out_id = ref;
        return ERR_OK;
    }
    enum err e = rest_path(&path, kind);
    if (!e)
        e = rest_list(cli, path.data, 0, &items);
    if (!e)
        e = pick_by_name(cli, kind, ref, items, out_id);
    json_decref(items);
    buf_release(&path);
    return e;
}
