#include "common/base/ids.h"
#include <string.h>
#include "common/base/str.h"

enum err id_new(const struct entropy *e, int64_t now_ms, char out[ID_SIZE])
{
    uint8_t bytes[16];
    enum err err = e->fill(e->ctx, bytes + 6, sizeof bytes - 6);
    if (err)
        return err;
    for (int i = 0; i < 6; i++)
        bytes[i] = (uint8_t)((uint64_t)now_ms >> (40 - 8 * i));
    bytes[6] = (uint8_t)((bytes[6] & 0x0F) | 0x70); /* version 7 */
    bytes[8] = (uint8_t)((bytes[8] & 0x3F) | 0x80); /* RFC 9562's variant */
    hex_encode(bytes, sizeof bytes, out);
    return ERR_OK;
}

bool id_is_valid(const char *text)
{
    uint8_t bytes[16];
    return text && hex_decode(text, bytes, sizeof bytes) == ERR_OK;
}
