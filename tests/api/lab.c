#include "tests/api/lab.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include "common/crypto/random.h"
#include "common/tensor/tensor.h"
#include "server/core/ops.h"

static _Atomic int64_t clock_ahead_ms;

static int64_t now(void *ctx)
{
    (void)ctx;
    const struct clock system = clock_system();
    return clock_now_ms(&system) + atomic_load(&clock_ahead_ms);
}

void lab_clock_add(int64_t ms)
{
    atomic_fetch_add(&clock_ahead_ms, ms);
}

static void open_files(const struct lab *lab, struct service_config *config)
{
    struct fault fault = FAULT_NONE;
    char path[96];
    (void)snprintf(path, sizeof path, "%s/fedlane.db", lab->dir);
    ck_assert_msg(store_sqlite_open(path, &config->store, &fault) == ERR_OK, "%s", fault.detail);
    (void)snprintf(path, sizeof path, "%s/blobs.db", lab->dir);
    ck_assert_msg(blobs_sqlite_open(path, &config->blobs, &fault) == ERR_OK, "%s", fault.detail);
}

void lab_start(struct lab *lab)
{
    struct fault fault = FAULT_NONE;
    struct service_config config = {.clock = {.now_ms = now},
                                    .entropy = entropy_system(),
                                    .heartbeat_ms = lab->heartbeat_ms ? lab->heartbeat_ms : 1000,
                                    .data_dir = lab->dir,
                                    .auth_failures = lab->auth_failures ? lab->auth_failures : INT32_MAX,
                                    .web_dir = lab->web_dir};
    if (lab->is_in_memory)
        ck_assert(store_memory_open(&config.store) == ERR_OK && blobs_memory_open(&config.blobs) == ERR_OK);
    else
        open_files(lab, &config);
    ck_assert_msg(service_open(&config, &lab->service, &fault) == ERR_OK, "%s", fault.detail);
    const struct service_listen listen = {.address = "127.0.0.1", .threads = 2};
    ck_assert_msg(service_listen(lab->service, &listen, &fault) == ERR_OK, "%s", fault.detail);
    lab->port = service_port(lab->service);
}

void lab_stop(struct lab *lab)
{
    ck_assert(service_stop(lab->service, 20000));
    lab->service = NULL;
}

static void make_token(struct lab *lab, const char *name, int64_t role, char out[TOKEN_SIZE])
{
    char sha256[SHA256_HEX_SIZE];
    struct arena arena = ARENA_INIT(64 * KIB);
    ck_assert_int_eq(token_new(out, sha256), ERR_OK);
    struct op_token_create op = {.base = {.core = service_core(lab->service), .arena = &arena, .caller = ""},
                                 .name = name,
                                 .role = role,
                                 .token_sha256 = sha256};
    ck_assert_int_eq(store_write_wait(service_store(lab->service), op_token_create, &op), ERR_OK);
    arena_release(&arena);
}

void lab_open(struct lab *lab)
{
    *lab = (struct lab){0};
    lab_open_as(lab);
}

void lab_open_as(struct lab *lab)
{
    (void)snprintf(lab->dir, sizeof lab->dir, "/tmp/fedlane-api-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(lab->dir));
    lab_start(lab);
    make_token(lab, "admin", ROLE_ADMIN, lab->admin);
    make_token(lab, "runner", ROLE_OPERATOR, lab->runner);
    make_token(lab, "viewer", ROLE_VIEWER, lab->viewer);
    make_token(lab, "enrollment", ROLE_ENROLLMENT, lab->enrollment);
}

void lab_close(struct lab *lab)
{
    static const char *const files[] = {"fedlane.db", "fedlane.db-wal",  "fedlane.db-shm", "blobs.db-journal",
                                        "blobs.db",   "fedlane.db.lock", "blobs.db.lock"};
    lab_stop(lab);
    (void)rmdir(path_of("%s/login", lab->dir));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        (void)unlink(path_of("%s/%s", lab->dir, files[i]));
    ck_assert_int_eq(rmdir(lab->dir), 0);
}

/* ---- requests ---- */

char *path_of(const char *fmt, ...)
{
    static char ring[64][4096];
    static _Atomic size_t at;
    char *text = ring[atomic_fetch_add(&at, 1) % 64];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof ring[0], fmt, ap);
    va_end(ap);
    ck_assert(n >= 0 && (size_t)n < sizeof ring[0]);
    return text;
}

struct http_answer lab_send(const struct lab *lab, const char *token, const char *method, const char *path,
                            const char *headers, const char *media, const void *body, size_t n)
{
    struct http_client *c = malloc(sizeof *c);
    struct http_answer a = {0};
    ck_assert_ptr_nonnull(c);
    ck_assert(http_client_open(c, lab->port));
    ck_assert(http_client_print(c, "%s %s HTTP/1.1\r\nHost: x\r\n%s", method, path, headers ? headers : ""));
    if (token)
        ck_assert(http_client_print(c, "Authorization: Bearer %s\r\n", token));
    if (media)
        ck_assert(http_client_print(c, "Content-Type: %s\r\n", media));
    if (body)
        ck_assert(http_client_print(c, "Content-Length: %zu\r\n", n));
    ck_assert(http_client_print(c, "\r\n"));
    if (body)
        (void)http_client_send(c, body, n); /* a refusal may close the connection in the middle */
    (void)http_client_read(c, strcmp(method, "HEAD") == 0, &a);
    http_client_close(c);
    free(c);
    ck_assert_msg(a.status != 0, "%s %s: no answer", method, path);
    return a;
}

struct http_answer lab_do(const struct lab *lab, const char *token, const char *method, const char *path,
                          const char *headers, const char *body)
{
    return lab_send(lab, token, method, path, headers, body ? "application/json" : NULL, body,
                    body ? strlen(body) : 0);
}

struct http_answer lab_put(const struct lab *lab, const char *token, const char *path, const char *headers,
                           const struct buf *body)
{
    return lab_send(lab, token, "PUT", path, headers, "application/vnd.safetensors", body->data, body->len);
}

json_t *lab_ok(const struct lab *lab, const char *token, const char *method, const char *path,
               const char *body)
{
    struct http_answer a = lab_do(lab, token, method, path, NULL, body);
    ck_assert_msg(a.status >= 200 && a.status < 300, "%s %s: %d %s", method, path, a.status,
                  a.body ? a.body : "");
    json_t *json = a.body_len > 0 ? json_loads(a.body, 0, NULL) : NULL;
    ck_assert_msg(json != NULL || a.body_len == 0, "%s %s: %s", method, path, a.body);
    http_answer_release(&a);
    return json;
}

void lab_done(const struct lab *lab, const char *token, const char *method, const char *path,
              const char *body)
{
    json_decref(lab_ok(lab, token, method, path, body));
}

void answer_is_problem(struct http_answer *a, int status, const char *code, const char *field)
{
    json_t *json = json_loads(a->body ? a->body : "", 0, NULL);
    const char *text = a->body ? a->body : "";
    ck_assert_msg(a->status == status, "%d in place of %d: %s", a->status, status, text);
    ck_assert_str_eq(http_answer_field(a, "Content-Type"), "application/problem+json");
    ck_assert_msg(strcmp(text_at(json, "code"), code) == 0, "not %s: %s", code, text);
    ck_assert_int_eq(int_at(json, "status"), status);
    ck_assert_uint_gt(strlen(text_at(json, "detail")), 10);
    ck_assert_ptr_nonnull(text_at(json, "request_id"));
    if (field)
        ck_assert_msg(strcmp(text_at(json, "field"), field) == 0, "not %s: %s", field, text);
    if (status == 401)
        ck_assert_ptr_nonnull(http_answer_field(a, "WWW-Authenticate"));
    json_decref(json);
    http_answer_release(a);
}

void lab_refused(const struct lab *lab, const char *token, const char *method, const char *path,
                 const char *body, int status, const char *code, const char *field)
{
    struct http_answer a = lab_do(lab, token, method, path, NULL, body);
    if (a.status != status)
        (void)fprintf(stderr, "%s %s %s\n", method, path, body ? body : "");
    answer_is_problem(&a, status, code, field);
}

json_t *answer_json(struct http_answer *a, int status)
{
    ck_assert_msg(a->status == status, "%d in place of %d: %s", a->status, status, a->body ? a->body : "");
    json_t *json = json_loads(a->body ? a->body : "", 0, NULL);
    ck_assert_ptr_nonnull(json);
    http_answer_release(a);
    return json;
}

const json_t *json_at(const json_t *json, const char *path)
{
    char key[64];
    while (json && *path) {
        size_t n = strcspn(path, ".");
        ck_assert_uint_lt(n, sizeof key);
        memcpy(key, path, n);
        key[n] = '\0';
        json = json_is_array(json) ? json_array_get(json, (size_t)strtoul(key, NULL, 10))
                                   : json_object_get(json, key);
        path += n + (path[n] == '.');
    }
    return json;
}

const char *text_at(const json_t *json, const char *path)
{
    const char *text = json_string_value(json_at(json, path));
    ck_assert_msg(text != NULL, "no text at %s", path);
    return text;
}

int64_t int_at(const json_t *json, const char *path)
{
    const json_t *value = json_at(json, path);
    ck_assert_msg(json_is_integer(value), "no integer at %s", path);
    return json_integer_value(value);
}

int64_t lab_blob_bytes(const struct lab *lab)
{
    struct http_answer a = lab_do(lab, lab->viewer, "GET", "/metrics", NULL, NULL);
    const char *at = strstr(a.body, "\nfedlane_blob_bytes ");
    ck_assert_ptr_nonnull(at);
    int64_t bytes = (int64_t)strtod(at + 20, NULL);
    http_answer_release(&a);
    return bytes;
}

void lab_await_blob_bytes(const struct lab *lab, int64_t bytes)
{
    while (lab_blob_bytes(lab) != bytes)
        ;
}

/* ---- a run of small devices ---- */

struct lab_device lab_device(const struct lab *lab, int ordinal)
{
    struct lab_device d;
    json_t *reply =
        lab_ok(lab, lab->enrollment, "POST", "/api/v1/devices",
               path_of("{\"name\":\"hand-%d\",\"ordinal\":%d,\"dataset\":\"hand\",\"num_examples\":4,"
                       "\"num_test_examples\":1,\"input\":[2],\"classes\":2}",
                       ordinal, ordinal));
    (void)snprintf(d.id, sizeof d.id, "%s", text_at(reply, "device_id"));
    (void)snprintf(d.token, sizeof d.token, "%s", text_at(reply, "token"));
    json_decref(reply);
    return d;
}

void lab_run(const struct lab *lab, int num_devices, int num_rounds, const char *more, char out_id[ID_SIZE])
{
    json_t *run = lab_ok(lab, lab->runner, "POST", "/api/v1/runs",
                         path_of("{\"num_rounds\":%d,\"dataset\":\"hand\"," MODEL_PATCH
                                 ",\"training\":{\"local_epochs\":1,\"batch_size\":1,\"learning_rate\":0.1},"
                                 "\"selection\":{\"devices_per_round\":%d,\"population\":%d}%s}",
                                 num_rounds, num_devices, num_devices, more));
    (void)snprintf(out_id, ID_SIZE, "%s", text_at(run, "id"));
    json_decref(run);
}

json_t *lab_claim(const struct lab *lab, const struct lab_device *device)
{
    json_t *task = lab_ok(lab, device->token, "POST",
                          path_of("/api/v1/devices/%s/tasks:claim?wait=20", device->id), NULL);
    ck_assert_msg(task != NULL, "no task");
    return task;
}

void file_of(struct buf *out, const char *header, const void *data, size_t n)
{
    uint64_t len = strlen(header);
    uint8_t size[8];
    for (size_t i = 0; i < 8; i++)
        size[i] = (uint8_t)(len >> (8 * i));
    buf_init(out, MIB);
    ck_assert_int_eq(buf_append(out, size, sizeof size), ERR_OK);
    ck_assert_int_eq(buf_append(out, header, len), ERR_OK);
    ck_assert_int_eq(buf_append(out, data, n), ERR_OK);
}

void file_of_model(struct buf *out, float value, const char *metadata)
{
    float data[6];
    for (size_t i = 0; i < 6; i++)
        data[i] = value;
    file_of(
        out,
        path_of(
            "{\"__metadata__\":{%s},\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
            "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}",
            metadata),
        data, sizeof data);
}

struct http_answer lab_update(const struct lab *lab, const struct lab_device *device, const json_t *task,
                              float value)
{
    struct buf file;
    file_of_model(&file, value,
                  path_of("\"attempt\":\"%lld\",\"steps_done\":\"4\"", (long long)int_at(task, "attempt")));
    struct http_answer a = lab_put(lab, device->token,
                                   path_of("/api/v1/tasks/%s/update", text_at(task, "task_id")), NULL, &file);
    buf_release(&file);
    return a;
}
