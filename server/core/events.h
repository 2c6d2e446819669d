/* What happened, in order, for people and programs that watch. */
#ifndef FEDLANE_CORE_EVENTS_H
#define FEDLANE_CORE_EVENTS_H

#include "server/core/work.h"

/* Adds an event to the run: takes the next sequence number from run->last_event, so the caller saves the run
 * afterwards. Takes the reference; `data` NULL (building it failed) is ERR_NO_MEMORY. Notifies "run:ID" and
 * "events". */
enum err event_add(struct work *w, struct run_row *run, const char *type, json_t *data) MUST_CHECK;
/* An event of no run. */
enum err event_add_global(struct work *w, const char *type, json_t *data) MUST_CHECK;
/* obj[key] = value, NaN too; what is not known is left out. False when out of memory or obj is NULL. */
bool event_number(json_t *obj, const char *key, double value, bool is_known);
/* A "warning" event, and a line in the log. */
enum err event_warn(struct work *w, struct run_row *run, const char *text) MUST_CHECK;
/* Notifies "KIND:ID". */
enum err notify_topic(struct work *w, const char *kind, const char *id) MUST_CHECK;

#endif
