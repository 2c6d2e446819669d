#include "common/crypto/certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SERIAL_BITS    127
#define NAME_MAX_BYTES 64 /* RFC 5280's ub-common-name */

struct certificate {
    X509 *x509;
    EVP_PKEY *key;
};

static enum err failed(struct fault *fault)
{
    return fault_set(fault, ERR_INTERNAL, NULL, "libcrypto could not make a certificate");
}

static bool set_serial(X509 *x)
{
    BIGNUM *number = BN_new();
    bool is_done = number && BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) &&
                   BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x));
    BN_free(number);
    return is_done;
}

static bool set_names(X509 *x, const struct certificate_wish *wish, const struct certificate *authority)
{
    X509_NAME *name = X509_get_subject_name(x);
    return X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8, (const unsigned char *)wish->name,
                                      -1, -1, 0) &&
           X509_set_issuer_name(x, authority ? X509_get_subject_name(authority->x509) : name);
}

static bool set_dates(X509 *x, int64_t days)
{
    return X509_gmtime_adj(X509_getm_notBefore(x), -3600) &&
           X509_time_adj_ex(X509_getm_notAfter(x), (int)days, 0, NULL);
}

static bool add_extension(X509 *x, X509V3_CTX *ctx, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, ctx, nid, value);
    bool is_added = extension && X509_add_ext(x, extension, -1);
    X509_EXTENSION_free(extension);
    return is_added;
}

static bool add_uses(X509 *x, const struct certificate_wish *wish, const struct certificate *authority)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, authority ? authority->x509 : x, x, NULL, NULL, 0);
    bool is_authority = wish->use == CERTIFICATE_AUTHORITY;
    bool is_added =
        add_extension(x, &ctx, NID_basic_constraints,
                      is_authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
        add_extension(x, &ctx, NID_key_usage,
                      is_authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
        add_extension(x, &ctx, NID_subject_key_identifier, "hash") &&
        add_extension(x, &ctx, NID_authority_key_identifier, "keyid");
    if (is_added && !is_authority)
        is_added = add_extension(x, &ctx, NID_ext_key_usage,
                                 wish->use == CERTIFICATE_SERVER ? "serverAuth" : "clientAuth");
    return is_added;
}

static bool is_dns_name(const char *host)
{
    size_t n = strlen(host);
    return n > 0 && n <= 253 &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._*") == n;
}

static GENERAL_NAME *host_name(const char *host)
{
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
    if (!address && !is_dns_name(host))
        return NULL;
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_IA5STRING *text = address ? NULL : ASN1_IA5STRING_new();
    if (!name || (!address && (!text || !ASN1_STRING_set(text, host, -1)))) {
        GENERAL_NAME_free(name);
        ASN1_OCTET_STRING_free(address);
        ASN1_IA5STRING_free(text);
        return NULL;
    }
    GENERAL_NAME_set0_value(name, address ? GEN_IPADD : GEN_DNS, address ? (void *)address : (void *)text);
    return name;
}

static enum err add_hosts(X509 *x, const struct certificate_wish *wish, struct fault *fault)
{
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    enum err e = names ? ERR_OK : failed(fault);
    for (size_t i = 0; i < wish->num_hosts && e == ERR_OK; i++) {
        GENERAL_NAME *name = host_name(wish->hosts[i]);
        if (!name)
            e = fault_set(fault, ERR_USAGE, "hosts",
                          "\"%.100s\" is neither the name of a host nor a numeric address", wish->hosts[i]);
        else if (!sk_GENERAL_NAME_push(names, name)) {
            GENERAL_NAME_free(name);
            e = failed(fault);
        }
    }
    if (e == ERR_OK && X509_add1_ext_i2d(x, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) != 1)
        e = failed(fault);
    GENERAL_NAMES_free(names);
    return e;
}

static enum err fill(struct certificate *c, const struct certificate_wish *wish,
                     const struct certificate *authority, struct fault *fault)
{
    c->key = EVP_EC_gen("P-256");
    c->x509 = X509_new();
    if (!c->key || !c->x509 || !X509_set_version(c->x509, X509_VERSION_3) || !set_serial(c->x509) ||
        !set_names(c->x509, wish, authority) || !set_dates(c->x509, wish->days) ||
        !X509_set_pubkey(c->x509, c->key) || !add_uses(c->x509, wish, authority))
        return failed(fault);
    enum err e = wish->num_hosts ? add_hosts(c->x509, wish, fault) : ERR_OK;
    if (e == ERR_OK && !X509_sign(c->x509, authority ? authority->key : c->key, EVP_sha256()))
        e = failed(fault);
    return e;
}

enum err certificate_make(const struct certificate_wish *wish, const struct certificate *authority,
                          struct certificate **out, struct fault *fault)
{
    size_t n = strlen(wish->name);
    if (n == 0 || n > NAME_MAX_BYTES)
        return fault_set(fault, ERR_USAGE, "name", "a certificate's name has 1 to %d bytes", NAME_MAX_BYTES);
    struct certificate *c = calloc(1, sizeof *c);
    enum err e = c ? fill(c, wish, authority, fault) : failed(fault);
    if (e == ERR_OK)
        *out = c;
    else
        certificate_free(c);
    return e;
}

void certificate_free(struct certificate *c)
{
    if (!c)
        return;
    X509_free(c->x509);
    EVP_PKEY_free(c->key);
    free(c);
}

static enum err cannot(struct fault *fault, const char *what, const char *path, int error)
{
    return fault_set(fault, error == EEXIST ? ERR_CONFLICT : ERR_IO, NULL, "cannot %s %.300s: %s", what, path,
                     strerror(error));
}

/* NULL: it cannot be made, *out_err says why. */
static FILE *create(const char *path, mode_t mode, enum err *out_err, struct fault *fault)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    int error = errno;
    if (f)
        return f;
    if (fd >= 0)
        (void)close(fd);
    *out_err = cannot(fault, "make", path, error);
    return NULL;
}

static enum err finish(FILE *f, bool is_written, const char *path, struct fault *fault)
{
    bool is_safe = is_written && fflush(f) == 0 && fsync(fileno(f)) == 0;
    int error = errno;
    if (fclose(f) != 0 && is_safe) {
        is_safe = false;
        error = errno;
    }
    return is_safe ? ERR_OK : cannot(fault, "write", path, error);
}

static enum err write_certificate(const struct certificate *c, const char *path, struct fault *fault)
{
    enum err e = ERR_OK;
    FILE *f = create(path, 0644, &e, fault);
    if (!f)
        return e;
    e = finish(f, PEM_write_X509(f, c->x509) == 1, path, fault);
    if (e != ERR_OK)
        (void)unlink(path);
    return e;
}

static enum err write_key(const struct certificate *c, const char *path, struct fault *fault)
{
    enum err e = ERR_OK;
    FILE *f = create(path, 0600, &e, fault);
    if (!f)
        return e;
    e = finish(f, PEM_write_PrivateKey(f, c->key, NULL, NULL, 0, NULL, NULL) == 1, path, fault);
    if (e != ERR_OK)
        (void)unlink(path);
    return e;
}

enum err certificate_write(const struct certificate *c, const char *cert_path, const char *key_path,
                           struct fault *fault)
{
    enum err e = write_certificate(c, cert_path, fault);
    if (e == ERR_OK && (e = write_key(c, key_path, fault)) != ERR_OK)
        (void)unlink(cert_path);
    return e;
}

/* Instead of asking at the terminal. */
static int no_password(char *out, int size, int is_writing, void *ctx)
{
    (void)out;
    (void)size;
    (void)is_writing;
    (void)ctx;
    return -1;
}

static enum err unreadable(struct fault *fault, const char *path, const char *what, int error)
{
    return fault_set(fault, ERR_USAGE, NULL, "%.300s: %s", path, error ? strerror(error) : what);
}

static enum err read_pair(const char *cert_path, const char *key_path, struct certificate *c,
                          struct fault *fault)
{
    FILE *f = fopen(cert_path, "re");
    if (!f)
        return unreadable(fault, cert_path, NULL, errno);
    c->x509 = PEM_read_X509(f, NULL, no_password, NULL);
    (void)fclose(f);
    if (!c->x509)
        return unreadable(fault, cert_path, "holds no certificate in PEM form", 0);
    f = fopen(key_path, "re");
    if (!f)
        return unreadable(fault, key_path, NULL, errno);
    c->key = PEM_read_PrivateKey(f, NULL, no_password, NULL);
    (void)fclose(f);
    if (!c->key)
        return unreadable(fault, key_path, "holds no private key in PEM form without a password", 0);
    if (X509_check_private_key(c->x509, c->key) != 1)
        return unreadable(fault, key_path, "is the key of another certificate", 0);
    return ERR_OK;
}

enum err certificate_read(const char *cert_path, const char *key_path, struct certificate **out,
                          struct fault *fault)
{
    struct certificate *c = calloc(1, sizeof *c);
    enum err e = c ? read_pair(cert_path, key_path, c, fault) : failed(fault);
    if (e == ERR_OK)
        *out = c;
    else
        certificate_free(c);
    return e;
}
