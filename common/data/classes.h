/* What the labels of a source mean: the field "classes", and labels given as numbers or as texts. */
#ifndef FEDLANE_DATA_CLASSES_H
#define FEDLANE_DATA_CLASSES_H

#include <jansson.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/data/name_table.h"
#include "common/data/pool.h"

#define CLASSES_MAX 65536

struct classes {
    int64_t num_given;       /* 0: as many as the labels say */
    bool is_sentiment;       /* 0 and 1, and 4 is 1, as tweets are labelled in Sentiment140 */
    bool is_named;           /* the field has a list of names, so labels are these texts */
    struct name_table names; /* of the field, or the texts that came, in their order */
    int64_t most;            /* largest label so far, -1 at first */
    enum { CLASSES_UNDECIDED, CLASSES_NUMBERS, CLASSES_TEXTS } kind;
};

/* The field "data.classes": NULL, how many classes there are (1..CLASSES_MAX), or a list of their names. */
enum err classes_parse(const json_t *value, struct classes *out, struct fault *fault) MUST_CHECK;
void classes_release(struct classes *c);
/* Where the field says nothing: a label is negative, 0, or positive, 1 or 4. */
void classes_of_sentiment(struct classes *c);

/* A label as a class. In a text's case the first label decides whether labels are numbers or texts, unless
 * the classes are named. When the label is refused, *out_why (of `room` bytes) says what is wrong with it,
 * and the error is ERR_BAD_FILE; else ERR_NO_MEMORY. */
enum err class_of_number(struct classes *c, int64_t label, int32_t *out, char *out_why,
                         size_t room) MUST_CHECK;
enum err class_of_text(struct classes *c, const char *text, size_t len, int32_t *out, char *out_why,
                       size_t room) MUST_CHECK;

/* After the last label: sets num_classes of the pool. Texts that nobody named become classes in the order of
 * their bytes, and the pool's labels are changed to that. */
enum err classes_finish(struct classes *c, struct pool *pool, struct fault *fault) MUST_CHECK;

#endif
