#include "common/data/json_reader.h"

#include <string.h>
#include "common/base/str.h"

#define DEPTH_MAX 32

enum state { VALUE, ELEMENT_OR_END, KEY, KEY_OR_END, COMMA_OR_END, NOTHING };

const char *json_token_name(enum json_token token)
{
    static const char *const names[] = {
        "an object", "the end of an object", "a list",        "the end of a list", "a key", "a text",
        "a number",  "true, false or null",  "the file's end"};
    return names[token];
}

enum err json_open(const char *path, const char *field, struct json_reader *out, struct fault *fault)
{
    *out = (struct json_reader){.state = VALUE};
    return text_open(path, field, &out->file, fault);
}

void json_close(struct json_reader *r)
{
    text_close(&r->file);
}

/* -- bytes ----------------------------------------------------------------------------------------------- */

/* To the next byte that is no blank; '\0' in *out at the file's end. */
static enum err skip_blanks(struct text_file *f, char *out, struct fault *fault)
{
    for (;;) {
        size_t start = f->at;
        bool is_there = true;
        const enum err err = f->at < f->end ? ERR_OK : text_look(f, &start, &is_there, fault);
        *out = err == ERR_OK && is_there ? f->block[f->at] : '\0';
        if (*out != ' ' && *out != '\n' && *out != '\r' && *out != '\t')
            return err;
        f->at++;
    }
}

static enum err refuse(const struct json_reader *r, char c, const char *wanted, struct fault *fault)
{
    const struct text_file *f = &r->file;
    if (f->at >= f->end)
        return text_fault(f, f->offset + f->at, fault,
                          "the file ends here, where %s must come: it is truncated", wanted);
    if (c == 'N' || c == 'I')
        return text_fault(f, f->offset + f->at, fault,
                          "NaN and Infinity are no JSON; give finite numbers, or leave the example out");
    return text_fault(f, f->offset + f->at, fault,
                      c > ' ' && c < 0x7f ? "%s must come here, not %c" : "%s must come here", wanted, c);
}

/* -- tokens ---------------------------------------------------------------------------------------------- */

static void finish_value(struct json_reader *r)
{
    r->state = r->depth == 0 ? NOTHING : COMMA_OR_END;
}

static bool is_in_object(const struct json_reader *r)
{
    return r->depth > 0 && (r->objects >> r->depth & 1);
}

static enum err open_container(struct json_reader *r, bool is_object, struct fault *fault)
{
    if (r->depth == DEPTH_MAX)
        return text_fault(&r->file, r->offset, fault, "nested more than %d deep", DEPTH_MAX);
    r->depth++;
    r->objects = (r->objects & ~((uint64_t)1 << r->depth)) | (uint64_t)is_object << r->depth;
    r->state = is_object ? KEY_OR_END : ELEMENT_OR_END;
    r->token = is_object ? JSON_TOKEN_OBJECT : JSON_TOKEN_ARRAY;
    r->file.at++;
    return ERR_OK;
}

static void close_container(struct json_reader *r)
{
    r->token = is_in_object(r) ? JSON_TOKEN_OBJECT_END : JSON_TOKEN_ARRAY_END;
    r->depth--;
    r->file.at++;
    finish_value(r);
}

/* -? (0 | [1-9] digits) [. digits] [e [+-] digits] */
static bool is_number(const char *s, const char *end)
{
    s += s < end && *s == '-';
    if (s == end || (*s == '0' && end - s > 1 && s[1] >= '0' && s[1] <= '9'))
        return false;
    bool has_digit = false;
    for (int part = 0; part < 3; part++) {
        for (has_digit = false; s < end && *s >= '0' && *s <= '9'; s++)
            has_digit = true;
        if (!has_digit || s == end)
            break;
        if (part == 0 && *s == '.') {
            s++;
        } else if (part < 2 && (*s == 'e' || *s == 'E')) {
            part = 1;
            s++;
            s += s < end && (*s == '+' || *s == '-');
        } else {
            return false;
        }
    }
    return has_digit && s == end;
}

static bool is_of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

static enum err take_number(struct json_reader *r, struct fault *fault)
{
    struct text_file *f = &r->file;
    size_t start = f->at;
    for (;;) {
        bool is_there;
        while (is_of_number(f->block[f->at])) /* stops at the NUL behind the end */
            f->at++;
        if (f->at < f->end)
            break;
        const enum err err = text_look(f, &start, &is_there, fault);
        if (err != ERR_OK)
            return err;
        if (!is_there)
            break;
    }
    r->text = f->block + start;
    r->len = f->at - start;
    if (r->len == 1 && f->block[f->at] == 'I')
        return refuse(r, 'I', "a value", fault);
    if (!is_number(r->text, r->text + r->len))
        return text_fault(f, r->offset, fault, "\"%.*s\" is no number of JSON",
                          r->len < 40 ? (int)r->len : 40, r->text);
    r->token = JSON_TOKEN_NUMBER;
    finish_value(r);
    return ERR_OK;
}

static enum err take_word(struct json_reader *r, struct fault *fault)
{
    struct text_file *f = &r->file;
    size_t start = f->at;
    bool is_there = true;
    enum err err = ERR_OK;
    while (err == ERR_OK && is_there) {
        err = text_look(f, &start, &is_there, fault);
        if (!is_there || f->block[f->at] < 'a' || f->block[f->at] > 'z')
            break;
        f->at++;
    }
    r->text = f->block + start;
    r->len = f->at - start;
    const bool is_word =
        (r->len == 4 && (memcmp(r->text, "true", 4) == 0 || memcmp(r->text, "null", 4) == 0)) ||
        (r->len == 5 && memcmp(r->text, "false", 5) == 0);
    if (err == ERR_OK && !is_word)
        err = text_fault(f, r->offset, fault, "\"%.*s\" is no value of JSON", r->len < 40 ? (int)r->len : 40,
                         r->text);
    r->token = JSON_TOKEN_WORD;
    finish_value(r);
    return err;
}

/* -- texts ----------------------------------------------------------------------------------------------- */

/* n bytes behind `at`, or the fault of a truncated file. */
static enum err need(struct json_reader *r, size_t n, size_t *start, struct fault *fault)
{
    struct text_file *f = &r->file;
    while (f->end - f->at < n) {
        if (f->is_at_end)
            return text_fault(f, f->offset + f->end, fault,
                              "the file ends here within a text: it is truncated");
        const enum err err = text_more(f, *start, fault);
        if (err != ERR_OK)
            return err;
        *start = 0;
    }
    return ERR_OK;
}

static bool take_hex(const char *s, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        const char c = s[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

/* \uXXXX, `at` behind the u; a pair of surrogates is one character. */
static enum err take_unicode(struct json_reader *r, size_t *start, char *to, size_t *out_n,
                             struct fault *fault)
{
    struct text_file *f = &r->file;
    const size_t to_offset = (size_t)(to - f->block) - *start;
    uint32_t code, low = 0;
    enum err err = need(r, 4, start, fault);
    if (err != ERR_OK)
        return err;
    bool is_good = take_hex(f->block + f->at, &code) && code != 0 && !(code >= 0xdc00 && code < 0xe000);
    f->at += 4;
    if (is_good && code >= 0xd800 && code < 0xdc00) {
        err = need(r, 6, start, fault);
        if (err != ERR_OK)
            return err;
        is_good = memcmp(f->block + f->at, "\\u", 2) == 0 && take_hex(f->block + f->at + 2, &low) &&
                  low >= 0xdc00 && low < 0xe000;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        f->at += 6;
    }
    if (!is_good)
        return text_fault(f, r->offset, fault, "a text with an escape \\u that is no character");
    *out_n = utf8_encode(code, f->block + *start + to_offset);
    return ERR_OK;
}

static enum err take_escape(struct json_reader *r, size_t *start, size_t len, size_t *out_n,
                            struct fault *fault)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    struct text_file *f = &r->file;
    const enum err err = need(r, 1, start, fault);
    if (err != ERR_OK)
        return err;
    const char c = f->block[f->at++];
    const char *name = c ? strchr(names, c) : NULL;
    if (c == 'u')
        return take_unicode(r, start, f->block + *start + len, out_n, fault);
    if (!name)
        return text_fault(f, f->offset + f->at - 1, fault, "an escape that JSON does not have");
    f->block[*start + len] = values[name - names];
    *out_n = 1;
    return ERR_OK;
}

/* `at` is at the opening mark. Unescaped in place, which only makes it shorter. */
static enum err take_text(struct json_reader *r, struct fault *fault)
{
    struct text_file *f = &r->file;
    size_t start = ++f->at, len = 0;
    for (;;) {
        size_t n = 1;
        enum err err = need(r, 1, &start, fault);
        if (err != ERR_OK)
            return err;
        const char c = f->block[f->at++];
        if (c == '"')
            break;
        if ((unsigned char)c < ' ')
            return text_fault(f, f->offset + f->at - 1, fault, "a control character within a text");
        if (c == '\\')
            err = take_escape(r, &start, len, &n, fault);
        else
            f->block[start + len] = c;
        if (err != ERR_OK)
            return err;
        len += n;
    }
    r->text = f->block + start;
    r->len = len;
    if (!utf8_is_valid(r->text, len))
        return text_fault(f, r->offset, fault, "a text that is no UTF-8");
    r->token = JSON_TOKEN_TEXT;
    finish_value(r);
    return ERR_OK;
}

static enum err take_key(struct json_reader *r, struct fault *fault)
{
    struct text_file *f = &r->file;
    enum err err = take_text(r, fault);
    if (err != ERR_OK)
        return err;
    /* The key must outlive the blanks and the colon. */
    size_t start = (size_t)(r->text - f->block);
    for (;;) {
        bool is_there;
        err = text_look(f, &start, &is_there, fault);
        if (err != ERR_OK)
            return err;
        const char c = is_there ? f->block[f->at] : '\0';
        if (!is_there || (c != ' ' && c != '\n' && c != '\r' && c != '\t' && c != ':'))
            return refuse(r, c, "a colon", fault);
        f->at++;
        if (c == ':')
            break;
    }
    r->text = f->block + start;
    r->token = JSON_TOKEN_KEY;
    r->state = VALUE;
    return ERR_OK;
}

/* -- the grammar ----------------------------------------------------------------------------------------- */

static enum err take_value(struct json_reader *r, char c, struct fault *fault)
{
    if (c == '-' || (c >= '0' && c <= '9'))
        return take_number(r, fault);
    if (c == '"')
        return take_text(r, fault);
    if (c == '{' || c == '[')
        return open_container(r, c == '{', fault);
    if (c >= 'a' && c <= 'z')
        return take_word(r, fault);
    return refuse(r, c, "a value", fault);
}

/* A comma is passed over; says in *c what then comes. */
static enum err take_comma(struct json_reader *r, char *c, struct fault *fault)
{
    if (*c != ',')
        return ERR_OK;
    r->file.at++;
    r->state = is_in_object(r) ? KEY : VALUE;
    return skip_blanks(&r->file, c, fault);
}

enum err json_next(struct json_reader *r, struct fault *fault)
{
    char c;
    enum err err = skip_blanks(&r->file, &c, fault);
    if (err == ERR_OK && r->state == COMMA_OR_END)
        err = take_comma(r, &c, fault);
    if (err != ERR_OK)
        return err;
    r->offset = r->file.offset + r->file.at;
    r->text = "";
    r->len = 0;
    switch ((enum state)r->state) {
    case NOTHING:
        r->token = JSON_TOKEN_END;
        return r->file.at < r->file.end ? refuse(r, c, "nothing more", fault) : ERR_OK;
    case KEY_OR_END:
    case KEY:
        if (c == '"')
            return take_key(r, fault);
        break;
    case ELEMENT_OR_END:
    case VALUE:
        if (c != ']' || r->state == VALUE)
            return take_value(r, c, fault);
        break;
    case COMMA_OR_END:
        break;
    }
    if (r->state != KEY && r->state != VALUE && c == (is_in_object(r) ? '}' : ']')) {
        close_container(r);
        return ERR_OK;
    }
    return refuse(r, c,
                  r->state == COMMA_OR_END ? (is_in_object(r) ? "a comma or }" : "a comma or ]") : "a key",
                  fault);
}

enum err json_skip(struct json_reader *r, struct fault *fault)
{
    const int depth = r->depth;
    enum err err;
    do
        err = json_next(r, fault);
    while (err == ERR_OK && r->depth > depth);
    return err;
}
