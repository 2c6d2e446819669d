#include "common/data/leaf_reading.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/data/decimal.h"
#include "common/data/path.h"

void leaf_release(struct leaf *l)
{
    free(l->users);
    free(l->order);
    token_list_release(&l->tokens);
    vocabulary_release(&l->vocabulary);
}

/* -- helpers --------------------------------------------------------------------------------------------- */

enum err leaf_no_memory(struct leaf_reading *t)
{
    return fault_set(t->fault, ERR_NO_MEMORY, "data.path", "no memory to read %s",
                     path_shown(t->json.file.path));
}

/* Room for one more element behind `count`. */
bool leaf_grow(void **array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    const size_t more = *room ? 2 * *room : 256;
    void *moved = realloc(*array, more * size);
    if (!moved)
        return false;
    *array = moved;
    *room = more;
    return true;
}

const char *leaf_user(const struct leaf_reading *t)
{
    return t->rows->devices.names[t->device];
}

enum err leaf_fault(struct leaf_reading *t, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return text_fault(&t->json.file, t->json.offset, t->fault, "%s", text);
}

static enum err of_user(struct leaf_reading *t, const char *user, const char *fmt, ...) PRINTF_LIKE(3, 4);
static enum err of_user(struct leaf_reading *t, const char *user, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fault_set(t->fault, ERR_BAD_FILE, "data.path", "%s, user \"%.60s\": %s",
                     path_shown(t->json.file.path), user, text);
}

enum err leaf_open(struct leaf_reading *t, enum json_token token, const char *what)
{
    const enum err err = json_next(&t->json, t->fault);
    if (err == ERR_OK && t->json.token != token)
        return leaf_fault(t, "%s must be %s, not %s", what, json_token_name(token),
                          json_token_name(t->json.token));
    return err;
}

/* -- the lists ------------------------------------------------------------------------------------------- */

static enum err read_users(struct leaf_reading *t)
{
    enum err err = leaf_open(t, JSON_TOKEN_ARRAY, "users");
    while (err == ERR_OK) {
        size_t number;
        err = json_next(&t->json, t->fault);
        if (err != ERR_OK || t->json.token == JSON_TOKEN_ARRAY_END)
            break;
        if (t->json.token != JSON_TOKEN_TEXT || !source_name_is_good(t->json.text, t->json.len))
            return leaf_fault(t, "a user's name must be a text of 1 to %d bytes in one line", LIMIT_NAME);
        const size_t before = t->listed.count;
        if (name_put(&t->listed, t->json.text, t->json.len, &number) != ERR_OK)
            return leaf_no_memory(t);
        if (number < before)
            return leaf_fault(t, "user \"%.60s\" stands twice in users", t->listed.names[number]);
        if (number == LIMIT_DEVICES_PER_RUN)
            return leaf_fault(t, "more than %d users", LIMIT_DEVICES_PER_RUN);
    }
    return err;
}

static enum err read_counts(struct leaf_reading *t)
{
    enum err err = leaf_open(t, JSON_TOKEN_ARRAY, "num_samples");
    while (err == ERR_OK) {
        long long count;
        err = json_next(&t->json, t->fault);
        if (err != ERR_OK || t->json.token == JSON_TOKEN_ARRAY_END)
            break;
        if (t->json.token != JSON_TOKEN_NUMBER ||
            decimal_whole(t->json.text, t->json.len, &count) != DECIMAL_GOOD)
            return leaf_fault(t, "num_samples must have whole numbers");
        if (t->num_counts == LIMIT_DEVICES_PER_RUN)
            return leaf_fault(t, "more than %d users", LIMIT_DEVICES_PER_RUN);
        if (!leaf_grow((void **)&t->counts, t->num_counts, &t->counts_room, sizeof *t->counts))
            return leaf_no_memory(t);
        t->counts[t->num_counts++] = count;
    }
    return err;
}

/* -- users ----------------------------------------------------------------------------------------------- */

static enum err find_device(struct leaf_reading *t)
{
    const char *name = t->json.text;
    const size_t len = t->json.len;
    const int shown = len < 60 ? (int)len : 60;
    if (t->split == SPLIT_TEST) {
        t->device = name_find(&t->rows->devices, name, len);
        if (t->device != NAME_NONE)
            return ERR_OK;
        return leaf_fault(t, "user \"%.*s\" is in no file of train/; a device needs data to train on", shown,
                          name);
    }
    const enum err err = collector_device(t->rows, name, len, &t->device, t->fault);
    if (err == ERR_BAD_FILE)
        return leaf_fault(t, "a user's name must be a text of 1 to %d bytes in one line", LIMIT_NAME);
    return err;
}

/* Each user is in one file of a split. */
static enum err take_user(struct leaf_reading *t)
{
    struct leaf *l = t->leaf;
    const char *path = t->json.file.path;
    const size_t before = t->rows->devices.count;
    const enum err err = find_device(t);
    if (err != ERR_OK)
        return err;
    if (t->rows->devices.count > before) {
        if (!leaf_grow((void **)&l->users, t->device, &l->room, sizeof *l->users))
            return leaf_no_memory(t);
        l->users[t->device] = (struct leaf_user){0};
    }
    const char **file = &l->users[t->device].files[t->split];
    if (*file == path)
        return leaf_fault(t, "user \"%.60s\" stands twice in user_data", leaf_user(t));
    if (*file)
        return leaf_fault(t, "user \"%.60s\" is also in %s", leaf_user(t), path_shown(*file));
    *file = path;
    t->num_users++;
    return ERR_OK;
}

static enum err read_user(struct leaf_reading *t)
{
    bool has_x = false, has_y = false;
    enum err err = take_user(t);
    t->num_x = t->num_y = 0;
    if (err == ERR_OK)
        err = leaf_open(t, JSON_TOKEN_OBJECT, "a user's data");
    while (err == ERR_OK) {
        err = json_next(&t->json, t->fault);
        if (err != ERR_OK || t->json.token == JSON_TOKEN_OBJECT_END)
            break;
        const bool is_x = t->json.len == 1 && t->json.text[0] == 'x';
        const bool is_y = t->json.len == 1 && t->json.text[0] == 'y';
        if ((is_x && has_x) || (is_y && has_y))
            return leaf_fault(t, "user \"%.60s\" has two fields %c", leaf_user(t), is_x ? 'x' : 'y');
        has_x = has_x || is_x;
        has_y = has_y || is_y;
        err = is_x || is_y ? leaf_read_list(t, is_x) : json_skip(&t->json, t->fault);
    }
    if (err != ERR_OK)
        return err;
    if (!has_x || !has_y)
        return of_user(t, leaf_user(t), "has no %s", has_x ? "y" : "x");
    if (t->num_x != t->num_y)
        return of_user(t, leaf_user(t), "has %zu examples in x, but %zu labels in y", t->num_x, t->num_y);
    struct collector *c = t->rows;
    if (t->num_x > 0)
        memcpy(c->pool.labels + c->pool.num_rows, t->y, t->num_y * sizeof *t->y);
    t->leaf->users[t->device].count = t->num_x;
    err = collector_origin(c, t->json.file.path, leaf_user(t), t->fault);
    if (err == ERR_OK)
        collector_add(c, t->num_x, t->device, t->split);
    return err;
}

static enum err read_user_data(struct leaf_reading *t)
{
    enum err err = leaf_open(t, JSON_TOKEN_OBJECT, "user_data");
    while (err == ERR_OK) {
        err = json_next(&t->json, t->fault);
        if (err != ERR_OK || t->json.token == JSON_TOKEN_OBJECT_END)
            break;
        err = read_user(t);
    }
    return err;
}

/* -- the file -------------------------------------------------------------------------------------------- */

static bool is_key(const struct json_reader *r, const char *name)
{
    return r->len == strlen(name) && memcmp(r->text, name, r->len) == 0;
}

static enum err read_field(struct leaf_reading *t)
{
    const struct {
        const char *name;
        bool *is_there;
        enum err (*read)(struct leaf_reading *t);
    } fields[] = {{"users", &t->has_users, read_users},
                  {"num_samples", &t->has_counts, read_counts},
                  {"user_data", &t->has_data, read_user_data}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!is_key(&t->json, fields[i].name))
            continue;
        if (*fields[i].is_there)
            return leaf_fault(t, "there are two fields %s", fields[i].name);
        *fields[i].is_there = true;
        return fields[i].read(t);
    }
    return json_skip(&t->json, t->fault);
}

static enum err append_order(struct leaf_reading *t, size_t device)
{
    struct leaf *l = t->leaf;
    if (!leaf_grow((void **)&l->order, l->num_order, &l->order_room, sizeof *l->order))
        return leaf_no_memory(t);
    l->order[l->num_order++] = (uint32_t)device;
    return ERR_OK;
}

/* The lists tell the truth about the data. */
static enum err check_lists(struct leaf_reading *t)
{
    const char *path = t->json.file.path;
    struct leaf_user *users = t->leaf->users;
    if (!t->has_users || !t->has_counts || !t->has_data)
        return fault_set(t->fault, ERR_BAD_FILE, "data.path",
                         "%s: has no field \"%s\"; a LEAF file has users, num_samples and user_data",
                         path_shown(path),
                         !t->has_users    ? "users"
                         : !t->has_counts ? "num_samples"
                                          : "user_data");
    if (t->num_counts != t->listed.count)
        return fault_set(t->fault, ERR_BAD_FILE, "data.path", "%s: %zu users, but %zu num_samples",
                         path_shown(path), t->listed.count, t->num_counts);
    for (size_t i = 0; i < t->listed.count; i++) {
        const char *name = t->listed.names[i];
        const size_t device = name_find(&t->rows->devices, name, strlen(name));
        if (device == NAME_NONE || users[device].files[t->split] != path)
            return of_user(t, name, "is in users, but not in user_data");
        if (t->counts[i] < 0 || (size_t)t->counts[i] != users[device].count)
            return of_user(t, name, "num_samples says %lld, but there are %zu examples",
                           (long long)t->counts[i], users[device].count);
        const enum err err = t->split == SPLIT_TRAIN ? append_order(t, device) : ERR_OK;
        if (err != ERR_OK)
            return err;
    }
    for (size_t k = 0; t->num_users > t->listed.count && k < t->rows->devices.count; k++) {
        const char *name = t->rows->devices.names[k];
        if (users[k].files[t->split] == path && name_find(&t->listed, name, strlen(name)) == NAME_NONE)
            return of_user(t, name, "is in user_data, but not in users");
    }
    return ERR_OK;
}

static enum err read_document(struct leaf_reading *t)
{
    enum err err = leaf_open(t, JSON_TOKEN_OBJECT, "a LEAF file");
    while (err == ERR_OK) {
        err = json_next(&t->json, t->fault);
        if (err != ERR_OK || t->json.token == JSON_TOKEN_OBJECT_END)
            break;
        err = read_field(t);
    }
    if (err == ERR_OK)
        err = json_next(&t->json, t->fault);
    return err == ERR_OK ? check_lists(t) : err;
}

enum err leaf_read_file(struct leaf *l, const char *path, enum data_split split)
{
    struct leaf_reading t = {.leaf = l, .rows = &l->table->rows, .split = split, .fault = l->table->fault};
    enum err err = json_open(path, "data.path", &t.json, t.fault);
    if (err == ERR_OK)
        err = read_document(&t);
    json_close(&t.json);
    name_table_release(&t.listed);
    free(t.counts);
    free(t.y);
    free(t.first);
    return err;
}
