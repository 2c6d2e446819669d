#include "common/data/leaf_reading.h"

#include <string.h>
#include "common/data/decimal.h"

#define FEATURES_MAX ((size_t)1 << 28)

/* -- numbers --------------------------------------------------------------------------------------------- */

static enum err no_value(struct leaf_reading *t, const char *what)
{
    if (t->json.token == JSON_TOKEN_TEXT)
        return leaf_fault(
            t,
            "user \"%.60s\" has a text in %s, where numbers must be; where texts have numbers as "
            "labels, name word vectors in data.vectors",
            leaf_user(t), what);
    return leaf_fault(t, "user \"%.60s\" has %s in %s, where numbers must be", leaf_user(t),
                      json_token_name(t->json.token), what);
}

static enum err take_value(struct leaf_reading *t, size_t j)
{
    const struct pool *pool = &t->rows->pool;
    float value;
    const enum decimal got = decimal_float(t->json.text, t->json.len, &value);
    if (got != DECIMAL_GOOD)
        return leaf_fault(t, "%.*s is too large for a float", t->json.len < 40 ? (int)t->json.len : 40,
                          t->json.text);
    if (pool->num_features == 0) {
        if (j >= FEATURES_MAX)
            return leaf_fault(t, "an example of more than %zu features", FEATURES_MAX);
        if (!leaf_grow((void **)&t->first, j, &t->first_room, sizeof *t->first))
            return leaf_no_memory(t);
        t->first[j] = value;
    } else if (j < pool->num_features) {
        pool->values[(pool->num_rows + t->num_x) * pool->num_features + j] = value;
    } else {
        return leaf_fault(
            t, "example %zu of user \"%.60s\" has more than the %zu features of the examples before",
            t->num_x, leaf_user(t), pool->num_features);
    }
    return ERR_OK;
}

/* The numbers of one example, lists within lists one after the other; the token that opens it was read. */
static enum err read_features(struct leaf_reading *t, size_t *out_len)
{
    const int depth = t->json.depth;
    size_t n = 0;
    enum err err = ERR_OK;
    if (t->json.token == JSON_TOKEN_NUMBER) {
        *out_len = 1;
        return take_value(t, 0);
    }
    if (t->json.token != JSON_TOKEN_ARRAY)
        return no_value(t, "x");
    while (err == ERR_OK) {
        err = json_next(&t->json, t->fault);
        if (err != ERR_OK || (t->json.token == JSON_TOKEN_ARRAY_END && t->json.depth < depth))
            break;
        if (t->json.token == JSON_TOKEN_NUMBER)
            err = take_value(t, n++);
        else if (t->json.token != JSON_TOKEN_ARRAY && t->json.token != JSON_TOKEN_ARRAY_END)
            err = no_value(t, "x");
    }
    *out_len = n;
    return err;
}

static enum err read_numbers(struct leaf_reading *t)
{
    struct pool *pool = &t->rows->pool;
    const bool is_first = pool->num_features == 0;
    size_t n = 0;
    enum err err = is_first ? ERR_OK : collector_reserve(t->rows, t->num_x + 1, t->fault);
    if (err == ERR_OK)
        err = read_features(t, &n);
    if (err != ERR_OK)
        return err;
    if (n == 0)
        return leaf_fault(t, "example %zu of user \"%.60s\" is empty", t->num_x, leaf_user(t));
    if (!is_first && n != pool->num_features)
        return leaf_fault(
            t, "example %zu of user \"%.60s\" has %zu features, not the %zu of the examples before", t->num_x,
            leaf_user(t), n, pool->num_features);
    if (is_first) {
        pool->num_features = n;
        err = collector_reserve(t->rows, 1, t->fault);
        if (err == ERR_OK)
            memcpy(pool->values + pool->num_rows * n, t->first, n * sizeof *t->first);
    }
    t->num_x++;
    return err;
}

/* -- labels ---------------------------------------------------------------------------------------------- */

enum err leaf_label_room(struct leaf_reading *t)
{
    if (t->num_y == UINT32_MAX)
        return leaf_fault(t, "user \"%.60s\" has more labels than a data set holds", leaf_user(t));
    return leaf_grow((void **)&t->y, t->num_y, &t->y_room, sizeof *t->y) ? ERR_OK : leaf_no_memory(t);
}

/* A number, or a text that is one or the name of a class. */
static enum err read_class(struct leaf_reading *t)
{
    struct classes *classes = &t->leaf->table->classes;
    const struct json_reader *r = &t->json;
    char why[200];
    long long label = 0;
    const bool is_text = r->token == JSON_TOKEN_TEXT && t->leaf->kind == LEAF_WORDS;
    if (r->token != JSON_TOKEN_NUMBER && !is_text)
        return no_value(t, "y");
    if (!is_text && decimal_whole(r->text, r->len, &label) != DECIMAL_GOOD)
        return leaf_fault(t, "label %.*s of user \"%.60s\" is no whole number; labels are classes",
                          r->len < 40 ? (int)r->len : 40, r->text, leaf_user(t));
    enum err err = leaf_label_room(t);
    if (err != ERR_OK)
        return err;
    err = is_text ? class_of_text(classes, r->text, r->len, &t->y[t->num_y], why, sizeof why)
                  : class_of_number(classes, label, &t->y[t->num_y], why, sizeof why);
    if (err == ERR_BAD_FILE)
        return leaf_fault(t, "user \"%.60s\": %s", leaf_user(t), why);
    if (err != ERR_OK)
        return leaf_no_memory(t);
    t->num_y++;
    return ERR_OK;
}

/* -- either ---------------------------------------------------------------------------------------------- */

/* What examples are, by the first x or y: a text alone is of characters. */
static void decide(struct leaf_reading *t)
{
    if (t->leaf->kind != LEAF_UNDECIDED)
        return;
    t->leaf->kind = t->json.token == JSON_TOKEN_TEXT ? LEAF_CHARACTERS : LEAF_NUMBERS;
    t->rows->are_texts = t->leaf->kind == LEAF_CHARACTERS;
}

static enum err read_example(struct leaf_reading *t)
{
    switch (t->leaf->kind) {
    case LEAF_CHARACTERS:
        return leaf_read_characters(t);
    case LEAF_WORDS:
        return leaf_read_words(t);
    case LEAF_UNDECIDED:
    case LEAF_NUMBERS:
        break;
    }
    return read_numbers(t);
}

enum err leaf_read_list(struct leaf_reading *t, bool is_x)
{
    enum err err = leaf_open(t, JSON_TOKEN_ARRAY, is_x ? "x" : "y");
    while (err == ERR_OK) {
        err = json_next(&t->json, t->fault);
        if (err != ERR_OK || t->json.token == JSON_TOKEN_ARRAY_END)
            break;
        decide(t);
        err = is_x                               ? read_example(t)
              : t->leaf->kind == LEAF_CHARACTERS ? leaf_read_character_label(t)
                                                 : read_class(t);
    }
    return err;
}
