#include "server/core/events.h"

#include <stdio.h>
#include "common/base/log.h"
#include "common/json/json_num.h"

enum err notify_topic(struct work *w, const char *kind, const char *id)
{
    char topic[64];
    (void)snprintf(topic, sizeof topic, "%s:%s", kind, id);
    return store_notify(w->txn, topic);
}

static enum err insert(struct work *w, struct event_row *row, json_t *data)
{
    enum err e = json_to_arena(w->arena, data, &row->data);
    if (!e)
        e = store_insert(w->txn, RECORD_EVENT, row);
    return e ? e : store_notify(w->txn, "events");
}

enum err event_add(struct work *w, struct run_row *run, const char *type, json_t *data)
{
    struct event_row row;
    if (w->core->is_simulated) {
        json_decref(data);
        return data ? ERR_OK : ERR_NO_MEMORY;
    }
    record_init(RECORD_EVENT, &row);
    row.run_id = run->id;
    row.seq = ++run->last_event;
    row.type = type;
    row.at = w->now_ms;
    enum err e = insert(w, &row, data);
    return e ? e : notify_topic(w, "run", run->id);
}

enum err event_add_global(struct work *w, const char *type, json_t *data)
{
    struct event_row row;
    record_init(RECORD_EVENT, &row);
    /* Unique and ascending, over restarts too, without a counter in the store. */
    int64_t least = w->now_ms * 1000;
    row.seq = w->core->last_global_seq < least ? least : w->core->last_global_seq + 1;
    w->core->last_global_seq = row.seq;
    row.type = type;
    row.at = w->now_ms;
    return insert(w, &row, data);
}

bool event_number(json_t *obj, const char *key, double value, bool is_known)
{
    return obj && (!is_known || !json_object_set_new(obj, key, json_num(value)));
}

enum err event_warn(struct work *w, struct run_row *run, const char *text)
{
    log_warning("core", "run %s: %s", run->id, text);
    return event_add(w, run, "warning", json_pack("{s:s}", "detail", text));
}
