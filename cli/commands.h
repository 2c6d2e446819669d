/* The functions behind the table. */
#ifndef FEDLANE_CLI_COMMANDS_H
#define FEDLANE_CLI_COMMANDS_H

#include "cli/cli.h"

enum err cmd_simulate(struct cli *cli) MUST_CHECK;

#endif
