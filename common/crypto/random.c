#include "common/crypto/random.h"
#include <limits.h>
#include <openssl/rand.h>

enum err random_bytes(void *out, size_t n)
{
    unsigned char *p = out;
    while (n > 0) {
        int step = n > INT_MAX ? INT_MAX : (int)n;
        if (RAND_bytes(p, step) != 1)
            return ERR_INTERNAL;
        p += step;
        n -= (size_t)step;
    }
    return ERR_OK;
}

static enum err fill(void *ctx, void *out, size_t n)
{
    (void)ctx;
    return random_bytes(out, n);
}

struct entropy entropy_system(void)
{
    return (struct entropy){fill, NULL};
}
