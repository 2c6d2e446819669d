/* Tokens one after another, each in as many bytes as the largest of them needs: a text of 4 million
 * characters of 80 kinds takes 4 MB. */
#ifndef FEDLANE_DATA_TOKEN_LIST_H
#define FEDLANE_DATA_TOKEN_LIST_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct token_list {
    void *tokens; /* [room] of them */
    size_t count, room;
    unsigned width; /* bytes of a token: 1, 2 or 4; 0 while there is none */
};

/* ERR_NO_MEMORY, ERR_INVALID_FIELD past LIMIT_DATA_POOL bytes; the fault names `field`. */
enum err token_list_put(struct token_list *l, uint32_t token, const char *field,
                        struct fault *fault) MUST_CHECK;
/* Instead of a token that is at least as wide. */
void token_list_set(struct token_list *l, size_t i, uint32_t token);
/* Gives back the room that is not needed. */
void token_list_shrink(struct token_list *l);
void token_list_release(struct token_list *l); /* also of a zeroed one */

static inline uint32_t token_at(const struct token_list *l, size_t i)
{
    return l->width == 1   ? ((const uint8_t *)l->tokens)[i]
           : l->width == 2 ? ((const uint16_t *)l->tokens)[i]
                           : ((const uint32_t *)l->tokens)[i];
}

#endif
