#include <stdio.h>
#include <string.h>
#include "common/base/str.h"
#include "common/http/http_impl.h"
#include "common/http/retry.h"

static void read_facts(struct http_call *call)
{
    struct http_response *r = &call->response;
    long status = 0;
    curl_off_t us = 0, sent = 0, received = 0, retry_after_s = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(call->easy, CURLINFO_TOTAL_TIME_T, &us);
    (void)curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    (void)curl_easy_getinfo(call->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    (void)curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    if (retry_after_s > RETRY_AFTER_CAP_MS / 1000)
        retry_after_s = RETRY_AFTER_CAP_MS / 1000;
    r->status = (int)status;
    r->duration_ms = us / 1000;
    r->bytes_sent = sent > 0 ? (uint64_t)sent : 0;
    r->bytes_received = received > 0 ? (uint64_t)received : 0;
    r->retry_after_ms = retry_after_s > 0 ? retry_after_s * 1000 : 0;
}

static enum err outcome_of_callback(struct http_call *call)
{
    const char *method = call->request.method;
    if (call->on_body_got_some)
        return fault_set(&call->fault, call->callback_err, NULL,
                         "%s %.200s: the reply was not taken to its end (%s)", method, call->url,
                         err_code(call->callback_err));
    if (call->callback_err == ERR_PAYLOAD_TOO_LARGE)
        return fault_set(&call->fault, ERR_PAYLOAD_TOO_LARGE, NULL,
                         "%s %.200s: the reply is larger than %zu bytes", method, call->url,
                         call->response.body.max);
    return fault_set(&call->fault, call->callback_err, NULL, "%s %.200s: not enough memory for the reply",
                     method, call->url);
}

static enum err outcome_of_connect(struct http_call *call, CURLcode rc)
{
    const char *base = call->client->base_url,
               *text = call->curl_text[0] ? call->curl_text : curl_easy_strerror(rc);
    long os_errno = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &os_errno);
    if (rc == CURLE_COULDNT_RESOLVE_HOST || rc == CURLE_COULDNT_RESOLVE_PROXY)
        return fault_set(&call->fault, ERR_NETWORK, NULL,
                         "cannot find the host of %.200s: %.120s; check the name and this machine's DNS",
                         base, text);
    return fault_set(
        &call->fault, ERR_NETWORK, NULL,
        "cannot connect to %.200s: %.120s; check that the server runs there and that address and port "
        "are right",
        base, os_errno ? strerror((int)os_errno) : text);
}

static enum err outcome_of_timeout(struct http_call *call)
{
    curl_off_t connect_us = 0;
    long num_connects = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_CONNECT_TIME_T, &connect_us);
    (void)curl_easy_getinfo(call->easy, CURLINFO_NUM_CONNECTS, &num_connects);
    if (connect_us == 0 && num_connects == 0)
        return fault_set(
            &call->fault, ERR_TIMEOUT, NULL,
            "cannot connect to %.200s in time: %.120s; check the address, and that no firewall drops it",
            call->client->base_url, call->curl_text);
    return fault_set(&call->fault, ERR_TIMEOUT, NULL,
                     "%s %.200s: no whole answer in time: %.120s; the server may be busy",
                     call->request.method, call->url, call->curl_text);
}

/* What curl must be told to get through, as far as is known here. */
static void curl_options(const struct http_client *c, bool needs_certificate, char *out, size_t size)
{
    const char *cert = c->cert_file ? c->cert_file : "client.pem";
    int n = snprintf(out, size, "--cacert %.80s", c->ca_file ? c->ca_file : "ca.pem");
    if (n > 0 && (size_t)n < size && (c->cert_file || needs_certificate))
        (void)snprintf(out + n, size - (size_t)n, " --cert %.80s --key %.80s", cert,
                       c->key_file    ? c->key_file
                       : c->cert_file ? cert
                                      : "client.key");
}

static enum err outcome_of_tls(struct http_call *call, CURLcode rc)
{
    const struct http_client *c = call->client;
    const char *text = call->curl_text[0] ? call->curl_text : curl_easy_strerror(rc);
    char options[300];
    const char *advice = "name the file of the certificate authority that signed the server's certificate";
    bool is_ours =
        strstr(text, "certificate required") || strstr(text, "unknown ca") || rc == CURLE_SSL_CERTPROBLEM;
    /* What a server without TLS does with the greeting: answers in clear, or hangs up. */
    if (strstr(text, "wrong version number") || strstr(text, "SSL_ERROR_SYSCALL") ||
        strstr(text, "unexpected eof"))
        return fault_set(
            &call->fault, ERR_NETWORK, NULL,
            "no TLS at %.200s: %.120s; if the server has no certificate, its address starts with http://, "
            "and this works: curl http%.80s/healthz",
            c->base_url, text, c->base_url + strlen("https"));
    if (strstr(text, "expired") || strstr(text, "not yet valid"))
        advice = "have the server's certificate renewed, and see that this machine's clock is right";
    else if (strstr(text, "subject name"))
        advice = "use a name that stands in the server's certificate, or have one made for this name";
    else if (is_ours)
        advice = "show a certificate that the server's operator has had signed, with its own key";
    curl_options(c, is_ours, options, sizeof options);
    return fault_set(&call->fault, ERR_NETWORK, NULL,
                     "TLS with %.100s failed: %.110s; %s; this must work first: curl %s %.80s/healthz",
                     c->base_url, text, advice, options, c->base_url);
}

static enum err outcome_of_curl(struct http_call *call, CURLcode rc)
{
    const char *text = call->curl_text[0] ? call->curl_text : curl_easy_strerror(rc);
    const char *base = call->client->base_url;
    bool is_plain = str_has_prefix(base, "http://");
    char options[300] = "";
    if (is_plain)
        curl_options(call->client, false, options, sizeof options);
    switch ((int)rc) {
    case CURLE_OUT_OF_MEMORY:
        return fault_set(&call->fault, ERR_NO_MEMORY, NULL, "%s %.200s: not enough memory",
                         call->request.method, call->url);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
        return outcome_of_connect(call, rc);
    case CURLE_OPERATION_TIMEDOUT:
        return outcome_of_timeout(call);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
        return outcome_of_tls(call, rc);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        if (is_plain)
            return fault_set(
                &call->fault, ERR_NETWORK, NULL,
                "%.200s does not speak HTTP: %.120s; if the server has a certificate, its address "
                "starts with https://, and this works: curl %s https%.80s/healthz",
                base, text, options, base + strlen("http"));
        return fault_set(&call->fault, ERR_NETWORK, NULL,
                         "%.200s does not speak HTTP: %.120s; check address and port", base, text);
    case CURLE_GOT_NOTHING:
        if (is_plain)
            return fault_set(
                &call->fault, ERR_NETWORK, NULL,
                "%s %.200s: the connection was closed without a reply; check that the server still "
                "runs; if it has a certificate, its address starts with https://, and this works: curl %s "
                "https%.80s/healthz",
                call->request.method, call->url, options, base + strlen("http"));
        /* fall through */
    default:
        return fault_set(&call->fault, ERR_NETWORK, NULL,
                         "%s %.200s: the connection broke: %.160s; check that the server still runs",
                         call->request.method, call->url, text);
    }
}

enum err call_outcome(struct http_call *call, CURLcode rc)
{
    struct http_response *r = &call->response;
    read_facts(call);
    if (call->callback_err)
        return outcome_of_callback(call);
    if (rc) {
        r->status = 0; /* half a reply is none */
        return outcome_of_curl(call, rc);
    }
    if ((r->status >= 200 && r->status < 300) || r->status == 304)
        return ERR_OK;
    return problem_read(r, &call->request, call->url, !call->client->log_as, &call->fault);
}
