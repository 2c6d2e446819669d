#include "server/api/routes.h"

#include "common/api/api.h"
#include "common/base/limits.h"
#include "server/api/handlers.h"
#include "server/api/report.h"
#include "server/store/records.h"

/* ---- who may ----
 * An administrator may everything. Where a worker may, ownership.c checks that what the path
 * names is its own.
 */
#define ADMIN  ((uint32_t)ROLE_ADMIN)
#define RUNNER (ADMIN | (uint32_t)ROLE_OPERATOR)
#define READER (RUNNER | (uint32_t)ROLE_VIEWER)
#define WORKER (ADMIN | (uint32_t)ROLE_WORKER)
#define ENROLL (ADMIN | (uint32_t)ROLE_ENROLLMENT)
#define ANY    (READER | (uint32_t)ROLE_WORKER | (uint32_t)ROLE_ENROLLMENT)
#define NOBODY 0 /* no token needed */

#define V1 API_PREFIX

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define PAGED      NAMES("limit", "cursor")
#define TENSORS    NAMES(MEDIA_SAFETENSORS, MEDIA_BYTES)

#define GET(id, pattern, who, fn, ...)                                                                       \
    {                                                                                                        \
        .operation_id = id, .method = HTTP_GET, .path = pattern, .roles = who, .handler = fn, __VA_ARGS__    \
    }
#define DELETE(id, pattern, who, fn, ...)                                                                    \
    {                                                                                                        \
        .operation_id = id, .method = HTTP_DELETE, .path = pattern, .roles = who, .handler = fn, __VA_ARGS__ \
    }
#define PATCH(id, pattern, who, fn, ...)                                                                     \
    {                                                                                                        \
        .operation_id = id, .method = HTTP_PATCH, .path = pattern, .roles = who, .body = BODY_JSON,          \
        .handler = fn, __VA_ARGS__                                                                           \
    }
#define POST(id, pattern, who, fn, ...)                                                                      \
    {                                                                                                        \
        .operation_id = id, .method = HTTP_POST, .path = pattern, .roles = who, .body = BODY_JSON,           \
        .handler = fn, __VA_ARGS__                                                                           \
    }
#define IDEMPOTENT .is_idempotent = true
#define AUDITED    .is_audited = true
#define OPTIONAL   .body_is_optional = true
#define FLEET      .body_limit = LIMIT_FLEET_BODY
#define ITSELF     .parses_itself = true

const struct route api_routes[] = {
    GET("page", "/", NOBODY, api_page, .ignores_unknown = true),
    GET("asset", "/assets/{file}", NOBODY, api_asset, .ignores_unknown = true),

    GET("healthz", "/healthz", NOBODY, api_healthz, .query = NULL),
    GET("readyz", "/readyz", NOBODY, api_readyz, .query = NULL),
    GET("prometheus", "/metrics", READER, api_prometheus, .query = NULL),
    GET("version", V1 "/version", NOBODY, api_version, .query = NULL),
    GET("openapi", V1 "/openapi.json", NOBODY, api_openapi, .query = NULL),
    GET("strategy_list", V1 "/strategies", ANY, api_strategies, .query = NULL),

    POST("token_create", V1 "/tokens", ADMIN, api_token_create, IDEMPOTENT, AUDITED),
    GET("token_list", V1 "/tokens", ADMIN, api_token_list, .query = NAMES("limit", "cursor", "role")),
    GET("token_self", V1 "/tokens/self", ANY, api_token_self, .query = NULL),
    DELETE("token_revoke", V1 "/tokens/{token}", ADMIN, api_token_revoke, AUDITED),
    GET("audit_list", V1 "/audit", ADMIN, api_audit, .query = NAMES("limit", "cursor", "token")),

    POST("login", V1 "/login", NOBODY, api_login, .body_limit = LIMIT_LOGIN_BODY, AUDITED),

    POST("worker_register", V1 "/workers", ENROLL, api_worker_register, IDEMPOTENT, FLEET, AUDITED),
    GET("worker_list", V1 "/workers", READER, api_worker_list, .query = PAGED),
    GET("worker_get", V1 "/workers/{worker}", READER | WORKER, api_worker_get, .query = NULL),
    DELETE("worker_revoke", V1 "/workers/{worker}", ADMIN, api_worker_revoke, AUDITED),
    POST("worker_heartbeat", V1 "/workers/{worker}/heartbeat", WORKER, api_worker_heartbeat, OPTIONAL, FLEET,
         ITSELF),
    POST("worker_claim", V1 "/workers/{worker}/tasks:claim", WORKER, api_worker_claim, OPTIONAL, FLEET,
         .query = NAMES("wait"), .max_wait_s = LIMIT_WAIT_S),

    POST("device_register", V1 "/devices", ENROLL, api_device_register, IDEMPOTENT, AUDITED),
    GET("device_list", V1 "/devices", READER, api_device_list,
        .query = NAMES("limit", "cursor", "status", "label", "run", "dataset", "worker")),
    GET("device_get", V1 "/devices/{device}", READER | WORKER, api_device_get, .query = NULL),
    GET("device_task_list", V1 "/devices/{device}/tasks", READER | WORKER, api_device_tasks,
        .query = NAMES("limit", "cursor", "run", "type")),
    PATCH("device_patch", V1 "/devices/{device}", WORKER, api_device_patch, AUDITED),
    DELETE("device_revoke", V1 "/devices/{device}", ADMIN, api_device_revoke, AUDITED),
    POST("device_heartbeat", V1 "/devices/{device}/heartbeat", WORKER, api_device_heartbeat, OPTIONAL,
         ITSELF),
    POST("device_claim", V1 "/devices/{device}/tasks:claim", WORKER, api_device_claim, OPTIONAL,
         .query = NAMES("wait"), .max_wait_s = LIMIT_WAIT_S),

    GET("task_get", V1 "/tasks/{task}", READER | WORKER, api_task_get, .query = NULL),
    POST("task_progress", V1 "/tasks/{task}/progress", WORKER, api_task_progress, .query = NULL),
    POST("task_fail", V1 "/tasks/{task}/fail", WORKER, api_task_fail, IDEMPOTENT),
    POST("task_release", V1 "/tasks/{task}/release", WORKER, api_task_release, IDEMPOTENT, OPTIONAL),
    {.operation_id = "task_update",
     .method = HTTP_PUT,
     .path = V1 "/tasks/{task}/update",
     .roles = WORKER,
     .body = BODY_STREAM,
     .media_types = NAMES(MEDIA_SAFETENSORS, MEDIA_BYTES, MEDIA_JSON),
     .query = report_query,
     .sink = &api_update_sink,
     .handler = api_task_update},
    {.operation_id = "upload_create",
     .method = HTTP_POST,
     .path = V1 "/tasks/{task}/uploads",
     .roles = WORKER,
     .query = report_query,
     .handler = api_upload_create},
    GET("upload_list", V1 "/tasks/{task}/uploads", READER | WORKER, api_upload_list, .query = PAGED),
    GET("upload_get", V1 "/tasks/{task}/uploads/{upload}", READER | WORKER, api_upload_get, .query = NULL),
    {.operation_id = "upload_append",
     .method = HTTP_PATCH,
     .path = V1 "/tasks/{task}/uploads/{upload}",
     .roles = WORKER,
     .body = BODY_STREAM,
     .media_types = NAMES(MEDIA_PART, MEDIA_PART_TUS, MEDIA_BYTES),
     .sink = &api_upload_sink,
     .handler = api_upload_append},
    DELETE("upload_delete", V1 "/tasks/{task}/uploads/{upload}", WORKER, api_upload_delete),

    POST("experiment_create", V1 "/experiments", RUNNER, api_experiment_create, IDEMPOTENT, AUDITED),
    GET("experiment_list", V1 "/experiments", READER, api_experiment_list, .query = PAGED),
    GET("experiment_get", V1 "/experiments/{experiment}", READER, api_experiment_get, .query = NULL),
    PATCH("experiment_patch", V1 "/experiments/{experiment}", RUNNER, api_experiment_patch, AUDITED),

    POST("run_create", V1 "/runs", RUNNER, api_run_create, IDEMPOTENT, AUDITED),
    GET("run_list", V1 "/runs", READER, api_run_list,
        .query = NAMES("limit", "cursor", "experiment", "status", "sparkline")),
    GET("run_get", V1 "/runs/{run}", READER, api_run_get, .query = NULL),
    GET("run_spec", V1 "/runs/{run}/spec", READER, api_run_spec, .query = NULL),
    POST("run_start", V1 "/runs/{run}/start", RUNNER, api_run_start, IDEMPOTENT, OPTIONAL, AUDITED),
    POST("run_pause", V1 "/runs/{run}/pause", RUNNER, api_run_pause, IDEMPOTENT, OPTIONAL, AUDITED),
    POST("run_resume", V1 "/runs/{run}/resume", RUNNER, api_run_resume, IDEMPOTENT, OPTIONAL, AUDITED),
    POST("run_stop", V1 "/runs/{run}/stop", RUNNER, api_run_stop, IDEMPOTENT, OPTIONAL, AUDITED),
    PATCH("run_config_patch", V1 "/runs/{run}/config", RUNNER, api_run_config, AUDITED),

    GET("round_list", V1 "/runs/{run}/rounds", READER, api_round_list, .query = PAGED),
    GET("round_get", V1 "/runs/{run}/rounds/{round}", READER, api_round_get, .query = NULL),
    GET("round_task_list", V1 "/runs/{run}/rounds/{round}/tasks", READER, api_round_tasks,
        .query = NAMES("limit", "cursor", "status", "type")),
    GET("run_work", V1 "/runs/{run}/work", READER, api_run_work,
        .query = NAMES("limit", "cursor", "since_round")),
    GET("metric_list", V1 "/runs/{run}/metrics", READER, api_metrics,
        .query =
            NAMES("limit", "cursor", "name", "number", "device", "since_round", "max_points", "total_steps")),
    GET("run_event_list", V1 "/runs/{run}/events", READER, api_run_events,
        .query = NAMES("limit", "cursor", "since")),
    GET("event_list", V1 "/events", READER, api_events, .query = NAMES("limit", "cursor", "since")),

    GET("model_list", V1 "/runs/{run}/models", READER, api_model_list, .query = PAGED),
    GET("model_get", V1 "/runs/{run}/models/{version}", READER, api_model_get, .query = NULL),
    GET("weights_get", V1 "/runs/{run}/models/{version}/weights", READER | WORKER, api_weights_get,
        .query = NULL),
    {.operation_id = "weights_put",
     .method = HTTP_PUT,
     .path = V1 "/runs/{run}/models/{version}/weights",
     .roles = RUNNER,
     .is_audited = true,
     .body = BODY_STREAM,
     .media_types = TENSORS,
     .sink = &api_weights_sink,
     .handler = api_weights_put},
};

const size_t api_num_routes = sizeof api_routes / sizeof api_routes[0];
