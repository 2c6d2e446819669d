/* The functions behind the table. Each returns an error with cli->fault filled, or ERR_OK with cli->status
 * set. */
#ifndef FEDLANE_CLI_COMMANDS_H
#define FEDLANE_CLI_COMMANDS_H

#include "cli/cli.h"

enum err cmd_run_submit(struct cli *cli) MUST_CHECK;
enum err cmd_run_list(struct cli *cli) MUST_CHECK;
enum err cmd_run_show(struct cli *cli) MUST_CHECK;
enum err cmd_run_watch(struct cli *cli) MUST_CHECK;
enum err cmd_run_start(struct cli *cli) MUST_CHECK;
enum err cmd_run_stop(struct cli *cli) MUST_CHECK;
enum err cmd_run_pause(struct cli *cli) MUST_CHECK;
enum err cmd_run_resume(struct cli *cli) MUST_CHECK;
enum err cmd_run_compare(struct cli *cli) MUST_CHECK;
enum err cmd_worker_list(struct cli *cli) MUST_CHECK;
enum err cmd_worker_revoke(struct cli *cli) MUST_CHECK;
enum err cmd_device_list(struct cli *cli) MUST_CHECK;
enum err cmd_device_show(struct cli *cli) MUST_CHECK;
enum err cmd_device_revoke(struct cli *cli) MUST_CHECK;
enum err cmd_token_create(struct cli *cli) MUST_CHECK;
enum err cmd_token_list(struct cli *cli) MUST_CHECK;
enum err cmd_token_revoke(struct cli *cli) MUST_CHECK;
enum err cmd_model_pull(struct cli *cli) MUST_CHECK;
enum err cmd_metrics_get(struct cli *cli) MUST_CHECK;
enum err cmd_metrics_plot(struct cli *cli) MUST_CHECK;
enum err cmd_data_partition(struct cli *cli) MUST_CHECK;
enum err cmd_data_stats(struct cli *cli) MUST_CHECK;
enum err cmd_data_vocabulary(struct cli *cli) MUST_CHECK;
enum err cmd_simulate(struct cli *cli) MUST_CHECK;
enum err cmd_lanes_simulate(struct cli *cli) MUST_CHECK;
enum err cmd_doctor(struct cli *cli) MUST_CHECK;

#endif
