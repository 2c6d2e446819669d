#include "common/data/vocabulary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "common/base/str.h"

#define FIELD     "data.vocabulary"
#define NUM_PAGES (0x110000 / PAGE)
#define PAGE      256 /* code points */

static const char paper[] =
    "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}";

void vocabulary_release(struct vocabulary *v)
{
    free(v->characters);
    for (size_t i = 0; v->pages && i < NUM_PAGES; i++)
        free(v->pages[i]);
    free(v->pages);
    *v = (struct vocabulary){0};
}

/* How a message shows a character. */
static const char *shown(uint32_t character, char out[32])
{
    char bytes[UTF8_MOST];
    if (character < ' ' || character == 0x7f)
        (void)snprintf(out, 32, "U+%04" PRIX32, character);
    else
        (void)snprintf(out, 32, "\"%.*s\" (U+%04" PRIX32 ")", (int)utf8_encode(character, bytes), bytes,
                       character);
    return out;
}

/* 1 + token, 0: not in it. */
static uint32_t find(const struct vocabulary *v, uint32_t character)
{
    const uint16_t *page = v->pages[character / PAGE];
    return page ? page[character % PAGE] : 0;
}

/* -- making one ------------------------------------------------------------------------------------------ */

static enum err no_memory(struct fault *fault)
{
    return fault_set(fault, ERR_NO_MEMORY, FIELD, "no memory for a vocabulary");
}

static enum err append(struct vocabulary *v, uint32_t character)
{
    if (v->count == v->room) {
        const size_t room = v->room ? 2 * v->room : 128;
        uint32_t *characters = realloc(v->characters, room * sizeof *characters);
        if (!characters)
            return ERR_NO_MEMORY;
        v->characters = characters;
        v->room = room;
    }
    uint16_t **page = &v->pages[character / PAGE];
    if (!*page)
        *page = calloc(PAGE, sizeof **page);
    if (!*page)
        return ERR_NO_MEMORY;
    v->characters[v->count++] = character;
    (*page)[character % PAGE] = (uint16_t)v->count;
    return ERR_OK;
}

static enum err take_character(struct vocabulary *v, uint32_t character, struct fault *fault)
{
    char text[32];
    if (character == 0 || character == '\r')
        return fault_set(fault, ERR_INVALID_FIELD, FIELD,
                         "%s cannot be in it: zero bytes are refused in texts, and carriage returns left out",
                         shown(character, text));
    if (find(v, character))
        return fault_set(fault, ERR_INVALID_FIELD, FIELD, "has %s twice", shown(character, text));
    if (v->count == VOCABULARY_MAX)
        return fault_set(fault, ERR_INVALID_FIELD, FIELD, "has more than %d characters", VOCABULARY_MAX);
    return append(v, character) == ERR_OK ? ERR_OK : no_memory(fault);
}

/* Jansson has checked that texts are UTF-8. */
static enum err take_text(struct vocabulary *v, const char *text, size_t n, struct fault *fault)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < n;) {
        const size_t len = utf8_sequence(text + i, n - i);
        if (len == 0)
            return fault_set(fault, ERR_INVALID_FIELD, FIELD, "is no UTF-8");
        err = take_character(v, utf8_decode(text + i, len), fault);
        i += len;
    }
    return err;
}

static bool is_one_character(const json_t *text)
{
    const size_t n = json_string_length(text);
    return json_is_string(text) && n > 0 && utf8_sequence(json_string_value(text), n) == n;
}

static enum err take_list(struct vocabulary *v, const json_t *list, struct fault *fault)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < json_array_size(list); i++) {
        const json_t *text = json_array_get(list, i);
        if (!is_one_character(text))
            return fault_set(fault, ERR_INVALID_FIELD, FIELD, "entry %zu must be a text of one character", i);
        err = take_text(v, json_string_value(text), json_string_length(text), fault);
    }
    return err;
}

static enum err take_unknown(struct vocabulary *v, const json_t *value, struct fault *fault)
{
    char text[32];
    uint32_t character = ' ';
    if (v->is_of_data)
        return value ? fault_set(fault, ERR_INVALID_FIELD, "data.unknown",
                                 "a vocabulary of the data has all characters that come")
                     : ERR_OK;
    if (json_is_string(value) && json_string_length(value) == 0)
        return ERR_OK;
    if (value && !is_one_character(value))
        return fault_set(
            fault, ERR_INVALID_FIELD, "data.unknown",
            "must be the character of the vocabulary as which others are read, or \"\" to refuse "
            "them");
    if (value)
        character = utf8_decode(json_string_value(value), json_string_length(value));
    if (value && !find(v, character))
        return fault_set(fault, ERR_INVALID_FIELD, "data.unknown", "%s is not in the vocabulary itself",
                         shown(character, text));
    v->has_unknown = find(v, character) > 0;
    v->unknown = v->has_unknown ? find(v, character) - 1 : 0;
    return ERR_OK;
}

enum err vocabulary_init(const json_t *value, const json_t *unknown, struct vocabulary *out,
                         struct fault *fault)
{
    const char *text = value ? json_string_value(value) : "paper";
    enum err err = ERR_OK;
    *out = (struct vocabulary){.is_of_data = str_eq(text, "data"),
                               .pages = calloc(NUM_PAGES, sizeof *out->pages)};
    if (!out->pages)
        return no_memory(fault);
    if (json_is_array(value))
        err = take_list(out, value, fault);
    else if (!text)
        err = fault_set(fault, ERR_INVALID_FIELD, FIELD,
                        "must be \"paper\", \"data\", or all characters in order, as a text or as a list");
    else if (str_eq(text, "paper"))
        err = take_text(out, paper, sizeof paper - 1, fault);
    else if (!out->is_of_data)
        err = take_text(out, text, json_string_length(value), fault);
    if (err == ERR_OK && !out->is_of_data && out->count < 2)
        err = fault_set(fault, ERR_INVALID_FIELD, FIELD, "must have at least two characters");
    return err == ERR_OK ? take_unknown(out, unknown, fault) : err;
}

/* -- using it -------------------------------------------------------------------------------------------- */

static enum err not_in_it(struct vocabulary *v, uint32_t character, uint32_t *out, char *out_why, size_t room)
{
    char text[32];
    if (v->has_unknown) {
        v->num_unknown++;
        *out = v->unknown;
        return ERR_OK;
    }
    if (v->is_of_data && v->count < VOCABULARY_MAX) {
        *out = (uint32_t)v->count;
        return append(v, character);
    }
    if (v->is_of_data)
        (void)snprintf(out_why, room, "more than %d different characters", VOCABULARY_MAX);
    else
        (void)snprintf(out_why, room,
                       "%s is not in the vocabulary; add it to data.vocabulary, or choose in data.unknown as "
                       "what such characters are read",
                       shown(character, text));
    return ERR_BAD_FILE;
}

enum err vocabulary_token(struct vocabulary *v, uint32_t character, uint32_t *out, char *out_why, size_t room)
{
    const uint32_t found = find(v, character);
    v->num_characters++;
    if (found == 0)
        return not_in_it(v, character, out, out_why, room);
    *out = found - 1;
    return ERR_OK;
}

static int by_code(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Whoever has other texts has other tokens. */
static void tell_order(const struct vocabulary *v)
{
    log_warning("data",
                "the vocabulary is the %zu characters that came, by code point; give them in data.vocabulary "
                "where other machines may have other texts",
                v->count);
}

static enum err sort(struct vocabulary *v, struct token_list *tokens, int32_t *labels, size_t num_labels,
                     struct fault *fault)
{
    uint32_t *sorted = malloc((v->count + 1) * sizeof *sorted);
    uint32_t *new_token = malloc((v->count + 1) * sizeof *new_token);
    const bool is_done = sorted && new_token;
    if (is_done) {
        memcpy(sorted, v->characters, v->count * sizeof *sorted);
        qsort(sorted, v->count, sizeof *sorted, by_code);
        for (size_t i = 0; i < v->count; i++) {
            uint16_t *token = &v->pages[sorted[i] / PAGE][sorted[i] % PAGE];
            new_token[*token - 1] = (uint32_t)i;
            *token = (uint16_t)(i + 1);
        }
        memcpy(v->characters, sorted, v->count * sizeof *sorted);
        for (size_t i = 0; i < tokens->count; i++)
            token_list_set(tokens, i, new_token[token_at(tokens, i)]);
        for (size_t i = 0; i < num_labels; i++)
            labels[i] = (int32_t)new_token[labels[i]];
        tell_order(v);
    }
    free(sorted);
    free(new_token);
    return is_done ? ERR_OK : no_memory(fault);
}

enum err vocabulary_finish(struct vocabulary *v, struct token_list *tokens, int32_t *labels,
                           size_t num_labels, struct fault *fault)
{
    char text[32];
    if (v->num_unknown > 0)
        log_warning("data",
                    "%" PRIu64 " of %" PRIu64 " characters are not in the vocabulary and are read as %s; "
                    "data.vocabulary can name them",
                    v->num_unknown, v->num_characters, shown(v->characters[v->unknown], text));
    return v->is_of_data ? sort(v, tokens, labels, num_labels, fault) : ERR_OK;
}

char *vocabulary_text(const struct vocabulary *v)
{
    char *text = malloc(v->count * UTF8_MOST + 1);
    size_t len = 0;
    for (size_t i = 0; text && i < v->count; i++)
        len += utf8_encode(v->characters[i], text + len);
    if (text)
        text[len] = '\0';
    return text;
}
