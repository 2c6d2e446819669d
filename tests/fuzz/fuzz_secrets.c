/* Files of secrets: a token's, a login link's, and PEM files. The first byte says which. No message may hold
 * what the file holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/log.h"
#include "common/crypto/certificate.h"
#include "common/crypto/token.h"
#include "server/api/login_code.h"
#include "server/store/records.h"
#include "tests/fuzz/fuzz.h"

static void prove_secret(const struct fuzz_input *in, const struct fault *fault)
{
    PROVE(in->left < 16 || !memmem(fault->detail, strlen(fault->detail), in->at, 16));
}

static void token(const struct fuzz_input *in)
{
    char text[600] = "", sha256[SHA256_HEX_SIZE];
    struct fault fault = FAULT_NONE;
    enum err e = token_file_read(fuzz_file(0, in->at, in->left), text, sizeof text, &fault);
    fuzz_prove_told(e, &fault);
    prove_secret(in, &fault);
    if (e)
        return;
    size_t n = strlen(text);
    PROVE(n >= 1 && n < sizeof text && !strpbrk(text, "\r\n"));
    PROVE(text[0] != ' ' && text[n - 1] != ' ');
    PROVE(!token_hash(text, sha256));
}

static void login(const struct fuzz_input *in)
{
    /* A code, and the name of the file that its SHA-256 gives. */
    static const char code[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    char folder[100], path[200], sha256[SHA256_HEX_SIZE];
    struct login_grant grant = {0};
    struct fault fault = FAULT_NONE;
    PROVE(!sha256_hex(code, strlen(code), sha256));
    (void)snprintf(folder, sizeof folder, "%s/login", fuzz_folder());
    (void)mkdir(folder, 0700);
    (void)snprintf(path, sizeof path, "%s/%s", folder, sha256);
    FILE *out = fopen(path, "we");
    PROVE(out && fwrite(in->at, 1, in->left, out) == in->left && fclose(out) == 0);
    enum err e = login_code_find(fuzz_folder(), code, 1000, &grant, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(!strstr(fault.detail, code) && !strstr(fault.detail, fuzz_folder()));
    if (!e) {
        PROVE(grant.expires_at > 1000 && grant.session_ms > 0 && id_is_valid(grant.token_id));
        PROVE(grant.role == ROLE_ADMIN || grant.role == ROLE_OPERATOR || grant.role == ROLE_VIEWER ||
              grant.role == ROLE_WORKER || grant.role == ROLE_ENROLLMENT);
    }
    (void)unlink(path);
}

static void pem(struct fuzz_input *in)
{
    struct certificate *c = NULL;
    struct fault fault = FAULT_NONE;
    struct fuzz_input cert = fuzz_until(in, "\n===\n");
    enum err e =
        certificate_read(fuzz_file(0, cert.at, cert.left), fuzz_file(1, in->at, in->left), &c, &fault);
    fuzz_prove_told(e, &fault);
    prove_secret(in, &fault);
    certificate_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    uint8_t which = fuzz_byte(&in);
    log_init(LOG_ERROR + 1, LOG_TEXT); /* a broken login link is logged */
    if (which % 3 == 0)
        token(&in);
    else if (which % 3 == 1)
        login(&in);
    else
        pem(&in);
    return 0;
}
