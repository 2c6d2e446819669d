#include "common/data/words.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/data/word_vectors.h"

#define LOWERED_MAX 256 /* bytes of a word; a longer one is only looked for as it stands */

void words_release(struct words *w)
{
    name_table_release(&w->names);
    token_list_release(&w->tokens);
    free(w->lower);
    *w = (struct words){.steps = w->steps};
}

/* -- cutting --------------------------------------------------------------------------------------------- */

static bool is_of_word(char c)
{
    return (unsigned char)c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '\'';
}

static bool is_mark(char c)
{
    return c != '\0' && strchr(".,!?;", c);
}

/* The next word from *at on; 0: there is none. */
static size_t next_word(const char *text, size_t len, size_t *at)
{
    while (*at < len && !is_of_word(text[*at]) && !is_mark(text[*at]))
        ++*at;
    if (*at < len && is_mark(text[*at]))
        return 1;
    size_t end = *at;
    while (end < len && is_of_word(text[end]))
        end++;
    return end - *at;
}

/* A number for the word; `lower` is that of the same word in lower case, SIZE_MAX for its own. */
static enum err put_word(struct words *w, const char *word, size_t len, size_t lower, size_t *out)
{
    const size_t before = w->names.count;
    if (before == w->room) {
        const size_t room = w->room ? 2 * w->room : 256;
        uint32_t *moved = realloc(w->lower, room * sizeof *moved);
        if (!moved)
            return ERR_NO_MEMORY;
        w->lower = moved;
        w->room = room;
    }
    const enum err err = name_put(&w->names, word, len, out);
    if (err == ERR_OK && w->names.count > before)
        w->lower[*out] = (uint32_t)(lower == SIZE_MAX ? *out : lower);
    return err;
}

/* The lower case comes first: so no row of vectors has a larger number than the largest token. */
static enum err number_of(struct words *w, const char *word, size_t len, size_t *out)
{
    char lowered[LOWERED_MAX];
    size_t lower = SIZE_MAX;
    bool is_other = false;
    *out = name_find(&w->names, word, len);
    if (*out != NAME_NONE)
        return ERR_OK;
    for (size_t i = 0; i < len && len <= sizeof lowered; i++) {
        lowered[i] = word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] - 'A' + 'a') : word[i];
        is_other = is_other || lowered[i] != word[i];
    }
    const enum err err = is_other ? put_word(w, lowered, len, SIZE_MAX, &lower) : ERR_OK;
    return err == ERR_OK ? put_word(w, word, len, lower, out) : err;
}

enum err words_add(struct words *w, const char *text, size_t len, const char *field, struct fault *fault)
{
    size_t at = 0, number;
    enum err err = ERR_OK;
    if (!utf8_is_valid(text, len))
        return ERR_BAD_FILE;
    for (size_t i = 0; err == ERR_OK && i < w->steps; i++) {
        const size_t n = next_word(text, len, &at);
        if (n > 0 && number_of(w, text + at, n, &number) != ERR_OK)
            return fault_set(fault, ERR_NO_MEMORY, field, "no memory for %zu different words",
                             w->names.count);
        err = token_list_put(&w->tokens, n > 0 ? (uint32_t)number + 1 : 0, field, fault);
        at += n;
    }
    return err;
}

/* -- vectors --------------------------------------------------------------------------------------------- */

/* Tokens become rows of the vectors; row 0 is zeros. */
static void look_up(struct words *w, const struct word_vectors *v)
{
    size_t words = 0, known = 0;
    for (size_t i = 0; i < w->tokens.count; i++) {
        const uint32_t token = token_at(&w->tokens, i);
        if (token == 0)
            continue;
        uint32_t row = v->rows[token - 1];
        if (row == 0)
            row = v->rows[w->lower[token - 1]];
        words++;
        known += row > 0;
        token_list_set(&w->tokens, i, row);
    }
    log_info("data", "%zu of %zu words have a vector, %zu different ones", known, words, v->count - 1);
}

enum err words_finish(struct words *w, const char *vectors_path, struct loaded *loaded, struct fault *fault)
{
    struct word_vectors v = {0};
    struct pool *out = &loaded->pool;
    const enum err err = word_vectors_read(vectors_path, &w->names, &v, fault);
    if (err == ERR_OK) {
        look_up(w, &v);
        token_list_shrink(&w->tokens);
        out->text = (struct pool_text){
            .tokens = w->tokens, .steps = w->steps, .apart = w->steps, .vectors = v.values, .width = v.width};
        out->num_features = w->steps * v.width;
        memcpy(loaded->vocabulary_sha256, v.sha256, sizeof loaded->vocabulary_sha256);
        w->tokens = (struct token_list){0};
        v.values = NULL;
    }
    word_vectors_release(&v);
    return err;
}
