#include "common/data/token_list.h"

#include <stdlib.h>
#include "common/base/limits.h"

#define FIRST_ROOM 4096

static unsigned width_of(uint32_t token)
{
    return token <= UINT8_MAX ? 1 : token <= UINT16_MAX ? 2 : 4;
}

void token_list_set(struct token_list *l, size_t i, uint32_t token)
{
    if (i >= l->count || width_of(token) > l->width)
        bug("token %lu at %zu of %zu of %u bytes", (unsigned long)token, i, l->count, l->width);
    if (l->width == 1)
        ((uint8_t *)l->tokens)[i] = (uint8_t)token;
    else if (l->width == 2)
        ((uint16_t *)l->tokens)[i] = (uint16_t)token;
    else
        ((uint32_t *)l->tokens)[i] = token;
}

static enum err resize(struct token_list *l, size_t room, unsigned width, const char *field,
                       struct fault *fault)
{
    if (room > LIMIT_DATA_POOL / width)
        return fault_set(fault, ERR_INVALID_FIELD, field,
                         "more than the %zu GiB of text that one data set holds: use smaller files",
                         LIMIT_DATA_POOL / GIB);
    void *tokens = realloc(l->tokens, room * width);
    if (!tokens)
        return fault_set(fault, ERR_NO_MEMORY, field, "no memory for a text of %zu tokens (%zu MiB)", room,
                         room * width / MIB);
    l->tokens = tokens;
    l->room = room;
    return ERR_OK;
}

/* From the back, where nothing is overwritten that is still to be read. */
static enum err widen(struct token_list *l, unsigned width, const char *field, struct fault *fault)
{
    const enum err err = resize(l, l->room ? l->room : FIRST_ROOM, width, field, fault);
    if (err != ERR_OK)
        return err;
    const struct token_list narrow = {.tokens = l->tokens, .width = l->width};
    l->width = width;
    for (size_t i = l->count; i > 0; i--)
        token_list_set(l, i - 1, token_at(&narrow, i - 1));
    return ERR_OK;
}

enum err token_list_put(struct token_list *l, uint32_t token, const char *field, struct fault *fault)
{
    enum err err = ERR_OK;
    if (width_of(token) > l->width)
        err = widen(l, width_of(token), field, fault);
    if (err == ERR_OK && l->count == l->room)
        err = resize(l, l->room + l->room / 2, l->width, field, fault);
    if (err == ERR_OK)
        token_list_set(l, l->count++, token);
    return err;
}

void token_list_shrink(struct token_list *l)
{
    void *tokens = l->count > 0 ? realloc(l->tokens, l->count * l->width) : NULL;
    if (!tokens)
        return; /* it is then just larger */
    l->tokens = tokens;
    l->room = l->count;
}

void token_list_release(struct token_list *l)
{
    free(l->tokens);
    *l = (struct token_list){0};
}
