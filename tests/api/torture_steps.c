#include "tests/api/torture_steps.h"

#include <string.h>
#include "server/api/login_code.h"
#include "server/store/records.h"

#define OF(dataset)                                                                                          \
    "\"dataset\":\"" dataset "\",\"num_examples\":4,\"num_test_examples\":1,\"input\":[2],\"classes\":2"
#define HASH(digit)                                                                                          \
    "\"token_sha256\":\"" digit "000000000000000000000000000000000000000000000000000000000000000\""
#define FLEET(name, dataset, instance, digit)                                                                \
    "{\"name\":\"" name "\",\"instance_id\":\"" instance "190a0b0c0d07e0f8a0b0c0d0e0f0a0b\"," HASH(          \
        digit) ",\"devices\":[{\"ordinal\":0," OF(dataset) "},{\"ordinal\":1," OF(dataset) "}]}"
#define BEAT                                                                                                 \
    "{\"resources\":{\"cpus\":2},\"tasks\":[{\"task_id\":\"$u\",\"steps_done\":1,\"train_loss\":0.5}]}"
#define RUN                                                                                                  \
    "{\"num_rounds\":2,\"autostart\":false,\"dataset\":\"none\",\"model\":{\"input\":[2],\"layers\":[{"      \
    "\"type\":\"dense\",\"units\":2}]},\"training\":{\"learning_rate\":0.1},\"selection\":{\"population\":"  \
    "2}}"
#define PIECE "Content-Type: application/partial-upload\n"
/* The size of the weights, see below. */
#define LENGTH "Upload-Length: 156\n"

/* clang-format off */
#define STEP(who, how, where, what, answer, ...) \
    {.caller = CALLER_##who, .method = how, .target = "/api/v1" where, .body = what, .status = answer, __VA_ARGS__}
#define NAMED(letter, of) .name = (letter), .taken = (of)
#define UPTO(first, end) .is_piece = true, .from = (first), .to = (end), .headers = PIECE

const struct torture_step torture_steps[] = {
    STEP(ADMIN, "POST", "/tokens", "{\"name\":\"x\",\"role\":\"viewer\"," HASH("a") "}", 201, NAMED('K', 'n')),
    STEP(ENROLLMENT, "POST", "/workers", FLEET("w2", "other", "1", "b"), 201, NAMED('W', 'n')),
    STEP(ENROLLMENT, "POST", "/devices", "{\"name\":\"d2\",\"labels\":{\"a\":\"b\"}," HASH("c") "," OF("other") "}",
         201, NAMED('D', 'n')),
    /* The worker starts anew: with the secret that it had, and with another. */
    STEP(ENROLLMENT, "POST", "/workers", FLEET("w2", "other", "1", "b"), 201),
    STEP(ENROLLMENT, "POST", "/workers", FLEET("w3", "other", "1", "d"), 201),
    /* A token that admits two. */
    STEP(ADMIN, "POST", "/tokens", "{\"name\":\"gate\",\"role\":\"enrollment\",\"max_uses\":2,\"token_sha256\":\"$h\"}",
         201, NAMED('G', 'n')),
    STEP(ANOTHER, "POST", "/devices", "{\"name\":\"g1\"," HASH("e") "," OF("other") "}", 201),
    STEP(ANOTHER, "POST", "/workers", FLEET("g2", "gate", "2", "f"), 201),
    STEP(ANOTHER, "POST", "/devices", "{\"name\":\"g3\"," HASH("1") "," OF("other") "}", 403),
    STEP(ANOTHER, "POST", "/workers", FLEET("g2", "gate", "2", "f"), 201),
    STEP(ADMIN, "DELETE", "/tokens/$G", NULL, 204),
    STEP(OPERATOR, "POST", "/experiments", "{\"name\":\"e\"}", 201, NAMED('E', 'n')),
    STEP(OPERATOR, "PATCH", "/experiments/$E", "{\"description\":\"changed\"}", 200),
    /* A link is good once: whoever lost the answer opens another. */
    STEP(NOBODY, "POST", "/login", "{\"code\":\"$c\"}", 201, .again = 401),
    STEP(NOBODY, "POST", "/login", "{\"code\":\"$e\"}", 201, .again = 401),
    STEP(SESSION, "GET", "/tokens/self", NULL, 200),
    STEP(SESSION, "PATCH", "/experiments/$E", "{\"description\":\"changed in a browser\"}", 200),
    STEP(NOBODY, "POST", "/login", "{\"code\":\"$c\"}", 401),
    STEP(ADMIN, "DELETE", "/tokens/$L", NULL, 204),
    STEP(ADMIN, "DELETE", "/tokens/$M", NULL, 204),
    STEP(SESSION, "GET", "/tokens/self", NULL, 401),
    STEP(OPERATOR, "POST", "/runs", RUN, 201, NAMED('R', 'n')),
    STEP(OPERATOR, "PUT", "/runs/$R/models/0/weights", "@", 200),
    STEP(OPERATOR, "POST", "/runs/$R/start", NULL, 200),
    STEP(OPERATOR, "POST", "/runs/$r/pause", NULL, 200),
    STEP(OPERATOR, "POST", "/runs/$r/resume", NULL, 200),
    STEP(OPERATOR, "PATCH", "/runs/$R/config", "{\"training\":{\"learning_rate\":0.2}}", 200),
    /* No heartbeat waits for what it tells to be stored; the next one tells it again. */
    STEP(WORKER, "POST", "/workers/$w/heartbeat", BEAT, 200),
    STEP(WORKER, "POST", "/workers/$w/heartbeat", BEAT, 200),
    STEP(DEVICE, "POST", "/devices/$d/heartbeat", "{\"tasks\":[{\"task_id\":\"$t\",\"steps_done\":1}]}", 200),
    STEP(DEVICE, "POST", "/tasks/$t/progress", "{\"steps_done\":2,\"train_loss\":\"NaN\"}", 200),
    STEP(DEVICE, "PUT", "/tasks/$t/update?steps_done=4", "@", 200),
    STEP(WORKER, "POST", "/tasks/$u/fail", "{\"code\":\"oom\",\"detail\":\"x\",\"steps_done\":1}", 200),
    STEP(WORKER, "POST", "/workers/$w/tasks:claim?wait=1", "{\"holding\":[]}", 200, NAMED('V', 't')),
    STEP(WORKER, "POST", "/tasks/$V/release", NULL, 200),
    STEP(WORKER, "POST", "/workers/$w/tasks:claim", "{\"holding\":[]}", 200, NAMED('V', 't')),
    STEP(WORKER, "PUT", "/tasks/$V/update?steps_done=4", "@", 200),
    /* That closed the round; the last one follows, to the run's end. Its first update comes in pieces, and
     * that of the first try is thought better of. */
    STEP(DEVICE, "POST", "/devices/$d/tasks:claim", NULL, 200, NAMED('T', 't')),
    STEP(DEVICE, "POST", "/tasks/$T/uploads?steps_done=1", NULL, 201, .headers = LENGTH, NAMED('U', 'p')),
    STEP(DEVICE, "PATCH", "/tasks/$T/uploads/$U", "@", 204, UPTO(0, 100)),
    STEP(DEVICE, "DELETE", "/tasks/$T/uploads/$U", NULL, 204, .again = 404),
    STEP(DEVICE, "POST", "/tasks/$T/uploads?steps_done=2&stop_reason=budget", NULL, 201, .headers = LENGTH,
         NAMED('U', 'p')),
    STEP(DEVICE, "PATCH", "/tasks/$T/uploads/$U", "@", 204, UPTO(0, 60)),
    STEP(DEVICE, "GET", "/tasks/$T/uploads", NULL, 200),
    STEP(DEVICE, "PATCH", "/tasks/$T/uploads/$U", "@", 204, UPTO(60, 150)),
    STEP(DEVICE, "HEAD", "/tasks/$T/uploads/$U", NULL, 200),
    STEP(DEVICE, "PATCH", "/tasks/$T/uploads/$U", "@", 200, UPTO(150, 0)),
    STEP(DEVICE, "GET", "/tasks/$T/uploads/$U", NULL, 200),
    STEP(DEVICE, "PATCH", "/tasks/$T/uploads/$U", "@", 200, UPTO(0, 0)), /* the same receipt */
    STEP(WORKER, "POST", "/workers/$w/tasks:claim", "{\"holding\":[]}", 200, NAMED('V', 't')),
    STEP(WORKER, "PUT", "/tasks/$V/update?steps_done=4&eval_test_loss=0.5&eval_test_examples=1", "@", 200),
    STEP(WORKER, "POST", "/workers/$w/tasks:claim", "{\"holding\":[]}", 200, NAMED('V', 't')),
    STEP(WORKER, "PUT", "/tasks/$V/update?steps_done=4", "@", 200),
    STEP(DEVICE, "GET", "/runs/$r/models/latest/weights", NULL, 200),
    STEP(DEVICE, "PATCH", "/devices/$d", "{\"labels\":{\"room\":\"b\"}}", 200),
    STEP(OPERATOR, "POST", "/runs/$R/stop", NULL, 200),
    STEP(VIEWER, "GET", "/events", NULL, 200),
    STEP(VIEWER, "GET", "/runs/$r/metrics?max_points=2", NULL, 200),
    STEP(ADMIN, "DELETE", "/tokens/$K", NULL, 204, .again = 404),
    STEP(ADMIN, "DELETE", "/devices/$D", NULL, 204, .again = 404),
    STEP(ADMIN, "DELETE", "/workers/$W", NULL, 204, .again = 404),
    STEP(ADMIN, "GET", "/audit", NULL, 200),
    {.caller = CALLER_VIEWER, .method = "GET", .target = "/metrics", .status = 200},
};
/* clang-format on */
const size_t torture_num_steps = sizeof torture_steps / sizeof *torture_steps;

size_t torture_weights(uint8_t out[512])
{
    static const char header[] = "{\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                                 "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}";
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    size_t n = sizeof header - 1;
    memset(out, 0, 8);
    out[0] = (uint8_t)n;
    memcpy(out + 8, header, n);
    memcpy(out + 8 + n, values, sizeof values);
    return 8 + n + sizeof values;
}

/* The token that it becomes is known before it is used. */
static void make_link(const char *data_dir, int64_t made_at, char code_name, char token_name)
{
    struct login_grant grant = {
        .role = ROLE_OPERATOR, .made_at = made_at, .expires_at = INT64_MAX, .session_ms = 3600000};
    char code[LOGIN_CODE_SIZE];
    struct fault fault = FAULT_NONE;
    PROVE(!login_code_make(data_dir, &grant, code, &fault));
    PROVE(!login_code_find(data_dir, code, made_at, &grant, &fault));
    fuzz_id_set(code_name, code);
    fuzz_id_set(token_name, grant.token_id);
}

void torture_prepare(const char *data_dir)
{
    char sha256[SHA256_HEX_SIZE];
    fuzz_secret_hash(CALLER_ANOTHER, sha256);
    fuzz_id_set('h', sha256);
    make_link(data_dir, 1, 'c', 'L');
    make_link(data_dir, 2, 'e', 'M');
}
