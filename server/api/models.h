#ifndef FEDLANE_API_MODELS_H
#define FEDLANE_API_MODELS_H

#include "server/api/context.h"

/* The model that the path names: a number or "latest". */
enum err model_of_path(struct reading *r, struct store_txn *txn, struct model_row *out) MUST_CHECK;

#endif
