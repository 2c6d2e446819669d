/* Torture: the n-th allocation of the code under test fails. Programs that use it link with
 * TORTURE_LINK, which sends malloc, calloc, realloc, strdup and strndup of our own objects through
 * here; libraries keep theirs. */
#ifndef FEDLANE_TESTS_SUPPORT_ALLOC_FAIL_H
#define FEDLANE_TESTS_SUPPORT_ALLOC_FAIL_H

#include <stdbool.h>

/* n = 0: the calling thread's next allocation fails, n = 1: the one after it, ... and only that one. */
void alloc_fail_at(long n);
/* No further failures; says whether the failure came about. */
bool alloc_fail_end(void);
/* Of the allocations of all threads, the one after n others fails; to go on later, how many are left of n: -1
 * when it came about. */
void alloc_fail_anywhere(long n);
long alloc_fail_anywhere_left(void);
/* Makes Jansson allocate through here, too. */
void alloc_fail_jansson(void);

#endif
