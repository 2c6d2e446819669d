/* fedlane worker, device, token: who takes part, and with what right. */
#include <stdio.h>
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/rest.h"
#include "common/base/str.h"
#include "common/http/url.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct table_column worker_columns[] = {
    {"id", "id", CELL_TEXT, 0},           {"name", "name", CELL_TEXT, 0},
    {"status", "status", CELL_TEXT, 0},   {"devices", "num_devices", CELL_COUNT, 0},
    {"version", "version", CELL_TEXT, 0}, {"last seen", "last_seen_at", CELL_TIME, 0},
};
static const struct table_column device_columns[] = {
    {"id", "id", CELL_TEXT, 0},
    {"ordinal", "ordinal", CELL_COUNT, 0},
    {"name", "name", CELL_TEXT, 0},
    {"dataset", "dataset", CELL_TEXT, 0},
    {"status", "status", CELL_TEXT, 0},
    {"examples", "num_examples", CELL_COUNT, 0},
    {"test", "num_test_examples", CELL_COUNT, 0},
    {"steps/s", "steps_per_second", CELL_NUMBER, 0},
    {"last seen", "last_seen_at", CELL_TIME, 0},
};
static const struct table_column device_show_columns[] = {
    {"id", "id", CELL_TEXT, 0},
    {"name", "name", CELL_TEXT, 0},
    {"dataset", "dataset", CELL_TEXT, 0},
    {"ordinal", "ordinal", CELL_COUNT, 0},
    {"status", "status", CELL_TEXT, 0},
    {"worker", "worker_id", CELL_TEXT, 0},
    {"training examples", "num_examples", CELL_COUNT, 0},
    {"test examples", "num_test_examples", CELL_COUNT, 0},
    {"input", "input", CELL_TEXT, 0},
    {"classes", "classes", CELL_COUNT, 0},
    {"labels", "labels", CELL_TEXT, 0},
    {"capabilities", "capabilities", CELL_TEXT, 0},
    {"steps per second", "steps_per_second", CELL_NUMBER, 0},
    {"open tasks", "task_ids", CELL_TEXT, 0},
    {"last seen", "last_seen_at", CELL_TIME, 0},
    {"registered", "created_at", CELL_TIME, 0},
    {"revoked", "revoked_at", CELL_TIME, 0},
};
static const struct table_column token_columns[] = {
    {"id", "id", CELL_TEXT, 0},
    {"name", "name", CELL_TEXT, 0},
    {"role", "role", CELL_TEXT, 0},
    {"created", "created_at", CELL_TIME, 0},
    {"uses", "uses", CELL_COUNT, 0},
    {"max uses", "max_uses", CELL_COUNT, 0},
    {"expires", "expires_at", CELL_TIME, 0},
    {"revoked", "revoked_at", CELL_TIME, 0},
    {"why", "revoked_reason", CELL_TEXT, 0},
};

struct filter {
    const char *name, *value; /* value NULL: not given */
};

static enum err list(struct cli *cli, const char *kind, const struct filter *filters, size_t num_filters,
                     const struct table_column *columns, size_t num_columns)
{
    struct buf path;
    json_t *items = NULL;
    enum err e = rest_path(&path, kind);
    for (size_t i = 0; i < num_filters && !e; i++)
        if (filters[i].value)
            e = url_add_query(&path, filters[i].name, filters[i].value);
    if (!e)
        e = rest_list(cli, path.data, cli->options.limit, &items);
    if (!e)
        e = print_items(cli, columns, num_columns, items);
    json_decref(items);
    buf_release(&path);
    return cli_fail(cli, e, kind);
}

static enum err revoke(struct cli *cli, const char *kind, const char *what)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < cli->num_words && !e; i++) {
        struct buf path = BUF_INIT(0);
        const char *id;
        e = rest_resolve(cli, kind, cli->words[i], &id);
        if (!e)
            e = rest_path(&path, kind, id);
        if (!e)
            e = rest_delete(cli, path.data);
        if (!e && cli->format == FORMAT_TABLE)
            (void)printf("%s %s is revoked\n", what, id);
        buf_release(&path);
    }
    return cli_fail(cli, e, "revoke");
}

enum err cmd_worker_list(struct cli *cli)
{
    return list(cli, "workers", NULL, 0, worker_columns, COUNT(worker_columns));
}

enum err cmd_worker_revoke(struct cli *cli)
{
    return revoke(cli, "workers", "worker");
}

enum err cmd_device_list(struct cli *cli)
{
    const struct cli_options *o = &cli->options;
    const char *run_id = NULL;
    enum err e = o->run ? rest_resolve(cli, "runs", o->run, &run_id) : ERR_OK;
    const struct filter filters[] = {
        {"status", o->status}, {"label", o->label}, {"dataset", o->dataset}, {"run", run_id}};
    return e ? e : list(cli, "devices", filters, COUNT(filters), device_columns, COUNT(device_columns));
}

enum err cmd_device_show(struct cli *cli)
{
    struct buf path = BUF_INIT(0);
    const char *id;
    json_t *device = NULL;
    enum err e = rest_resolve(cli, "devices", cli->words[0], &id);
    if (!e)
        e = rest_path(&path, "devices", id);
    if (!e)
        e = rest_get(cli, path.data, &device);
    if (!e)
        e = print_object(cli, device_show_columns, COUNT(device_show_columns), device);
    json_decref(device);
    buf_release(&path);
    return cli_fail(cli, e, "device show");
}

enum err cmd_device_revoke(struct cli *cli)
{
    return revoke(cli, "devices", "device");
}

/* -- tokens ---------------------------------------------------------------------------------------------- */

enum err cmd_token_create(struct cli *cli)
{
    const struct cli_options *o = &cli->options;
    struct buf path;
    json_t *reply = NULL;
    if (!o->role)
        return fault_set(&cli->fault, ERR_USAGE, "role",
                         "--role is missing: admin, operator, viewer or enrollment");
    enum err e = rest_path(&path, "tokens");
    json_t *body = json_pack("{s:s, s:s}", "role", o->role, "name", o->name ? o->name : o->role);
    if (!body || (o->expires_days > 0 &&
                  json_object_set_new(body, "expires_in_s", json_integer(o->expires_days * 24 * 3600)) != 0))
        e = ERR_NO_MEMORY;
    if (!e && o->max_uses > 0 && json_object_set_new(body, "max_uses", json_integer(o->max_uses)) != 0)
        e = ERR_NO_MEMORY;
    if (!e)
        e = rest_post(cli, path.data, body, cli->options.idempotency_key, &reply);
    /* The token alone on standard output, so that it can go straight into a file. */
    if (!e && cli->format == FORMAT_TABLE) {
        (void)fprintf(stderr, "token %s \"%s\" (%s); it is shown this once:\n", json_text_at(reply, "id"),
                      json_text_at(reply, "name"), json_text_at(reply, "role"));
        (void)puts(json_text_at(reply, "token"));
    } else if (!e) {
        e = print_json(cli, reply);
    }
    json_decref(reply);
    json_decref(body);
    buf_release(&path);
    return cli_fail(cli, e, "token create");
}

enum err cmd_token_list(struct cli *cli)
{
    const struct filter filter = {"role", cli->options.role};
    return list(cli, "tokens", &filter, 1, token_columns, COUNT(token_columns));
}

enum err cmd_token_revoke(struct cli *cli)
{
    return revoke(cli, "tokens", "token");
}
