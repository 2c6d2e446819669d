/* The record of who did what: a row in the same transaction as the effect, for every route whose row in the
 * table says is_audited. Rows are never changed and never removed. */
#ifndef FEDLANE_API_AUDIT_H
#define FEDLANE_API_AUDIT_H

#include "server/api/context.h"

/* In the transaction that did what the request asked for. */
enum err audit_add(struct store_txn *txn, const struct pending *p) MUST_CHECK;

#endif
