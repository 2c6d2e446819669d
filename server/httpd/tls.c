#include "server/httpd/tls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/log.h"

#define MAX_CHAIN   8
#define KEY_ID_SIZE 64

/* The files as they were at one time. A handshake may hold one for as long as it takes, so all are kept until
 * the end: they are small, and renewed a few times a year. */
struct generation {
    struct generation *older;
    gnutls_pcert_st certs[MAX_CHAIN];
    unsigned num_certs;
    gnutls_privkey_t key;
    gnutls_x509_trust_list_t clients;
};

struct tls {
    char *cert, *key, *client_ca; /* paths */
    struct buf client_ca_text;
    pthread_mutex_t reloading;
    _Atomic(struct generation *) now;
};

static _Thread_local struct tls *in_this_thread;

/* What is read on the way to a generation. */
struct reading {
    struct buf cert, key, client_ca;
    gnutls_x509_crt_t *chain;
    unsigned num_chain;
    gnutls_x509_privkey_t key_object;
};

static gnutls_datum_t datum_of(const struct buf *b)
{
    return (gnutls_datum_t){.data = (unsigned char *)b->data, .size = (unsigned)b->len};
}

static enum err refuse(struct fault *fault, const char *field, const char *path, const char *what, int rc)
{
    if (rc == GNUTLS_E_MEMORY_ERROR)
        return fault_set(fault, ERR_NO_MEMORY, field, "there is not enough memory for %.200s", path);
    return fault_set(fault, ERR_USAGE, field, "%.200s %s%s%s", path, what, rc ? ": " : "",
                     rc ? gnutls_strerror(rc) : "");
}

static enum err read_file(const char *path, const char *field, struct buf *out, struct fault *fault)
{
    struct fault why = FAULT_NONE;
    enum err e = file_read(path, out, &why);
    if (e == ERR_OK)
        return ERR_OK;
    return fault_set(fault, e == ERR_NO_MEMORY ? e : ERR_USAGE, field, "--%s: %.400s", field, why.detail);
}

static bool belong_together(const struct reading *r)
{
    unsigned char of_cert[KEY_ID_SIZE], of_key[KEY_ID_SIZE];
    size_t n = sizeof of_cert, m = sizeof of_key;
    return gnutls_x509_crt_get_key_id(r->chain[0], GNUTLS_KEYID_USE_SHA256, of_cert, &n) == 0 &&
           gnutls_x509_privkey_get_key_id(r->key_object, GNUTLS_KEYID_USE_SHA256, of_key, &m) == 0 &&
           n == m && memcmp(of_cert, of_key, n) == 0;
}

static void warn_of_dates(const struct tls *t, gnutls_x509_crt_t cert)
{
    time_t now = time(NULL);
    if (gnutls_x509_crt_get_expiration_time(cert) < now)
        log_warning("tls", "the certificate %s has expired: clients will refuse it", t->cert);
    else if (gnutls_x509_crt_get_activation_time(cert) > now)
        log_warning("tls", "the certificate %s is not valid yet: clients will refuse it", t->cert);
}

static enum err read_certificate(const struct tls *t, struct reading *r, struct fault *fault)
{
    enum err e = read_file(t->cert, "tls-cert", &r->cert, fault);
    if (e == ERR_OK)
        e = read_file(t->key, "tls-key", &r->key, fault);
    if (e != ERR_OK)
        return e;
    gnutls_datum_t cert = datum_of(&r->cert), key = datum_of(&r->key);
    int rc = gnutls_x509_crt_list_import2(&r->chain, &r->num_chain, &cert, GNUTLS_X509_FMT_PEM, 0);
    if (rc < 0)
        return refuse(fault, "tls-cert", t->cert, "holds no certificate in PEM form", rc);
    if (r->num_chain == 0 || r->num_chain > MAX_CHAIN)
        return refuse(fault, "tls-cert", t->cert, "holds more certificates than a chain may have, 8", 0);
    if ((rc = gnutls_x509_privkey_init(&r->key_object)) == 0)
        rc = gnutls_x509_privkey_import2(r->key_object, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (rc < 0)
        return refuse(fault, "tls-key", t->key, "holds no private key in PEM form without a password", rc);
    if (!belong_together(r))
        return fault_set(fault, ERR_USAGE, "tls-key",
                         "%.200s is not the key of the first certificate in %.200s", t->key, t->cert);
    return ERR_OK;
}

static void generation_free(struct generation *g)
{
    for (unsigned i = 0; i < g->num_certs; i++)
        gnutls_pcert_deinit(&g->certs[i]);
    if (g->key)
        gnutls_privkey_deinit(g->key);
    if (g->clients)
        gnutls_x509_trust_list_deinit(g->clients, 1);
    free(g);
}

static enum err trust_clients(const struct tls *t, struct generation *g, const struct buf *text,
                              struct fault *fault)
{
    gnutls_datum_t authorities = datum_of(text);
    int rc = gnutls_x509_trust_list_init(&g->clients, 0);
    if (rc == 0)
        rc = gnutls_x509_trust_list_add_trust_mem(g->clients, &authorities, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
    if (rc <= 0)
        return refuse(fault, "client-ca", t->client_ca, "holds no certificate in PEM form", rc);
    return ERR_OK;
}

static enum err generation_fill(const struct tls *t, struct reading *r, struct generation *g,
                                struct fault *fault)
{
    int rc = 0;
    for (; g->num_certs < r->num_chain; g->num_certs++)
        if ((rc = gnutls_pcert_import_x509(&g->certs[g->num_certs], r->chain[g->num_certs], 0)) < 0)
            return refuse(fault, "tls-cert", t->cert, "cannot be used", rc);
    if ((rc = gnutls_privkey_init(&g->key)) == 0)
        rc = gnutls_privkey_import_x509(g->key, r->key_object, GNUTLS_PRIVKEY_IMPORT_COPY);
    if (rc < 0)
        return refuse(fault, "tls-key", t->key, "cannot be used", rc);
    return t->client_ca ? trust_clients(t, g, &r->client_ca, fault) : ERR_OK;
}

static enum err generation_read(struct tls *t, struct reading *r, struct fault *fault)
{
    enum err e = read_certificate(t, r, fault);
    if (e == ERR_OK && t->client_ca)
        e = read_file(t->client_ca, "client-ca", &r->client_ca, fault);
    if (e != ERR_OK)
        return e;
    struct generation *g = calloc(1, sizeof *g);
    if (!g)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "there is not enough memory for the certificates");
    if ((e = generation_fill(t, r, g, fault)) != ERR_OK) {
        generation_free(g);
        return e;
    }
    warn_of_dates(t, r->chain[0]);
    g->older = atomic_load(&t->now);
    atomic_store(&t->now, g);
    return ERR_OK;
}

/* The keeper, if given, gets the text of the clients' authorities. */
static enum err load(struct tls *t, struct buf *keep_client_ca, struct fault *fault)
{
    struct reading r = {.cert = BUF_INIT(MIB), .key = BUF_INIT(MIB), .client_ca = BUF_INIT(4 * MIB)};
    (void)pthread_mutex_lock(&t->reloading);
    enum err e = generation_read(t, &r, fault);
    (void)pthread_mutex_unlock(&t->reloading);
    if (e == ERR_OK && keep_client_ca) {
        *keep_client_ca = r.client_ca;
        r.client_ca = BUF_INIT(0);
    }
    for (unsigned i = 0; i < r.num_chain; i++)
        gnutls_x509_crt_deinit(r.chain[i]);
    gnutls_free(r.chain);
    if (r.key_object)
        gnutls_x509_privkey_deinit(r.key_object);
    if (r.key.data)
        gnutls_memset(r.key.data, 0, r.key.len);
    buf_release(&r.cert);
    buf_release(&r.key);
    buf_release(&r.client_ca);
    return e;
}

static bool copy_path(const char *path, char **out)
{
    *out = path ? strdup(path) : NULL;
    return *out || !path;
}

enum err tls_new(const struct httpd_tls *files, struct tls **out, struct fault *fault)
{
    struct tls *t = calloc(1, sizeof *t);
    if (!t)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "there is not enough memory for TLS");
    (void)pthread_mutex_init(&t->reloading, NULL);
    bool is_copied = copy_path(files->cert, &t->cert) && copy_path(files->key, &t->key) &&
                     copy_path(files->client_ca, &t->client_ca);
    enum err e = is_copied ? load(t, &t->client_ca_text, fault)
                           : fault_set(fault, ERR_NO_MEMORY, NULL, "there is not enough memory for TLS");
    if (e != ERR_OK)
        tls_free(t);
    else
        *out = t;
    return e;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    for (struct generation *g = atomic_load(&t->now), *older; g; g = older) {
        older = g->older;
        generation_free(g);
    }
    (void)pthread_mutex_destroy(&t->reloading);
    buf_release(&t->client_ca_text);
    free(t->cert);
    free(t->key);
    free(t->client_ca);
    free(t);
}

enum err tls_reload(struct tls *t, struct fault *fault)
{
    return load(t, NULL, fault);
}

const char *tls_client_ca(const struct tls *t)
{
    return t->client_ca ? t->client_ca_text.data : NULL;
}

bool tls_has_unread(gnutls_session_t session)
{
    return gnutls_record_check_pending(session) > 0;
}

bool tls_client_is_trusted(struct tls *t, gnutls_session_t session)
{
    const struct generation *g = atomic_load(&t->now);
    gnutls_x509_crt_t chain[MAX_CHAIN];
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
    unsigned num_shown = 0, n = 0, faults = 1;
    if (!g->clients)
        return true;
    const gnutls_datum_t *shown = gnutls_certificate_get_peers(session, &num_shown);
    if (!shown || num_shown == 0 || num_shown > MAX_CHAIN)
        return false;
    int rc = 0;
    for (; n < num_shown && rc == 0; n++) {
        if ((rc = gnutls_x509_crt_init(&chain[n])) < 0)
            break;
        rc = gnutls_x509_crt_import(chain[n], &shown[n], GNUTLS_X509_FMT_DER);
    }
    if (rc == 0)
        rc = gnutls_x509_trust_list_verify_crt2(g->clients, chain, n, &purpose, 1, 0, &faults, NULL);
    while (n > 0)
        gnutls_x509_crt_deinit(chain[--n]);
    return rc == 0 && faults == 0;
}

void tls_use_in_this_thread(struct tls *t)
{
    in_this_thread = t;
}

int tls_retrieve(gnutls_session_t session, const gnutls_datum_t *authorities, int num_authorities,
                 const gnutls_pk_algorithm_t *algorithms, int num_algorithms, gnutls_pcert_st **out_certs,
                 unsigned *out_num_certs, gnutls_privkey_t *out_key)
{
    (void)session;
    (void)authorities;
    (void)num_authorities;
    (void)algorithms;
    (void)num_algorithms;
    struct generation *g = atomic_load(&in_this_thread->now);
    *out_certs = g->certs;
    *out_num_certs = g->num_certs;
    *out_key = g->key;
    return 0;
}
