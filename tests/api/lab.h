/* A whole server in the test's own process, on SQLite in a folder of its own and on a free port, spoken to
 * over sockets. Every function asserts what it needs. */
#ifndef FEDLANE_TESTS_API_LAB_H
#define FEDLANE_TESTS_API_LAB_H

#include "common/base/buf.h"
#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/crypto/token.h"
#include "server/service.h"
#include "tests/support/http_client.h"
#include "tests/support/unit.h"

struct lab {
    struct service *service;
    uint16_t port;
    char dir[64];
    int64_t heartbeat_ms;  /* of lab_open_as(); 0: a second */
    bool is_in_memory;     /* of lab_open_as(): its data end with lab_stop() */
    int64_t auth_failures; /* in force from lab_start() on; 0: as many as come */
    const char *web_dir;   /* the same; NULL at first */
    char admin[TOKEN_SIZE], runner[TOKEN_SIZE], viewer[TOKEN_SIZE], enrollment[TOKEN_SIZE];
};

void lab_open(struct lab *lab);
void lab_open_as(struct lab *lab); /* where the first fields are set; the others must be 0 */
void lab_close(struct lab *lab);
void lab_stop(struct lab *lab);  /* the data stay, */
void lab_start(struct lab *lab); /* and here it is again */
/* The server's clock jumps ahead. */
void lab_clock_add(int64_t ms);

/* ---- requests; `headers` are whole lines with \r\n; token, headers and body may be NULL ---- */

struct http_answer lab_do(const struct lab *lab, const char *token, const char *method, const char *path,
                          const char *headers, const char *body);
struct http_answer lab_put(const struct lab *lab, const char *token, const char *path, const char *headers,
                           const struct buf *body);
/* `media` and body may be NULL. */
struct http_answer lab_send(const struct lab *lab, const char *token, const char *method, const char *path,
                            const char *headers, const char *media, const void *body, size_t n);
/* Any 2xx; the JSON, or NULL of a reply without one. The caller decrefs. */
json_t *lab_ok(const struct lab *lab, const char *token, const char *method, const char *path,
               const char *body);
void lab_done(const struct lab *lab, const char *token, const char *method, const char *path,
              const char *body);
/* A problem with this status and code; field NULL: any. */
void lab_refused(const struct lab *lab, const char *token, const char *method, const char *path,
                 const char *body, int status, const char *code, const char *field);
void answer_is_problem(struct http_answer *a, int status, const char *code,
                       const char *field);              /* releases it */
json_t *answer_json(struct http_answer *a, int status); /* releases it */
/* A text of a reply, by a path of keys: "items.0.id". */
const char *text_at(const json_t *json, const char *path);
int64_t int_at(const json_t *json, const char *path);
const json_t *json_at(const json_t *json, const char *path);
/* What the server says it keeps. */
int64_t lab_blob_bytes(const struct lab *lab);
/* Until it is so: what nobody names any more is removed after the answer. */
void lab_await_blob_bytes(const struct lab *lab, int64_t bytes);

/* ---- a run of small devices; its model has 6 parameters ---- */

struct lab_device {
    char id[ID_SIZE], token[TOKEN_SIZE];
};
struct lab_device lab_device(const struct lab *lab,
                             int ordinal); /* 4 training examples, 1 of test, dataset "hand" */
#define MODEL_PATCH                                                                                          \
    "\"model\":{\"input\":[2],\"layers\":[{\"type\":\"dense\",\"units\":2}],\"init\":\"zeros\"}"
/* `more`: further fields of the spec, each with a comma before it; "" for none. */
void lab_run(const struct lab *lab, int num_devices, int num_rounds, const char *more, char out_id[ID_SIZE]);
/* The next task, waiting for it. */
json_t *lab_claim(const struct lab *lab, const struct lab_device *device);
char *path_of(const char *fmt, ...) PRINTF_LIKE(1, 2); /* in a ring of buffers */

/* A safetensors file of the model whose parameters all are `value`; metadata as JSON members
 * ("\"attempt\":\"1\""), may be "". */
void file_of_model(struct buf *out, float value, const char *metadata);
/* Any header and data. */
void file_of(struct buf *out, const char *header, const void *data, size_t n);
/* What a device of the lab says about a whole job of 4 steps. */
#define META_WHOLE "\"attempt\":\"1\",\"steps_done\":\"4\",\"num_examples\":\"4\""
struct http_answer lab_update(const struct lab *lab, const struct lab_device *device, const json_t *task,
                              float value);

#endif
