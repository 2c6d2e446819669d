/* The figures of a run. */
#ifndef FEDLANE_LANES_VIRTUAL_SUMMARY_H
#define FEDLANE_LANES_VIRTUAL_SUMMARY_H

#include "lanes/virtual/virtual.h"

struct summary_scratch {
    int64_t *completions; /* [as many as rows] */
};

struct virtual_summary summarise(const struct virtual_job *rows, const struct virtual_outcome *outcomes,
                                 size_t n, const struct summary_scratch *scratch);

#endif
