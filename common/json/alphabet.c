#include "common/json/alphabet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"

#define PAGE      256 /* code points */
#define NUM_PAGES (0x110000 / PAGE)

const char alphabet_paper[] =
    "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}";

enum err alphabet_init(struct alphabet *out)
{
    *out = (struct alphabet){.pages = calloc(NUM_PAGES, sizeof *out->pages)};
    return out->pages ? ERR_OK : ERR_NO_MEMORY;
}

void alphabet_release(struct alphabet *a)
{
    free(a->characters);
    for (size_t i = 0; a->pages && i < NUM_PAGES; i++)
        free(a->pages[i]);
    free(a->pages);
    *a = (struct alphabet){0};
}

const char *alphabet_shown(uint32_t character, char out[ALPHABET_SHOWN])
{
    char bytes[UTF8_MOST];
    if (character < ' ' || character == 0x7f)
        (void)snprintf(out, ALPHABET_SHOWN, "U+%04" PRIX32, character);
    else
        (void)snprintf(out, ALPHABET_SHOWN, "\"%.*s\" (U+%04" PRIX32 ")", (int)utf8_encode(character, bytes),
                       bytes, character);
    return out;
}

size_t alphabet_find(const struct alphabet *a, uint32_t character)
{
    const uint16_t *page = a->pages[character / PAGE];
    return page && page[character % PAGE] ? (size_t)page[character % PAGE] - 1 : ALPHABET_NONE;
}

enum err alphabet_append(struct alphabet *a, uint32_t character)
{
    if (a->count == a->room) {
        const size_t room = a->room ? 2 * a->room : 128;
        uint32_t *characters = realloc(a->characters, room * sizeof *characters);
        if (!characters)
            return ERR_NO_MEMORY;
        a->characters = characters;
        a->room = room;
    }
    uint16_t **page = &a->pages[character / PAGE];
    if (!*page)
        *page = calloc(PAGE, sizeof **page);
    if (!*page)
        return ERR_NO_MEMORY;
    a->characters[a->count++] = character;
    (*page)[character % PAGE] = (uint16_t)a->count;
    return ERR_OK;
}

/* -- reading --------------------------------------------------------------------------------------------- */

static enum err no_memory(const char *field, struct fault *fault)
{
    return fault_set(fault, ERR_NO_MEMORY, field, "no memory for a vocabulary");
}

static enum err take_character(struct alphabet *a, uint32_t character, const char *field, struct fault *fault)
{
    char text[ALPHABET_SHOWN];
    if (character == 0 || character == '\r')
        return fault_set(fault, ERR_INVALID_FIELD, field,
                         "%s cannot be in it: zero bytes are refused in texts, and carriage returns left out",
                         alphabet_shown(character, text));
    if (alphabet_find(a, character) != ALPHABET_NONE)
        return fault_set(fault, ERR_INVALID_FIELD, field, "has %s twice", alphabet_shown(character, text));
    if (a->count == LIMIT_VOCABULARY)
        return fault_set(fault, ERR_INVALID_FIELD, field, "has more than %d characters", LIMIT_VOCABULARY);
    return alphabet_append(a, character) == ERR_OK ? ERR_OK : no_memory(field, fault);
}

/* Jansson has checked that texts are UTF-8. */
static enum err take_text(struct alphabet *a, const char *text, size_t n, const char *field,
                          struct fault *fault)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < n;) {
        const size_t len = utf8_sequence(text + i, n - i);
        if (len == 0)
            return fault_set(fault, ERR_INVALID_FIELD, field, "is no UTF-8");
        err = take_character(a, utf8_decode(text + i, len), field, fault);
        i += len;
    }
    return err;
}

bool alphabet_is_character(const json_t *text)
{
    const size_t n = json_string_length(text);
    return json_is_string(text) && n > 0 && utf8_sequence(json_string_value(text), n) == n;
}

static enum err take_list(struct alphabet *a, const json_t *list, const char *field, struct fault *fault)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < json_array_size(list); i++) {
        const json_t *text = json_array_get(list, i);
        if (!alphabet_is_character(text))
            return fault_set(fault, ERR_INVALID_FIELD, field, "entry %zu must be a text of one character", i);
        err = take_text(a, json_string_value(text), json_string_length(text), field, fault);
    }
    return err;
}

enum err alphabet_read(const json_t *value, const char *field, struct alphabet *out, struct fault *fault)
{
    enum err err;
    if (json_is_array(value))
        err = take_list(out, value, field, fault);
    else if (!value || str_eq(json_string_value(value), "paper"))
        err = take_text(out, alphabet_paper, strlen(alphabet_paper), field, fault);
    else if (!json_is_string(value))
        return fault_set(fault, ERR_INVALID_FIELD, field,
                         "must be \"paper\", \"data\", or all characters in order, as a text or as a list");
    else
        err = take_text(out, json_string_value(value), json_string_length(value), field, fault);
    if (err == ERR_OK && out->count < 2)
        return fault_set(fault, ERR_INVALID_FIELD, field, "must have at least two characters");
    return err;
}

#define HASHED     "sha256:"
#define HASH_BYTES 32

const char *alphabet_hash(const json_t *value)
{
    uint8_t ignored[HASH_BYTES];
    const char *text = json_string_value(value), *digits = text ? text + strlen(HASHED) : NULL;
    return text && str_has_prefix(text, HASHED) && hex_decode(digits, ignored, HASH_BYTES) == ERR_OK ? digits
                                                                                                     : NULL;
}

/* -- the whole ------------------------------------------------------------------------------------------- */

char *alphabet_text(const struct alphabet *a)
{
    char *text = malloc(a->count * UTF8_MOST + 1);
    size_t len = 0;
    for (size_t i = 0; text && i < a->count; i++)
        len += utf8_encode(a->characters[i], text + len);
    if (text)
        text[len] = '\0';
    return text;
}

static int by_code(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

enum err alphabet_sort(struct alphabet *a, uint32_t *out_new)
{
    uint32_t *sorted = malloc((a->count + 1) * sizeof *sorted);
    if (!sorted)
        return ERR_NO_MEMORY;
    if (a->count > 0)
        memcpy(sorted, a->characters, a->count * sizeof *sorted);
    qsort(sorted, a->count, sizeof *sorted, by_code);
    for (size_t i = 0; i < a->count; i++) {
        uint16_t *number = &a->pages[sorted[i] / PAGE][sorted[i] % PAGE];
        out_new[*number - 1] = (uint32_t)i;
        *number = (uint16_t)(i + 1);
    }
    free(a->characters);
    a->characters = sorted;
    a->room = a->count + 1;
    return ERR_OK;
}
