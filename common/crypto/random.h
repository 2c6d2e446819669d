/* Random bytes by libcrypto. */
#ifndef FEDLANE_CRYPTO_RANDOM_H
#define FEDLANE_CRYPTO_RANDOM_H

#include <stddef.h>
#include "common/base/err.h"
#include "common/base/ids.h"

enum err random_bytes(void *out, size_t n) MUST_CHECK;
struct entropy entropy_system(void);

#endif
