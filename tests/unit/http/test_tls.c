#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common/http/http.h"
#include "tests/support/unit.h"

/* A server with a self-signed certificate for 127.0.0.1, which serves one connection after the other. */
struct tls_server {
    SSL_CTX *ctx;
    int listener;
    pthread_t thread;
    char address[32];  /* "127.0.0.1:PORT" */
    char ca_file[64];  /* its certificate */
    char request[256]; /* how the last request began; the thread's until server_end */
    bool is_running;
};

/* When its certificate is valid, in seconds from now. */
static struct {
    long from, until;
} valid;

static X509 *certificate_new(EVP_PKEY *key)
{
    X509 *cert = X509_new();
    X509V3_CTX v3;
    ck_assert_ptr_nonnull(cert);
    ck_assert_int_eq(X509_set_version(cert, 2), 1);
    ck_assert_int_eq(ASN1_INTEGER_set(X509_get_serialNumber(cert), 1), 1);
    ck_assert_ptr_nonnull(X509_gmtime_adj(X509_getm_notBefore(cert), valid.from));
    ck_assert_ptr_nonnull(X509_gmtime_adj(X509_getm_notAfter(cert), valid.until));
    ck_assert_int_eq(X509_set_pubkey(cert, key), 1);
    X509_NAME *name = X509_get_subject_name(cert);
    ck_assert_int_eq(
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0), 1);
    ck_assert_int_eq(X509_set_issuer_name(cert, name), 1);
    X509V3_set_ctx_nodb(&v3);
    X509V3_set_ctx(&v3, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, &v3, NID_subject_alt_name, "IP:127.0.0.1");
    ck_assert_ptr_nonnull(names);
    ck_assert_int_eq(X509_add_ext(cert, names, -1), 1);
    X509_EXTENSION_free(names);
    ck_assert_int_gt(X509_sign(cert, key, EVP_sha256()), 0);
    return cert;
}

static void certificate_set_up(struct tls_server *s)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    ck_assert_ptr_nonnull(key);
    X509 *cert = certificate_new(key);
    s->ctx = SSL_CTX_new(TLS_server_method());
    ck_assert_ptr_nonnull(s->ctx);
    ck_assert_int_eq(SSL_CTX_use_certificate(s->ctx, cert), 1);
    ck_assert_int_eq(SSL_CTX_use_PrivateKey(s->ctx, key), 1);
    (void)snprintf(s->ca_file, sizeof s->ca_file, "/tmp/fedlane-test-ca-XXXXXX");
    FILE *file = fdopen(mkstemp(s->ca_file), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(PEM_write_X509(file, cert), 1);
    ck_assert_int_eq(fclose(file), 0);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void answer(struct tls_server *s, SSL *ssl)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret";
    int n = SSL_accept(ssl) == 1 ? SSL_read(ssl, s->request, (int)sizeof s->request - 1) : 0;
    s->request[n > 0 ? n : 0] = '\0';
    if (n > 0) {
        (void)SSL_write(ssl, reply, (int)sizeof reply - 1);
        (void)SSL_shutdown(ssl);
    }
}

static void *serve(void *arg)
{
    struct tls_server *s = arg;
    for (int fd; (fd = accept(s->listener, NULL, NULL)) >= 0;) {
        SSL *ssl = SSL_new(s->ctx);
        if (!ssl || SSL_set_fd(ssl, fd) != 1)
            abort();
        answer(s, ssl);
        SSL_free(ssl);
        (void)shutdown(fd, SHUT_RDWR);
        (void)close(fd);
    }
    return NULL;
}

static struct tls_server server;

static void start(long valid_from, long valid_until)
{
    valid.from = valid_from;
    valid.until = valid_until;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    (void)signal(SIGPIPE, SIG_IGN);
    certificate_set_up(&server);
    server.listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(server.listener, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(listen(server.listener, 8), 0);
    ck_assert_int_eq(getsockname(server.listener, (struct sockaddr *)&at, &size), 0);
    (void)snprintf(server.address, sizeof server.address, "127.0.0.1:%d", ntohs(at.sin_port));
    ck_assert_int_eq(pthread_create(&server.thread, NULL, serve, &server), 0);
    server.is_running = true;
}

static void setup(void)
{
    start(-3600, 3600);
}

/* The connection that is being served comes to its end. */
static void server_end(void)
{
    if (!server.is_running)
        return;
    (void)shutdown(server.listener, SHUT_RDWR);
    ck_assert_int_eq(pthread_join(server.thread, NULL), 0);
    server.is_running = false;
}

static void teardown(void)
{
    server_end();
    (void)close(server.listener);
    (void)unlink(server.ca_file);
    SSL_CTX_free(server.ctx);
}

static enum err get(const char *scheme, const char *ca_file, struct fault *fault)
{
    char url[64];
    (void)snprintf(url, sizeof url, "%s://%s", scheme, server.address);
    struct http_config config = {.base_url = url, .token = "t", .ca_file = ca_file};
    struct http_request request = {.path = "/x", .timeout_ms = 20000};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct http_client *c = NULL;
    ck_assert_msg(http_client_new(&config, &c, fault) == ERR_OK, "%s", fault->detail);
    enum err e = http_request(c, &request, &response, fault);
    if (!e)
        ck_assert_str_eq(response.body.data, "secret");
    http_response_release(&response);
    http_client_free(c);
    return e;
}

START_TEST(test_trusted)
{
    struct fault fault = FAULT_NONE;
    ck_assert_msg(get("https", server.ca_file, &fault) == ERR_OK, "%s", fault.detail);
    server_end();
    ck_assert_ptr_nonnull(strstr(server.request, "Authorization: Bearer t\r\n"));
}
END_TEST

START_TEST(test_not_trusted)
{
    struct fault fault = FAULT_NONE;
    char line[128];
    ck_assert_int_eq(get("https", NULL, &fault), ERR_NETWORK);
    (void)snprintf(line, sizeof line, "curl --cacert ca.pem https://%s/healthz", server.address);
    ck_assert_msg(strstr(fault.detail, line) != NULL, "%s", fault.detail);
    server_end();
    ck_assert_str_eq(server.request, ""); /* and so no token */
}
END_TEST

START_TEST(test_bad_ca_file)
{
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(get("https", "/dev/null", &fault), ERR_NETWORK);
    ck_assert_msg(strstr(fault.detail, "curl --cacert /dev/null https://") != NULL, "%s", fault.detail);
}
END_TEST

START_TEST(test_plain_http_to_a_tls_server)
{
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(get("http", NULL, &fault), ERR_NETWORK);
    char line[128];
    (void)snprintf(line, sizeof line, "curl --cacert ca.pem https://%s/healthz", server.address);
    ck_assert_msg(strstr(fault.detail, line) != NULL, "%s", fault.detail);
}
END_TEST

/* One of the two clocks is wrong, or nobody has renewed it. */
START_TEST(test_out_of_its_time)
{
    static const long times[][2] = {{-7200, -3600}, {3600, 7200}};
    static const char *const said[] = {"expired", "not yet valid"};
    struct fault fault = FAULT_NONE;
    char line[160];
    teardown();
    start(times[_i][0], times[_i][1]);
    ck_assert_int_eq(get("https", server.ca_file, &fault), ERR_NETWORK);
    ck_assert_msg(strstr(fault.detail, said[_i]) && strstr(fault.detail, "clock"), "%s", fault.detail);
    (void)snprintf(line, sizeof line, "curl --cacert %s https://%s/healthz", server.ca_file, server.address);
    ck_assert_msg(strstr(fault.detail, line) != NULL, "%s", fault.detail);
    server_end();
    ck_assert_str_eq(server.request, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tls");
    TCase *tc = unit_case("tls");
    (void)unsetenv("https_proxy");
    (void)unsetenv("all_proxy");
    (void)unsetenv("ALL_PROXY");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_trusted);
    tcase_add_test(tc, test_not_trusted);
    tcase_add_test(tc, test_bad_ca_file);
    tcase_add_test(tc, test_plain_http_to_a_tls_server);
    tcase_add_loop_test(tc, test_out_of_its_time, 0, 2);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
