#include "common/base/ids.h"
#include <string.h>
#include "common/base/str.h"

static enum err draw(const struct entropy *e, int64_t now_ms, uint8_t bytes[16])
{
    enum err err = e->fill(e->ctx, bytes + 6, 10);
    if (err)
        return err;
    for (int i = 0; i < 6; i++)
        bytes[i] = (uint8_t)((uint64_t)now_ms >> (40 - 8 * i));
    bytes[6] = (uint8_t)((bytes[6] & 0x0F) | 0x70); /* version 7 */
    bytes[8] = (uint8_t)((bytes[8] & 0x3F) | 0x80); /* RFC 9562's variant */
    return ERR_OK;
}

enum err id_new(const struct entropy *e, int64_t now_ms, char out[ID_SIZE])
{
    uint8_t bytes[16];
    enum err err = draw(e, now_ms, bytes);
    if (!err)
        hex_encode(bytes, sizeof bytes, out);
    return err;
}

/* The seven bytes behind the variant count. False: they are all used up. */
static bool count_up(uint8_t bytes[16])
{
    for (size_t i = 15; i >= 9; i--)
        if (++bytes[i])
            return true;
    return false;
}

enum err id_next(struct id_sequence *s, const struct entropy *e, int64_t now_ms, char out[ID_SIZE])
{
    if (!s->ms || now_ms != s->ms || !count_up(s->last)) {
        s->ms = 0;
        enum err err = draw(e, now_ms, s->last);
        if (err)
            return err;
        s->ms = now_ms;
    }
    hex_encode(s->last, sizeof s->last, out);
    return ERR_OK;
}

bool id_is_valid(const char *text)
{
    uint8_t bytes[16];
    return text && hex_decode(text, bytes, sizeof bytes) == ERR_OK;
}
