/* Texts as words, for word vectors: a text of any length becomes so many tokens. */
#ifndef FEDLANE_DATA_WORDS_H
#define FEDLANE_DATA_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/data/name_table.h"
#include "common/data/source.h"
#include "common/data/token_list.h"

struct words {
    size_t steps; /* tokens of a text; set by the caller */
    /* Words as they stand in the texts, and in lower case (ASCII). */
    struct name_table names;
    uint32_t *lower; /* [names.count]: the number of the same word in lower case */
    size_t room;
    struct token_list tokens; /* steps for each text: 1 + a word's number; 0 behind the last word */
};

void words_release(struct words *w); /* also of one with nothing but `steps` */

/* Appends the tokens of a text. A word is a longest run of letters, digits, underscores and apostrophes,
 * where every character beyond ASCII is a letter; each of . , ! ? ; is a word, too; all else only stands
 * between. What is beyond `steps` words is left out. As arXiv 1812.06127 and LEAF cut tweets
 * (models/utils/language_utils.py). Not UTF-8: ERR_BAD_FILE without a fault, for the caller knows where it
 * stands. */
enum err words_add(struct words *w, const char *text, size_t len, const char *field,
                   struct fault *fault) MUST_CHECK;

/* Reads the vectors of the words and makes the pool's text of them and the tokens, and the hash of the file:
 * what has no vector, and what is behind the last word, is zeros. A word that has none as it stands has that
 * of itself in lower case. The file has a line per word, the word and its numbers with blanks between;
 * word2vec's first line, how many words and how many numbers each, may be there. The widths of all lines are
 * checked, the numbers of the words that come. ERR_BAD_FILE with file and line, also where no word has a
 * vector. */
enum err words_finish(struct words *w, const char *vectors_path, struct loaded *loaded,
                      struct fault *fault) MUST_CHECK;

#endif
