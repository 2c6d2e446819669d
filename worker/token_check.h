/* Do the model and the data mean the same by a token? A model that reads tokens looks them up in a table, so
 * all that the data have must be in it, and stand for what the run says. */
#ifndef FEDLANE_WORKER_TOKEN_CHECK_H
#define FEDLANE_WORKER_TOKEN_CHECK_H

#include "common/data/dataset.h"
#include "common/model/arch.h"

/* Of a model whose input has the data's number of features. ERR_INVALID_FIELD names the first token that
 * stands for something else, or the file, the example and the position of the first number that is no token.
 */
enum err token_check(const struct arch *arch, const struct dataset *data, struct fault *fault) MUST_CHECK;

#endif
