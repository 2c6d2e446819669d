/* THE route table: every path that the server answers, who may call it, and what it takes. */
#ifndef FEDLANE_API_ROUTES_H
#define FEDLANE_API_ROUTES_H

#include "server/httpd/router.h"

extern const struct route api_routes[];
extern const size_t api_num_routes;

#endif
