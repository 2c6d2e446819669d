/* A model that reads tokens looks them up in a table, so all that the data have must be in it. */
#ifndef FEDLANE_WORKER_TOKEN_CHECK_H
#define FEDLANE_WORKER_TOKEN_CHECK_H

#include "common/data/dataset.h"
#include "common/model/arch.h"

/* Of a model whose input has the data's number of features; nothing to do where it is no sequence of tokens.
 * ERR_INVALID_FIELD names the device, the example and the position of the first that is none. */
enum err token_check(const struct arch *arch, const struct dataset *data, struct fault *fault) MUST_CHECK;

#endif
