/* Which devices' data can serve a run's model. */
#ifndef FEDLANE_CORE_MISFIT_H
#define FEDLANE_CORE_MISFIT_H

#include "common/model/arch.h"
#include "server/core/work.h"

/* What a run wants of its devices' data. All devices must mean the same by their tokens (or have the same
 * word vectors): what the model names, else what the first device that tells has. */
struct wanted_data {
    const struct arch *arch;
    const char *vocabulary_sha256; /* "": nobody told yet */
    const char *vocabulary_of;     /* who did, for messages */
};

struct wanted_data wanted_data(const struct arch *arch);
/* The SHA-256 of what a device's features stand for: its capability `vocabulary_sha256`; "" where it tells
 * nothing. In the arena. */
enum err device_vocabulary(struct work *w, const struct device_row *d, const char **out) MUST_CHECK;
/* Nobody told yet: then this device does, if it tells. */
enum err wanted_from(struct work *w, const struct device_row *d, struct wanted_data *wanted) MUST_CHECK;
/* *out: "" where the device's data can serve the model, else what does not fit, in the arena. */
enum err device_misfit(struct work *w, const struct device_row *d, const struct wanted_data *wanted,
                       const char **out) MUST_CHECK;
/* The same for what its features stand for alone, which costs next to nothing. */
enum err device_other_vocabulary(struct work *w, const struct device_row *d, const struct wanted_data *wanted,
                                 const char **out) MUST_CHECK;

#endif
