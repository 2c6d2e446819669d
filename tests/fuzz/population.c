/* Who is there when the server of server.h opens, and what they have done by then. */
#include <string.h>
#include "common/crypto/token.h"
#include "server/core/ops.h"
#include "tests/fuzz/server_impl.h"

void fuzz_secret_hash(enum fuzz_caller caller, char out[SHA256_HEX_SIZE])
{
    PROVE(!token_hash(fuzz_secrets[caller], out));
}

static void make_token(enum fuzz_caller caller, const char *name, int64_t role)
{
    char sha256[SHA256_HEX_SIZE];
    struct arena arena = ARENA_INIT(64 * KIB);
    fuzz_secret_hash(caller, sha256);
    struct op_token_create op = {.base = {.core = fuzz.core, .arena = &arena, .caller = ""},
                                 .name = name,
                                 .role = role,
                                 .token_sha256 = sha256};
    PROVE(!store_write_wait(fuzz.store, op_token_create, &op));
    fuzz_id_set('k', op.out.id);
    arena_release(&arena);
}

/* Must be taken. The id under `key` is remembered. */
static void must(enum fuzz_caller caller, const char *method, const char *target, const char *body,
                 const char *key, char name)
{
    struct fuzz_answer a = fuzz_ask(caller, method, target, body ? "Content-Type: application/json\n" : "",
                                    body, body ? strlen(body) : 0);
    if (a.status < 200 || a.status > 299)
        bug("%s %s: %d %s", method, target, a.status, a.body.data ? a.body.data : "");
    json_t *json = key ? json_loads(a.body.data, 0, NULL) : NULL;
    if (key)
        fuzz_id_set(name, json_string_value(json_object_get(json, key)));
    json_decref(json);
    fuzz_answer_release(&a);
}

#define EXAMPLES "\"dataset\":\"hand\",\"num_examples\":4,\"num_test_examples\":1,\"input\":[2],\"classes\":2"

static void enrol(enum fuzz_caller caller, const char *path, const char *more, const char *key, char name)
{
    char body[600], sha256[SHA256_HEX_SIZE];
    fuzz_secret_hash(caller, sha256);
    (void)snprintf(body, sizeof body, "{\"token_sha256\":\"%s\",%s}", sha256, more);
    must(CALLER_ENROLLMENT, "POST", path, body, key, name);
}

static void update(enum fuzz_caller caller)
{
    static const char header[] =
        "{\"__metadata__\":{\"attempt\":\"1\",\"steps_done\":\"4\",\"num_examples\":\"4\"},"
        "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
        "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}";
    uint8_t file[8 + sizeof header - 1 + 24] = {(uint8_t)(sizeof header - 1)};
    file[1] = (uint8_t)((sizeof header - 1) >> 8);
    memcpy(file + 8, header, sizeof header - 1);
    struct fuzz_answer a = fuzz_ask(caller, "PUT", "/api/v1/tasks/$t/update",
                                    "Content-Type: application/vnd.safetensors\n", file, sizeof file);
    if (a.status != 200)
        bug("%d %s", a.status, a.body.data ? a.body.data : "");
    fuzz_answer_release(&a);
}

#define RUN                                                                                                  \
    "{\"num_rounds\":3,\"dataset\":\"hand\",\"model\":{\"input\":[2],\"layers\":[{\"type\":\"dense\","       \
    "\"units\":2}],"                                                                                         \
    "\"init\":\"zeros\"},\"training\":{\"local_epochs\":1,\"batch_size\":1,\"learning_rate\":0.1},"          \
    "\"selection\":{\"devices_per_round\":3,\"population\":3}}"

static void make_devices(void)
{
    enrol(CALLER_WORKER, "/api/v1/workers",
          "\"name\":\"w\",\"instance_id\":\"0190a0b0c0d07e0f8a0b0c0d0e0f0a0b\",\"devices\":[{\"ordinal\":"
          "0," EXAMPLES "},{\"ordinal\":1," EXAMPLES "}]",
          "worker_id", 'w');
    enrol(CALLER_REVOKED, "/api/v1/devices", "\"name\":\"r\",\"ordinal\":9," EXAMPLES, "device_id", 'x');
    must(CALLER_ADMIN, "DELETE", "/api/v1/devices/$x", NULL, NULL, 0);
    enrol(CALLER_DEVICE, "/api/v1/devices", "\"name\":\"d\",\"ordinal\":2," EXAMPLES, "device_id", 'd');
}

/* One round is closed, the next one is open and its tasks are claimed. */
static void make_rounds(void)
{
    must(CALLER_OPERATOR, "POST", "/api/v1/runs", RUN, "id", 'o');
    must(CALLER_OPERATOR, "POST", "/api/v1/runs/$o/stop", NULL, NULL, 0);
    must(CALLER_OPERATOR, "POST", "/api/v1/runs", RUN, "id", 'r');
    for (int i = 0; i < 2; i++) {
        must(CALLER_WORKER, "POST", "/api/v1/workers/$w/tasks:claim", "{\"max\":1}", NULL, 0);
        update(CALLER_WORKER);
    }
    must(CALLER_DEVICE, "POST", "/api/v1/devices/$d/tasks:claim", NULL, NULL, 0);
    update(CALLER_DEVICE);
    must(CALLER_WORKER, "POST", "/api/v1/workers/$w/tasks:claim", "{\"max\":1}", NULL, 0);
    fuzz_id_set('u', fuzz_id('t'));
    must(CALLER_DEVICE, "POST", "/api/v1/devices/$d/tasks:claim", NULL, NULL, 0);
}

void fuzz_populate(void)
{
    make_token(CALLER_ADMIN, "admin", ROLE_ADMIN);
    make_token(CALLER_OPERATOR, "operator", ROLE_OPERATOR);
    make_token(CALLER_VIEWER, "viewer", ROLE_VIEWER);
    make_token(CALLER_ENROLLMENT, "enrollment", ROLE_ENROLLMENT);
    make_devices();
    make_rounds();
}
