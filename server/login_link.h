/* fedlane-server login-link: a URL that signs a person in to the dashboard, once. */
#ifndef FEDLANE_SERVER_LOGIN_LINK_H
#define FEDLANE_SERVER_LOGIN_LINK_H

#include "common/base/err.h"

/* argv[0] is "login-link". Prints the URL on stdout and what it is good for on stderr. */
enum err login_link(int argc, char **argv, struct fault *fault) MUST_CHECK;

#endif
