/* What a worker reads: tasks of a claim's reply, error replies of a server or of something on the way, and
 * reports of its outbox. The first byte says which. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/api/api.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/http/http_impl.h"
#include "common/json/json_spec.h"
#include "tests/fuzz/fuzz.h"
#include "worker/job.h"

static void task(const struct fuzz_input *in)
{
    json_t *json = NULL;
    struct job *job = NULL;
    struct fault fault = FAULT_NONE;
    if (json_text_parse((const char *)in->at, in->left, &json, &fault))
        return;
    fault = FAULT_NONE;
    enum err e = job_new(json, 1, &job, &fault);
    fuzz_prove_told(e, &fault);
    json_decref(json);
    PROVE((job == NULL) == (e != ERR_OK));
    if (e)
        return;
    const struct worker_task *t = &job->task; /* nothing of it lies in the JSON, which is gone */
    PROVE(id_is_valid(t->task_id) && id_is_valid(t->run_id));
    PROVE(t->weights_url[0] == '/' && strlen(t->weights_sha256) == 64);
    PROVE(t->weights_url[1] != '/' && t->batch_size >= 1 && isfinite(t->learning_rate) &&
          isfinite(t->proximal_mu));
    PROVE(t->type == WORK_EVALUATE || t->local_epochs > 0 || t->local_steps > 0);
    PROVE(t->max_steps >= -1 && (isnan(t->max_seconds) || t->max_seconds >= 0));
    job_free(job);
}

/* "Name: value" lines as the response keeps them. */
static void add_headers(struct fuzz_input *in, struct buf *out)
{
    while (in->left) {
        struct fuzz_input line = fuzz_until(in, "\n"), name = fuzz_until(&line, ": ");
        char *texts[] = {fuzz_text(&name), fuzz_text(&line)};
        for (size_t i = 0; i < 2; i++) {
            PROVE(!buf_append(out, texts[i], strlen(texts[i]) + 1));
            free(texts[i]);
        }
    }
}

/* A status byte, then header lines, then after an empty line the body. */
static void problem(struct fuzz_input *in)
{
    static const int statuses[] = {302, 400, 401, 404, 409, 413, 422, 429, 500, 503, 507, 599};
    int status = statuses[fuzz_byte(in) % 12];
    struct fuzz_input head = fuzz_until(in, "\n\n");
    struct http_response r = {.status = status, .body = BUF_INIT(MIB), .headers = BUF_INIT(MIB)};
    const struct http_request request = {.method = "GET", .errors_are_problems = head.left % 2};
    struct fault fault = FAULT_NONE;
    add_headers(&head, &r.headers);
    PROVE(in->left == 0 || !buf_append(&r.body, in->at, in->left));
    enum err e = problem_read(&r, &request, "http://127.0.0.1:1/x", in->left % 2, &fault);
    PROVE(e != ERR_OK);
    fuzz_prove_told(e, &fault);
    http_response_release(&r);
}

static const char task_id[] = "0190a0b0c0d07e0f8a0b0c0d0e0f0a0b";

static void prove_stored_again(const char *folder, const struct report *r)
{
    struct report copy = *r, again = {0};
    struct fault fault = FAULT_NONE;
    PROVE(!outbox_store(folder, &copy, &fault) && strcmp(copy.sha256, r->sha256) == 0);
    PROVE(!outbox_load(folder, task_id, &again, &fault));
    PROVE(again.size == r->size && again.route == r->route && again.round == r->round);
    PROVE(again.attempt == r->attempt && again.ordinal == r->ordinal && again.media_type == r->media_type);
    PROVE(r->size == 0 || memcmp(again.body, r->body, r->size) == 0);
    report_release(&again);
}

static void outbox(const struct fuzz_input *in)
{
    char path[160];
    struct report r = {0};
    struct fault fault = FAULT_NONE;
    (void)snprintf(path, sizeof path, "%s/%s", fuzz_folder(), task_id);
    FILE *out = fopen(path, "we");
    PROVE(out && fwrite(in->at, 1, in->left, out) == in->left && fclose(out) == 0);
    enum err e = outbox_load(fuzz_folder(), task_id, &r, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(!e || e == ERR_BAD_FILE);
    if (!e)
        prove_stored_again(fuzz_folder(), &r);
    report_release(&r);
    outbox_remove(fuzz_folder(), task_id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    switch (fuzz_byte(&in) % 3) {
    case 0:
        task(&in);
        break;
    case 1:
        problem(&in);
        break;
    default:
        outbox(&in);
    }
    return 0;
}
