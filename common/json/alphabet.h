/* An alphabet: characters in the order of their numbers, as a run's model and a data set name them. Character
 * i is the token i. */
#ifndef FEDLANE_JSON_ALPHABET_H
#define FEDLANE_JSON_ALPHABET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct alphabet {
    size_t count, room;
    uint32_t *characters; /* [count] code points, by number */
    uint16_t **pages;     /* by code point, 256 each: 1 + number; 0, or no page: not in it */
};

#define ALPHABET_NONE SIZE_MAX

/* The 80 characters of the Shakespeare experiments in arXiv 1812.06127: ALL_LETTERS of
 * models/utils/language_utils.py in LEAF (arXiv 1812.01097), in its order. */
extern const char alphabet_paper[];

/* An empty one. */
enum err alphabet_init(struct alphabet *out) MUST_CHECK;
void alphabet_release(struct alphabet *a); /* also of a zeroed one */
/* Of a JSON value: "paper" (also NULL), or the characters as a text, or as a list of texts of one character
 * each. At least two and at most LIMIT_VOCABULARY, none twice, no zero byte and no carriage return, which
 * texts do not have. ERR_INVALID_FIELD names `field`. *out begins empty. */
enum err alphabet_read(const json_t *value, const char *field, struct alphabet *out,
                       struct fault *fault) MUST_CHECK;
/* The digits of "sha256:DIGITS", which names a vocabulary by its hash; NULL: the value is none. */
const char *alphabet_hash(const json_t *value);
/* A character's number; ALPHABET_NONE where it is not in it. */
size_t alphabet_find(const struct alphabet *a, uint32_t character);
/* One more, which is not in it yet. ERR_NO_MEMORY. */
enum err alphabet_append(struct alphabet *a, uint32_t character) MUST_CHECK;
/* All characters in the order of their numbers, as UTF-8. NULL: no memory. The caller frees it. */
char *alphabet_text(const struct alphabet *a);
/* Puts the characters into the order of their code points; out_new[old number] = new number. */
enum err alphabet_sort(struct alphabet *a, uint32_t *out_new) MUST_CHECK;

/* A text of one character? */
bool alphabet_is_character(const json_t *text);
/* How a message shows a character: "a" (U+0061). */
#define ALPHABET_SHOWN 32
const char *alphabet_shown(uint32_t character, char out[ALPHABET_SHOWN]);

#endif
