/* What unit tests share: golden data and the runner. */
#ifndef FEDLANE_TESTS_SUPPORT_UNIT_H
#define FEDLANE_TESTS_SUPPORT_UNIT_H

#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A document of tests/data; the caller decrefs. */
static inline json_t *unit_golden(const char *name)
{
    const char *srcdir = getenv("srcdir");
    char path[512];
    json_error_t error;
    (void)snprintf(path, sizeof path, "%s/tests/data/%s", srcdir ? srcdir : ".", name);
    json_t *root = json_load_file(path, 0, &error);
    ck_assert_msg(root != NULL, "%s: %s", path, error.text);
    return root;
}

/* Whether the longer proofs are asked for. */
static inline int unit_is_full(void)
{
    const char *full = getenv("FEDLANE_FULL");
    return full && strcmp(full, "yes") == 0;
}

/* How far apart the faults are that a test injects one after the other. Ten times slower, the thread
 * sanitizer looks at one of five: it is after races, not after each failing call. */
#if defined __SANITIZE_THREAD__
#define FAULT_STRIDE 5
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define FAULT_STRIDE 5
#endif
#endif
#ifndef FAULT_STRIDE
#define FAULT_STRIDE 1
#endif

/* An empty case. Its time limit only ends what hangs: it is far beyond what a busy machine needs. */
static inline TCase *unit_case(const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 600);
    return tc;
}

/* Runs a suite of this one case, which it frees; for `return unit_run_case(...)` in main. */
static inline int unit_run_case(const char *name, TCase *tc)
{
    Suite *suite = suite_create(name);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* Makes the case of these tests, and runs it; for `return unit_run(...)` in main. */
static inline int unit_run(const char *name, const TTest *const *tests, size_t num_tests)
{
    TCase *tc = unit_case(name);
    for (size_t i = 0; i < num_tests; i++)
        tcase_add_test(tc, tests[i]);
    return unit_run_case(name, tc);
}

#endif
