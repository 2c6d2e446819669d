#include "common/json/json_spec.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/json/json_emit.h"
#include "common/json/json_memory.h"

#define TEXT_OF(macro) QUOTE(macro)
#define QUOTE(text)    #text

struct place {
    size_t line, column;
};

/* What is wrong that Jansson would take; NULL: nothing. Its own limit is 2048 levels and compiled in, and
 * whoever walks the value later recurses as deep; and it passes over a NUL behind a number. *out_longest: of
 * the texts and numbers, at most. */
static const char *find_wrong(const char *text, size_t len, struct place *out, size_t *out_longest)
{
    bool in_string = false;
    int depth = 0;
    struct place at = {1, 0};
    size_t begin = 0; /* of what may be a text or a number */
    *out_longest = 0;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        at.column++;
        if (c == '\n')
            at = (struct place){at.line + 1, 0};
        if (in_string) {
            if (c == '\\' && i + 1 < len && text[i + 1] != '\n') {
                i++;
                at.column++;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
        }
        *out = at;
        if (depth > LIMIT_JSON_DEPTH)
            return "nested deeper than " TEXT_OF(LIMIT_JSON_DEPTH) " levels";
        if (c == '\0')
            return "a NUL byte";
        if (!in_string && (c == '"' || c == ',' || c == ':' || c == '\n')) {
            *out_longest = i - begin > *out_longest ? i - begin : *out_longest;
            begin = i + 1;
        }
    }
    *out_longest = len - begin > *out_longest ? len - begin : *out_longest;
    return NULL;
}

static enum err load(const char *text, size_t len, json_t **out, struct fault *fault)
{
    json_error_t error;
    json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!json_memory_was_enough()) {
        json_decref(value);
        return fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory to parse %zu bytes of JSON", len);
    }
    if (!value)
        return fault_set(fault, ERR_MALFORMED_JSON, NULL, "line %d, column %d: %s", error.line, error.column,
                         error.text);
    *out = value;
    return ERR_OK;
}

enum err json_text_parse(const char *text, size_t len, json_t **out, struct fault *fault)
{
    struct place at;
    size_t longest;
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* the mark by which some editors say that it is UTF-8 */
        len -= 3;
    }
    const char *wrong = find_wrong(text, len, &at, &longest);
    if (wrong)
        return fault_set(fault, ERR_MALFORMED_JSON, NULL, "line %zu, column %zu: %s", at.line, at.column,
                         wrong);
    if (!json_memory_begin(longest))
        return fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory to parse %zu bytes of JSON", len);
    enum err e = load(text, len, out, fault);
    json_memory_end();
    return e;
}

json_t *json_clone(const json_t *value)
{
    (void)json_memory_begin(0); /* without a reserve it cannot fail */
    json_t *copy = json_deep_copy(value);
    if (!json_memory_was_enough()) {
        json_decref(copy);
        copy = NULL;
    }
    json_memory_end();
    return copy;
}

enum err json_file_parse(const char *path, json_t **out, struct fault *fault)
{
    struct buf text = BUF_INIT(LIMIT_JSON_FILE);
    struct fault inner = FAULT_NONE;
    enum err e = file_read(path, &text, fault);
    if (e)
        goto out;
    e = json_text_parse(text.data, text.len, out, &inner);
    if (e)
        e = fault_set(fault, e, NULL, "%s: %s", path, inner.detail);
out:
    buf_release(&text);
    return e;
}

enum err json_text(const json_t *value, char **out)
{
    struct buf text = BUF_INIT(SIZE_MAX);
    size_t len;
    enum err e = json_emit(value, true, &text);
    if (!e)
        e = buf_take(&text, out, &len);
    buf_release(&text);
    return e;
}
