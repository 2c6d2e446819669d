/* Characters and their tokens: token i is the i-th character of the vocabulary. */
#ifndef FEDLANE_DATA_VOCABULARY_H
#define FEDLANE_DATA_VOCABULARY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/data/source.h"
#include "common/data/token_list.h"
#include "common/json/alphabet.h"

struct vocabulary {
    struct alphabet alphabet;
    bool is_of_data;  /* grows by the characters that come */
    bool has_unknown; /* characters that are not in it are read as the token `unknown` */
    uint32_t unknown;
    uint64_t num_characters, num_unknown; /* that were asked for */
};

/* The fields data.vocabulary, NULL for "paper", and data.unknown, NULL for a blank where the vocabulary has
 * one. "data": those that come, by code point. Else an alphabet, or {"file": "a JSON file with one"}. */
enum err vocabulary_init(const json_t *value, const json_t *unknown, struct vocabulary *out,
                         struct fault *fault) MUST_CHECK;
void vocabulary_release(struct vocabulary *v); /* also of a zeroed one */

/* A character's token. ERR_BAD_FILE where it has none: out_why (of `room` bytes) then says what to do. Else
 * ERR_NO_MEMORY. */
enum err vocabulary_token(struct vocabulary *v, uint32_t character, uint32_t *out, char *out_why,
                          size_t room) MUST_CHECK;
/* After the last character: one of the data gets the order of its code points, which changes the tokens in
 * the list and in labels[num_labels]. Tells how many characters were not in the vocabulary. */
enum err vocabulary_finish(struct vocabulary *v, struct token_list *tokens, int32_t *labels,
                           size_t num_labels, struct fault *fault) MUST_CHECK;
/* vocabulary, its hash and num_tokens of *out. */
enum err vocabulary_tell(const struct vocabulary *v, struct loaded *out, struct fault *fault) MUST_CHECK;
/* The same of data whose features are numbers already: the field data.vocabulary says what they stand for,
 * also as "sha256:DIGITS". num_tokens stays 0, for nobody has looked at the numbers. */
enum err vocabulary_of_numbers(const json_t *value, struct loaded *out, struct fault *fault) MUST_CHECK;

#endif
