/* `fedlane-server restore`: makes a data directory of a backup. */
#ifndef FEDLANE_SERVER_RESTORE_H
#define FEDLANE_SERVER_RESTORE_H

#include "common/base/err.h"

enum err restore_command(int argc, char **argv, struct fault *fault) MUST_CHECK;

#endif
