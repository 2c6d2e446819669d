/* What rounds have besides their metrics. */
#ifndef FEDLANE_API_ROUND_NUMBERS_H
#define FEDLANE_API_ROUND_NUMBERS_H

#include "server/api/metric_points.h"

/* Whether the mean of gamma is NaN, not merely not there: the row keeps no NaN, the text of its metrics does.
 */
bool round_gamma_is_nan(const struct round_row *round);
/* NULL where rounds have no number of that name. */
const char *round_number_find(const char *name);
/* filter->number of each closed round that has it, in place of a metric; as metric_points_read(). */
enum err round_numbers_read(struct store_txn *txn, const struct metric_filter *f, size_t max,
                            struct metric_points *out) MUST_CHECK;

#endif
