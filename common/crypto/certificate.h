/* X.509 certificates of one's own authority, for closed installations and tests, by libcrypto: ECDSA over
 * P-256 with SHA-256 (RFC 5280). */
#ifndef FEDLANE_CRYPTO_CERTIFICATE_H
#define FEDLANE_CRYPTO_CERTIFICATE_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

enum certificate_use {
    CERTIFICATE_AUTHORITY, /* signs others, nothing else */
    CERTIFICATE_SERVER,
    CERTIFICATE_CLIENT,
};

struct certificate_wish {
    enum certificate_use use;
    const char *name;         /* common name, at most 64 bytes */
    const char *const *hosts; /* subject alternative names: DNS names, and numeric IPv4 or IPv6 addresses */
    size_t num_hosts;
    int64_t days; /* valid from now (less an hour, for clocks that are behind) for so many */
};

struct certificate; /* with its private key */

/* Signed by `authority`, or by itself when that is NULL. ERR_USAGE: a name or host that no certificate can
 * hold; ERR_INTERNAL: libcrypto failed. */
enum err certificate_make(const struct certificate_wish *wish, const struct certificate *authority,
                          struct certificate **out, struct fault *fault) MUST_CHECK;
void certificate_free(struct certificate *c);

/* Two PEM files, the key's with mode 0600. Never over a file that is there (ERR_CONFLICT). ERR_IO; the fault
 * names the file. On an error neither file is left. */
enum err certificate_write(const struct certificate *c, const char *cert_path, const char *key_path,
                           struct fault *fault) MUST_CHECK;
/* ERR_USAGE: a file that cannot be read, or holds no such thing, or a key of another certificate. */
enum err certificate_read(const char *cert_path, const char *key_path, struct certificate **out,
                          struct fault *fault) MUST_CHECK;

#endif
