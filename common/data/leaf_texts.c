/* Texts in LEAF's files: windows of characters (Shakespeare), and texts with a class (Sentiment140). */
#include "common/base/str.h"
#include "common/data/leaf_reading.h"

#define CHARACTERS_MAX 65536 /* of an example */

static enum err no_text(struct leaf_reading *t, const char *what)
{
    return leaf_fault(t, "user \"%.60s\" has %s in %s, where a text must be", leaf_user(t),
                      json_token_name(t->json.token), what);
}

/* -- characters ------------------------------------------------------------------------------------------ */

/* The token of the character that stands at *at. */
static enum err take_character(struct leaf_reading *t, size_t *at, uint32_t *out)
{
    char why[200];
    const struct json_reader *r = &t->json;
    const size_t len = utf8_sequence(r->text + *at, r->len - *at);
    if (len == 0)
        return leaf_fault(t, "a text that is no UTF-8");
    const enum err err =
        vocabulary_token(&t->leaf->vocabulary, utf8_decode(r->text + *at, len), out, why, sizeof why);
    *at += len;
    if (err == ERR_BAD_FILE)
        return leaf_fault(t, "user \"%.60s\": %s", leaf_user(t), why);
    return err == ERR_OK ? err : leaf_no_memory(t);
}

static enum err check_length(struct leaf_reading *t, size_t steps)
{
    struct pool *pool = &t->rows->pool;
    if (steps < 1 || steps > CHARACTERS_MAX)
        return leaf_fault(t, "example %zu of user \"%.60s\" has %zu characters; it must have 1 to %d",
                          t->num_x, leaf_user(t), steps, CHARACTERS_MAX);
    if (pool->num_features == 0)
        pool->num_features = steps;
    if (steps == pool->num_features)
        return ERR_OK;
    return leaf_fault(t,
                      "example %zu of user \"%.60s\" has %zu characters, not the %zu of the examples before",
                      t->num_x, leaf_user(t), steps, pool->num_features);
}

enum err leaf_read_characters(struct leaf_reading *t)
{
    size_t at = 0, steps = 0;
    uint32_t token;
    if (t->json.token != JSON_TOKEN_TEXT)
        return no_text(t, "x");
    enum err err = ERR_OK;
    for (; err == ERR_OK && at < t->json.len; steps++) {
        err = take_character(t, &at, &token);
        if (err == ERR_OK)
            err = token_list_put(&t->leaf->tokens, token, "data.path", t->fault);
    }
    if (err == ERR_OK)
        err = check_length(t, steps);
    if (err == ERR_OK)
        err = collector_reserve(t->rows, ++t->num_x, t->fault);
    return err;
}

enum err leaf_read_character_label(struct leaf_reading *t)
{
    size_t at = 0;
    uint32_t token;
    if (t->json.token != JSON_TOKEN_TEXT)
        return no_text(t, "y");
    if (t->json.len == 0 || utf8_sequence(t->json.text, t->json.len) != t->json.len)
        return leaf_fault(t, "label %zu of user \"%.60s\" must be one character, the one behind the example",
                          t->num_y, leaf_user(t));
    enum err err = leaf_label_room(t);
    if (err == ERR_OK)
        err = take_character(t, &at, &token);
    if (err == ERR_OK)
        t->y[t->num_y++] = (int32_t)token;
    return err;
}

/* -- words ----------------------------------------------------------------------------------------------- */

static enum err take_words(struct leaf_reading *t)
{
    const enum err err = words_add(&t->leaf->table->words, t->json.text, t->json.len, "data.path", t->fault);
    return err == ERR_BAD_FILE ? leaf_fault(t, "a text that is no UTF-8") : err;
}

/* A list of texts about a text, one of which is it. */
static enum err read_entries(struct leaf_reading *t)
{
    const int64_t wanted = t->leaf->text_index;
    for (int64_t i = 0;; i++) {
        enum err err = json_next(&t->json, t->fault);
        if (err != ERR_OK)
            return err;
        if (t->json.token == JSON_TOKEN_ARRAY_END && i > wanted)
            return ERR_OK;
        if (t->json.token == JSON_TOKEN_ARRAY_END)
            return leaf_fault(t,
                              "example %zu of user \"%.60s\" has %lld entries, so none is entry %lld; say in "
                              "data.text_index which one is the text, from 0",
                              t->num_x, leaf_user(t), (long long)i, (long long)wanted);
        if (t->json.token == JSON_TOKEN_ARRAY || t->json.token == JSON_TOKEN_OBJECT ||
            (i == wanted && t->json.token != JSON_TOKEN_TEXT))
            return no_text(t, "x");
        err = i == wanted ? take_words(t) : ERR_OK;
        if (err != ERR_OK)
            return err;
    }
}

enum err leaf_read_words(struct leaf_reading *t)
{
    if (t->json.token != JSON_TOKEN_ARRAY && t->json.token != JSON_TOKEN_TEXT)
        return no_text(t, "x");
    t->rows->pool.num_features = t->leaf->table->words.steps;
    enum err err = t->json.token == JSON_TOKEN_TEXT ? take_words(t) : read_entries(t);
    if (err == ERR_OK)
        err = collector_reserve(t->rows, ++t->num_x, t->fault);
    return err;
}
