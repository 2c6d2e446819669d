/* `fedlane-server backup`: a copy of all that a server keeps, made while it runs or while it does not. */
#ifndef FEDLANE_SERVER_BACKUP_H
#define FEDLANE_SERVER_BACKUP_H

#include "common/base/err.h"

enum err backup_command(int argc, char **argv, struct fault *fault) MUST_CHECK;

#endif
