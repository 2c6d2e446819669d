/* TLS of the listening side: certificates that can be changed while connections are open, and the check of
 * clients' certificates. By GnuTLS, which libmicrohttpd speaks TLS with. */
#ifndef FEDLANE_HTTPD_TLS_H
#define FEDLANE_HTTPD_TLS_H

#include <gnutls/abstract.h>
#include <stdbool.h>
#include "common/base/err.h"
#include "server/httpd/httpd.h"

/* GnuTLS' priority string: TLS 1.2 and newer. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"

struct tls;

/* Copies the paths and reads the files. ERR_USAGE for files that cannot be read, are no certificates, or do
 * not belong together; the fault names the file and says what is wrong. ERR_NO_MEMORY. */
enum err tls_new(const struct httpd_tls *files, struct tls **out, struct fault *fault) MUST_CHECK;
void tls_free(struct tls *t); /* after the last handshake */

/* Reads the files anew: the next handshakes use them, open connections go on as they are. Any thread. On an
 * error (those of tls_new) everything stays as it was. */
enum err tls_reload(struct tls *t, struct fault *fault) MUST_CHECK;

/* PEM text for MHD_OPTION_HTTPS_MEM_TRUST, as it was at the start; NULL: clients need no certificate. */
const char *tls_client_ca(const struct tls *t);
/* Did the client show a certificate that one of today's authorities signed for clients, and that is valid
 * now? True where none is asked for. */
bool tls_client_is_trusted(struct tls *t, gnutls_session_t session);

/* Bytes that were decrypted and that nobody has read yet. */
bool tls_has_unread(gnutls_session_t session);

/* libmicrohttpd's certificate callback has no argument of its own: handshakes of the thread that calls this
 * use `t`. */
void tls_use_in_this_thread(struct tls *t);
gnutls_certificate_retrieve_function2 tls_retrieve;

#endif
