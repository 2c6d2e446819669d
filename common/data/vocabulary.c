#include "common/data/vocabulary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/data/path.h"
#include "common/json/json_spec.h"

#define FIELD "data.vocabulary"

void vocabulary_release(struct vocabulary *v)
{
    alphabet_release(&v->alphabet);
    *v = (struct vocabulary){0};
}

/* -- making one ------------------------------------------------------------------------------------------ */

static enum err no_memory(struct fault *fault)
{
    return fault_set(fault, ERR_NO_MEMORY, FIELD, "no memory for a vocabulary");
}

static enum err take_unknown(struct vocabulary *v, const json_t *value, struct fault *fault)
{
    char text[ALPHABET_SHOWN];
    uint32_t character = ' ';
    if (v->is_of_data)
        return value ? fault_set(fault, ERR_INVALID_FIELD, "data.unknown",
                                 "a vocabulary of the data has all characters that come")
                     : ERR_OK;
    if (json_is_string(value) && json_string_length(value) == 0)
        return ERR_OK;
    if (value && !alphabet_is_character(value))
        return fault_set(
            fault, ERR_INVALID_FIELD, "data.unknown",
            "must be the character of the vocabulary as which others are read, or \"\" to refuse "
            "them");
    if (value)
        character = utf8_decode(json_string_value(value), json_string_length(value));
    if (value && alphabet_find(&v->alphabet, character) == ALPHABET_NONE)
        return fault_set(fault, ERR_INVALID_FIELD, "data.unknown", "%s is not in the vocabulary itself",
                         alphabet_shown(character, text));
    const size_t found = alphabet_find(&v->alphabet, character);
    v->has_unknown = found != ALPHABET_NONE;
    v->unknown = v->has_unknown ? (uint32_t)found : 0;
    return ERR_OK;
}

/* {"file": "alphabet.json"}, which holds what the field could. */
static enum err read_file(const json_t *value, struct vocabulary *out, struct fault *fault)
{
    const char *path = json_string_value(json_object_get(value, "file"));
    struct fault inner = FAULT_NONE;
    json_t *read = NULL;
    if (!path || json_object_size(value) != 1)
        return fault_set(fault, ERR_INVALID_FIELD, FIELD,
                         "an object must be {\"file\": \"FILE\"}: a JSON file with all characters in order, "
                         "as `fedlane data vocabulary` writes it");
    enum err err = json_file_parse(path, &read, &inner);
    if (err != ERR_OK)
        return fault_set(fault, ERR_BAD_FILE, FIELD, "%s", inner.detail);
    err = alphabet_read(read, FIELD, &out->alphabet, &inner);
    if (err != ERR_OK)
        err = fault_set(fault, err, FIELD, "%s: %s", path_shown(path), inner.detail);
    json_decref(read);
    return err;
}

enum err vocabulary_init(const json_t *value, const json_t *unknown, struct vocabulary *out,
                         struct fault *fault)
{
    *out = (struct vocabulary){.is_of_data = str_eq(json_string_value(value), "data")};
    enum err err = alphabet_init(&out->alphabet);
    if (err != ERR_OK)
        return no_memory(fault);
    if (alphabet_hash(value))
        return fault_set(fault, ERR_INVALID_FIELD, FIELD,
                         "a hash does not say which characters they are: give the characters");
    if (json_is_object(value))
        err = read_file(value, out, fault);
    else if (!out->is_of_data)
        err = alphabet_read(value, FIELD, &out->alphabet, fault);
    return err == ERR_OK ? take_unknown(out, unknown, fault) : err;
}

/* -- using it -------------------------------------------------------------------------------------------- */

static enum err not_in_it(struct vocabulary *v, uint32_t character, uint32_t *out, char *out_why, size_t room)
{
    char text[ALPHABET_SHOWN];
    if (v->has_unknown) {
        v->num_unknown++;
        *out = v->unknown;
        return ERR_OK;
    }
    if (v->is_of_data && v->alphabet.count < LIMIT_VOCABULARY) {
        *out = (uint32_t)v->alphabet.count;
        return alphabet_append(&v->alphabet, character);
    }
    if (v->is_of_data)
        (void)snprintf(out_why, room, "more than %d different characters", LIMIT_VOCABULARY);
    else
        (void)snprintf(out_why, room,
                       "%s is not in the vocabulary; add it to data.vocabulary, or choose in data.unknown as "
                       "what such characters are read",
                       alphabet_shown(character, text));
    return ERR_BAD_FILE;
}

enum err vocabulary_token(struct vocabulary *v, uint32_t character, uint32_t *out, char *out_why, size_t room)
{
    const size_t found = alphabet_find(&v->alphabet, character);
    v->num_characters++;
    if (found == ALPHABET_NONE)
        return not_in_it(v, character, out, out_why, room);
    *out = (uint32_t)found;
    return ERR_OK;
}

/* Whoever has other texts has other tokens. */
static void tell_order(const struct vocabulary *v)
{
    log_warning("data",
                "the vocabulary is the %zu characters that came, by code point; give them in data.vocabulary "
                "where other machines may have other texts",
                v->alphabet.count);
}

static enum err sort(struct vocabulary *v, struct token_list *tokens, int32_t *labels, size_t num_labels,
                     struct fault *fault)
{
    uint32_t *new_token = malloc((v->alphabet.count + 1) * sizeof *new_token);
    const enum err err = new_token ? alphabet_sort(&v->alphabet, new_token) : ERR_NO_MEMORY;
    for (size_t i = 0; err == ERR_OK && i < tokens->count; i++)
        token_list_set(tokens, i, new_token[token_at(tokens, i)]);
    for (size_t i = 0; err == ERR_OK && i < num_labels; i++)
        labels[i] = (int32_t)new_token[labels[i]];
    if (err == ERR_OK)
        tell_order(v);
    free(new_token);
    return err == ERR_OK ? err : no_memory(fault);
}

enum err vocabulary_finish(struct vocabulary *v, struct token_list *tokens, int32_t *labels,
                           size_t num_labels, struct fault *fault)
{
    char text[ALPHABET_SHOWN];
    if (v->num_unknown > 0)
        log_warning("data",
                    "%" PRIu64 " of %" PRIu64 " characters are not in the vocabulary and are read as %s; "
                    "data.vocabulary can name them",
                    v->num_unknown, v->num_characters,
                    alphabet_shown(v->alphabet.characters[v->unknown], text));
    return v->is_of_data ? sort(v, tokens, labels, num_labels, fault) : ERR_OK;
}

enum err vocabulary_tell(const struct vocabulary *v, struct loaded *out, struct fault *fault)
{
    out->num_tokens = v->alphabet.count;
    out->vocabulary = alphabet_text(&v->alphabet);
    if (!out->vocabulary ||
        sha256_hex(out->vocabulary, strlen(out->vocabulary), out->vocabulary_sha256) != ERR_OK)
        return no_memory(fault);
    return ERR_OK;
}

enum err vocabulary_of_numbers(const json_t *value, struct loaded *out, struct fault *fault)
{
    struct vocabulary v = {0};
    const char *hash = alphabet_hash(value);
    if (hash)
        return str_copy(out->vocabulary_sha256, sizeof out->vocabulary_sha256, hash);
    if (str_eq(json_string_value(value), "data"))
        return fault_set(fault, ERR_INVALID_FIELD, FIELD,
                         "the data are numbers, which do not say what they stand for: give the characters");
    enum err err = vocabulary_init(value, NULL, &v, fault);
    if (err == ERR_OK)
        err = vocabulary_tell(&v, out, fault);
    out->num_tokens = 0;
    vocabulary_release(&v);
    return err;
}
