/* `fedlane-server init-tls`: an authority of one's own, and certificates of it. */
#ifndef FEDLANE_SERVER_INIT_TLS_H
#define FEDLANE_SERVER_INIT_TLS_H

#include "common/base/err.h"

/* argv[0] is "init-tls". Says on stdout what was made and what to start next. */
enum err init_tls(int argc, char **argv, struct fault *fault) MUST_CHECK;

#endif
