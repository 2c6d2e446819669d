/* Lists come in pages. */
#ifndef FEDLANE_TESTS_API_PAGES_H
#define FEDLANE_TESTS_API_PAGES_H

#include "tests/api/lab.h"

/* The list (a path, perhaps with a query) has `expected` items, and pages of one, two and three items hold
 * the same ids in the same order, each page but the last full. */
void pages_agree(const struct lab *lab, const char *list, size_t expected);

#endif
