/* fedlane model pull: a model's weights as a file, checked against their digest. */
#include <stdio.h>
#include "cli/commands.h"
#include "cli/out_file.h"
#include "cli/print.h"
#include "cli/rest.h"
#include "common/base/str.h"
#include "common/crypto/sha256.h"

#define TRIES 4

struct pull {
    struct cli *cli;
    struct out_file file;
    struct sha256 *sha256;
    uint64_t bytes;
    struct fault fault; /* of the file */
};

static enum err on_body(void *ctx, const void *bytes, size_t n)
{
    struct pull *p = ctx;
    enum err e = sha256_update(p->sha256, bytes, n);
    p->bytes += n;
    return e ? e : out_file_write(&p->file, bytes, n, &p->fault);
}

static enum err download(struct pull *p, const char *path)
{
    struct http_response response = HTTP_RESPONSE_INIT;
    const struct http_request request = {
        .path = path, .on_body = on_body, .on_body_ctx = p, .max_tries = TRIES};
    enum err e = rest_request(p->cli, &request, &response);
    if (e && p->fault.err)
        p->cli->fault = p->fault;
    http_response_release(&response);
    return e;
}

static enum err check_digest(struct pull *p, const json_t *model)
{
    uint8_t sum[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    const char *wanted = json_text_at(model, "weights_sha256");
    enum err e = sha256_final(p->sha256, sum);
    if (e)
        return e;
    hex_encode(sum, sizeof sum, hex);
    if (str_eq(hex, wanted))
        return ERR_OK;
    return fault_set(
        &p->cli->fault, ERR_DIGEST_MISMATCH, NULL,
        "%s: what came has the SHA-256 %s, the server names %s; the file was not written, try again",
        p->cli->options.output, hex, wanted);
}

/* "latest" may be another one by the next request, so its number is asked first. */
static enum err find_model(struct cli *cli, const char *ref, json_t **out)
{
    struct buf path = BUF_INIT(0);
    const char *id;
    enum err e = rest_resolve(cli, "runs", ref, &id);
    if (!e)
        e = rest_path(&path, "runs", id, "models", cli->options.model_version);
    if (!e)
        e = rest_get(cli, path.data, out);
    if (!e && !json_is_true(json_at(*out, "available"))) {
        e = fault_set(&cli->fault, ERR_NOT_FOUND, NULL,
                      "version %lld of the run's model is no longer kept (retention.keep_models)",
                      (long long)json_count_at(*out, "version"));
        json_decref(*out);
        *out = NULL;
    }
    buf_release(&path);
    return e;
}

static enum err pull(struct cli *cli, const json_t *model)
{
    struct pull p = {.cli = cli, .file = OUT_FILE_INIT};
    struct buf path;
    char version[24];
    (void)snprintf(version, sizeof version, "%lld", (long long)json_count_at(model, "version"));
    enum err e = rest_path(&path, "runs", json_text_at(model, "run_id"), "models", version, "weights");
    if (!e)
        e = sha256_new(&p.sha256);
    if (!e)
        e = out_file_open(&p.file, cli->options.output, &cli->fault);
    if (!e)
        e = download(&p, path.data);
    if (!e)
        e = check_digest(&p, model);
    if (!e)
        e = out_file_commit(&p.file, &cli->fault);
    if (!e && cli->format == FORMAT_TABLE)
        (void)printf("%s: version %s, %llu bytes, sha256 %s\n", cli->options.output, version,
                     (unsigned long long)p.bytes, json_text_at(model, "weights_sha256"));
    out_file_release(&p.file);
    sha256_free(p.sha256);
    buf_release(&path);
    return e;
}

enum err cmd_model_pull(struct cli *cli)
{
    json_t *model = NULL;
    if (!cli->options.output)
        return fault_set(&cli->fault, ERR_USAGE, "output", "-o FILE is missing: where the model goes");
    enum err e = find_model(cli, cli->words[0], &model);
    if (!e)
        e = pull(cli, model);
    if (!e && cli->format != FORMAT_TABLE)
        e = print_json(cli, model);
    json_decref(model);
    return cli_fail(cli, e, "model pull");
}
