/* Data sets from files that a fuzzer made: loads, and proves what every loaded data set promises. */
#ifndef FEDLANE_TESTS_FUZZ_DATA_H
#define FEDLANE_TESTS_FUZZ_DATA_H

#include <jansson.h>
#include "tests/fuzz/fuzz.h"

/* `spec` is the object of "data". True where it was loaded. */
bool fuzz_dataset(const json_t *spec);
/* The same from text; the text must be JSON. */
bool fuzz_dataset_text(const char *spec);

#endif
