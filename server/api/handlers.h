/* Every handler of the route table, a file per resource. Signature and rules: server/httpd/router.h. */
#ifndef FEDLANE_API_HANDLERS_H
#define FEDLANE_API_HANDLERS_H

#include "server/httpd/router.h"

/* health.c, openapi.c, prometheus.c */
route_handler api_healthz, api_readyz, api_version, api_strategies, api_openapi, api_prometheus;
/* dashboard.c */
route_handler api_page, api_asset;
/* tokens.c */
route_handler api_token_create, api_token_list, api_token_self, api_token_revoke;
/* audit.c */
route_handler api_audit;
/* login.c */
route_handler api_login;
/* workers.c, register.c */
route_handler api_worker_register, api_worker_list, api_worker_get, api_worker_revoke;
/* devices.c, device_list.c, register.c */
route_handler api_device_register, api_device_list, api_device_get, api_device_patch, api_device_revoke;
route_handler api_device_tasks;
/* heartbeat.c */
route_handler api_worker_heartbeat, api_device_heartbeat, api_task_progress;
/* claim.c */
route_handler api_worker_claim, api_device_claim;
/* tasks.c, update.c */
route_handler api_task_get, api_task_fail, api_task_release, api_task_update;
extern const struct body_sink_ops api_update_sink;
/* resumable.c, resumable_append.c */
route_handler api_upload_create, api_upload_list, api_upload_get, api_upload_append, api_upload_delete;
extern const struct body_sink_ops api_upload_sink;
/* experiments.c */
route_handler api_experiment_create, api_experiment_list, api_experiment_get, api_experiment_patch;
/* runs.c */
route_handler api_run_create, api_run_list, api_run_get, api_run_spec, api_run_config;
route_handler api_run_start, api_run_pause, api_run_resume, api_run_stop;
/* rounds.c */
route_handler api_round_list, api_round_get, api_round_tasks;
/* work.c */
route_handler api_run_work;
/* metrics.c */
route_handler api_metrics;
/* events.c */
route_handler api_run_events, api_events;
/* models.c, weights.c, put_weights.c */
route_handler api_model_list, api_model_get, api_weights_get, api_weights_put;
extern const struct body_sink_ops api_weights_sink;

#endif
