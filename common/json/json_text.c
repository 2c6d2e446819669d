#include "common/json/json_spec.h"
#include <stdint.h>
#include <string.h>
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/json/json_emit.h"

struct place {
    size_t line, column;
};

/* Jansson's own limit is 2048 levels and compiled in; whoever walks the value later recurses as deep. */
static bool is_too_deep(const char *text, size_t len, struct place *out)
{
    bool in_string = false;
    int depth = 0;
    struct place at = {1, 0};
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
            if (++depth > LIMIT_JSON_DEPTH) {
                *out = at;
                return true;
            }
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return false;
}

enum err json_text_parse(const char *text, size_t len, json_t **out, struct fault *fault)
{
    struct place at;
    json_error_t error;
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* the mark by which some editors say that it is UTF-8 */
        len -= 3;
    }
    if (is_too_deep(text, len, &at))
        return fault_set(fault, ERR_MALFORMED_JSON, NULL,
                         "line %zu, column %zu: nested deeper than %d levels", at.line, at.column,
                         LIMIT_JSON_DEPTH);
    json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    /* Most of Jansson's own lack of memory shows as an error without a text. */
    if (!value && (json_error_code(&error) == json_error_out_of_memory || !error.text[0]))
        return fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory to parse %zu bytes of JSON", len);
    if (!value)
        return fault_set(fault, ERR_MALFORMED_JSON, NULL, "line %d, column %d: %s", error.line, error.column,
                         error.text);
    *out = value;
    return ERR_OK;
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
