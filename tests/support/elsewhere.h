/* A compute backend for tests whose memory the CPU does not reach, as an accelerator's: it does the forward
 * products itself and leaves the rest to the reference. */
#ifndef FEDLANE_TESTS_SUPPORT_ELSEWHERE_H
#define FEDLANE_TESTS_SUPPORT_ELSEWHERE_H

#include "common/compute/compute_impl.h"

extern const struct compute_backend elsewhere_backend;

#endif
