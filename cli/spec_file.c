#include "cli/spec_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/buf.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/json/json_spec.h"

#define MAX_KEY 128

/* Where a path has come to: a member or an element that is to be read or set. */
struct place {
    json_t *parent;
    char key[MAX_KEY]; /* of an object */
    size_t index;      /* of an array */
};

static json_t *place_get(const struct place *p)
{
    return json_is_array(p->parent) ? json_array_get(p->parent, p->index)
                                    : json_object_get(p->parent, p->key);
}

/* Steals value. */
static enum err place_set(const struct place *p, json_t *value)
{
    int failed = json_is_array(p->parent) ? json_array_set_new(p->parent, p->index, value)
                                          : json_object_set_new(p->parent, p->key, value);
    return failed ? ERR_NO_MEMORY : ERR_OK;
}

static enum err bad_path(struct fault *fault, const char *what, const char *why)
{
    return fault_set(fault, ERR_USAGE, NULL,
                     "%s: %s; write it like training.learning_rate=0.1 or model.layers[0].units=5", what,
                     why);
}

/* The next part of the path at *at, which must end before `end`; moves *at behind it. */
static enum err next_part(struct place *p, const char **at, const char *end, const char *what,
                          struct fault *fault)
{
    bool is_index = **at == '[';
    if (is_index || **at == '.')
        ++*at;
    size_t len = 0;
    while (*at + len < end && !strchr(".[]", (*at)[len]))
        len++;
    if (len == 0 || len >= sizeof p->key)
        return bad_path(fault, what, len ? "a name is too long" : "a name is empty");
    memcpy(p->key, *at, len);
    p->key[len] = '\0';
    *at += len;
    if (is_index && (*at == end || *(*at)++ != ']'))
        return bad_path(fault, what, "a ] is missing");
    if (*at < end && **at != '.' && **at != '[')
        return bad_path(fault, what, "a dot is missing");
    uint64_t index = 0;
    if (json_is_array(p->parent)) {
        size_t size = json_array_size(p->parent);
        if (size == 0)
            return fault_set(fault, ERR_USAGE, NULL, "%s: the array is empty", what);
        if (str_to_u64(p->key, &index) != ERR_OK || index >= size)
            return fault_set(fault, ERR_USAGE, NULL, "%s: the array has no element \"%s\", only 0 to %zu",
                             what, p->key, size - 1);
    } else if (is_index) {
        return bad_path(fault, what, "the [ stands behind something that is no array");
    }
    p->index = (size_t)index;
    return ERR_OK;
}

/* Goes into the place; makes an object of what is not there. */
static enum err enter(struct place *p, const char *what, struct fault *fault)
{
    json_t *inner = place_get(p);
    if (!inner || json_is_null(inner)) {
        enum err e = place_set(p, json_object());
        if (e)
            return e;
        inner = place_get(p);
    }
    if (!json_is_object(inner) && !json_is_array(inner))
        return fault_set(fault, ERR_USAGE, NULL, "%s: \"%s\" is a plain value in this spec, not an object",
                         what, p->key);
    p->parent = inner;
    return ERR_OK;
}

json_t *json_value_of(const char *text)
{
    json_t *value = NULL;
    struct fault ignored = FAULT_NONE;
    if (json_text_parse(text, strlen(text), &value, &ignored) == ERR_OK)
        return value;
    return json_string(text);
}

/* Comes to the place that the path names. */
static enum err walk(json_t *doc, const char *at, const char *end, const char *what, struct place *p,
                     struct fault *fault)
{
    *p = (struct place){.parent = doc};
    if (*at == '.' || *at == '[')
        return bad_path(fault, what, "it starts with no name");
    enum err e = next_part(p, &at, end, what, fault);
    while (!e && at < end) {
        e = enter(p, what, fault);
        if (!e)
            e = next_part(p, &at, end, what, fault);
    }
    return e;
}

enum err json_put_path(json_t *doc, const char *path, size_t path_len, json_t *value, const char *what,
                       struct fault *fault)
{
    struct place p;
    enum err e = walk(doc, path, path + path_len, what, &p, fault);
    if (e) {
        json_decref(value);
        return e;
    }
    if (!value)
        return fault_set(fault, ERR_USAGE, NULL, "%s: the value is neither JSON nor valid UTF-8", what);
    return place_set(&p, value);
}

enum err json_set_path(json_t *doc, const char *assignment, struct fault *fault)
{
    const char *end = strchr(assignment, '=');
    char *what;
    if (asprintf(&what, "--set %s", assignment) < 0)
        return ERR_NO_MEMORY;
    enum err e =
        end ? json_put_path(doc, assignment, (size_t)(end - assignment), json_value_of(end + 1), what, fault)
            : bad_path(fault, what, "a = is missing");
    free(what);
    return e;
}

static enum err read_stdin(json_t **out, struct fault *fault)
{
    struct buf text = BUF_INIT(LIMIT_JSON_FILE);
    struct fault inner = FAULT_NONE;
    char part[4096];
    size_t n;
    enum err e = ERR_OK;
    while (!e && (n = fread(part, 1, sizeof part, stdin)) > 0)
        e = buf_append(&text, part, n);
    if (e || ferror(stdin))
        e = fault_set(fault, e ? e : ERR_IO, NULL, "standard input: cannot be read");
    if (!e)
        e = json_text_parse(text.data ? text.data : "", text.len, out, &inner);
    if (e && !fault->err)
        e = fault_set(fault, e, NULL, "standard input: %s", inner.detail);
    buf_release(&text);
    return e;
}

enum err spec_file_load(const char *path, const struct option_list *sets, json_t **out, struct fault *fault)
{
    struct fault inner = FAULT_NONE;
    json_t *doc = NULL;
    enum err e = str_eq(path, "-") ? read_stdin(&doc, &inner) : json_file_parse(path, &doc, &inner);
    if (e)
        return fault_set(fault, e == ERR_NO_MEMORY ? e : ERR_BAD_FILE, NULL, "%s", inner.detail);
    if (!json_is_object(doc))
        e = fault_set(fault, ERR_BAD_FILE, NULL, "%s: a run spec is a JSON object; examples/ has some", path);
    for (size_t i = 0; i < sets->count && !e; i++)
        e = json_set_path(doc, sets->items[i], fault);
    if (e) {
        json_decref(doc);
        return e;
    }
    *out = doc;
    return ERR_OK;
}
