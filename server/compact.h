/* `fedlane-server compact`: gives space that removed weights left back to the disk, while no server runs. */
#ifndef FEDLANE_SERVER_COMPACT_H
#define FEDLANE_SERVER_COMPACT_H

#include "common/base/err.h"

enum err compact_command(int argc, char **argv, struct fault *fault) MUST_CHECK;

#endif
