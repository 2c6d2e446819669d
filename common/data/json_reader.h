/* JSON token by token (RFC 8259), for documents that are too large to hold. Strict: what is no JSON is
 * refused with its byte offset. */
#ifndef FEDLANE_DATA_JSON_READER_H
#define FEDLANE_DATA_JSON_READER_H

#include "common/data/text_file.h"

enum json_token {
    JSON_TOKEN_OBJECT,
    JSON_TOKEN_OBJECT_END,
    JSON_TOKEN_ARRAY,
    JSON_TOKEN_ARRAY_END,
    JSON_TOKEN_KEY, /* the colon behind it is read, too */
    JSON_TOKEN_TEXT,
    JSON_TOKEN_NUMBER,
    JSON_TOKEN_WORD, /* true, false or null */
    JSON_TOKEN_END   /* of the document; nothing follows it */
};

struct json_reader {
    struct text_file file;
    enum json_token token;
    uint64_t offset;  /* where the token begins */
    const char *text; /* of a key, a text (both unescaped), a number or a word: valid until the next call */
    size_t len;
    int depth;
    uint64_t objects; /* bit d: the container at depth d is an object */
    int state;        /* what may come next: private */
};

enum err json_open(const char *path, const char *field, struct json_reader *out,
                   struct fault *fault) MUST_CHECK;
enum err json_next(struct json_reader *r, struct fault *fault) MUST_CHECK;
/* After a key, or where an element may come: passes over one value. */
enum err json_skip(struct json_reader *r, struct fault *fault) MUST_CHECK;
void json_close(struct json_reader *r);             /* also of a zeroed one */
const char *json_token_name(enum json_token token); /* "an object", "a number" */

#endif
