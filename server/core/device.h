/* Devices: registering, changing, revoking. */
#ifndef FEDLANE_CORE_DEVICE_H
#define FEDLANE_CORE_DEVICE_H

#include "common/json/json_spec.h"
#include "server/core/work.h"

/* The object that describes one device. ordinal -1: none was given. */
struct device_spec {
    const char *name, *dataset, *token_sha256;
    int64_t ordinal, num_examples, num_test_examples, classes;
    json_t *input, *labels, *capabilities; /* borrowed; NULL where not given */
};
enum err device_spec_parse(struct work *w, const json_t *body, const char *prefix,
                           struct device_spec *out) MUST_CHECK;

/* A new device of `worker_id` ("": none). Without an ordinal it gets the next free one of its data set.
 * ERR_CONFLICT where the ordinal is taken, naming by whom. */
enum err device_insert(struct work *w, const char *worker_id, const struct device_spec *spec,
                       struct device_row *out) MUST_CHECK;
/* What a device that comes back says about itself. ERR_CONFLICT where its data changed: sizes are changed by
 * PATCH only. */
enum err device_renew(struct work *w, const struct device_spec *spec, struct device_row *device) MUST_CHECK;
/* The device at this ordinal that is not revoked; *out_found. */
enum err device_at(struct work *w, const char *dataset, int64_t ordinal, struct device_row *out,
                   bool *out_found) MUST_CHECK;

/* Revokes it and its tokens; its open tasks have failed. */
enum err device_end(struct work *w, struct device_row *device, const char *reason) MUST_CHECK;

/* An object of any values, not too large; NULL is an empty one. */
enum err capabilities_read(struct work *w, json_t *capabilities, const char **out_text) MUST_CHECK;
/* The rows of the device's labels as its own row says them; former: what it said before. */
enum err device_labels_set(struct work *w, const struct device_row *device, const char *former) MUST_CHECK;
/* labels: object of short texts. */
enum err labels_read(struct work *w, const json_t *labels, const char *field,
                     const char **out_text) MUST_CHECK;

#endif
