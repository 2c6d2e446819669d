#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "common/base/arena.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"

/* One assertion for all bytes: each has its price. */
static bool are_all(const unsigned char *bytes, size_t n, unsigned value)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

START_TEST(test_zeroed_and_aligned)
{
    struct arena a = ARENA_INIT(1 << 20);
    static const size_t sizes[] = {0, 1, 7, 16, 17, 1000, 1024, 1025, 4096, 5000, 70000, 3, 200000, 1};
    unsigned char *parts[sizeof sizes / sizeof *sizes];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        parts[i] = arena_alloc(&a, sizes[i]);
        ck_assert_ptr_nonnull(parts[i]);
        ck_assert_uint_eq((uintptr_t)parts[i] % alignof(max_align_t), 0);
        ck_assert(are_all(parts[i], sizes[i], 0));
        memset(parts[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) /* nobody's bytes were given out twice */
        ck_assert(are_all(parts[i], sizes[i], (unsigned)i + 1));
    arena_release(&a);
    ck_assert_uint_eq(a.used, 0);
    ck_assert_uint_eq(a.max, 1 << 20);
    ck_assert_ptr_nonnull(arena_alloc(&a, 5));
    arena_release(&a);
    arena_release(&a);
}
END_TEST

START_TEST(test_many_small)
{
    struct arena a;
    arena_init(&a, 1 << 22);
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t *p = arena_alloc(&a, sizeof *p);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq(*p, 0);
        *p = i;
    }
    arena_release(&a);
}
END_TEST

START_TEST(test_maximum)
{
    struct arena a = ARENA_INIT(100);
    ck_assert_ptr_null(arena_alloc(&a, 101));
    ck_assert_ptr_nonnull(arena_alloc(&a, 90));
    ck_assert_ptr_null(arena_alloc(&a, 16));
    ck_assert_ptr_null(arena_alloc(&a, SIZE_MAX));
    ck_assert_ptr_null(arena_alloc(&a, SIZE_MAX / 2));
    ck_assert_ptr_null(arena_calloc(&a, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(arena_calloc(&a, 3, SIZE_MAX / 2));
    arena_release(&a);
    ck_assert_ptr_nonnull(arena_calloc(&a, 5, 4));
    ck_assert_ptr_nonnull(arena_calloc(&a, 5, 0));
    arena_release(&a);
}
END_TEST

START_TEST(test_texts)
{
    struct arena a = ARENA_INIT(1 << 16);
    ck_assert_str_eq(arena_strdup(&a, "abc"), "abc");
    ck_assert_ptr_null(arena_strdup(&a, NULL));
    ck_assert_ptr_null(arena_strndup(&a, NULL, 3));
    ck_assert_str_eq(arena_strndup(&a, "abcdef", 3), "abc");
    ck_assert_str_eq(arena_strndup(&a, "ab", 3), "ab");
    ck_assert_str_eq(arena_printf(&a, "%s/%d", "x", 5), "x/5");
    ck_assert_mem_eq(arena_memdup(&a, "a\0b", 3), "a\0b", 3);
    ck_assert_ptr_nonnull(arena_memdup(&a, NULL, 0));
    arena_release(&a);
}
END_TEST

START_TEST(test_cleared_is_zeroed)
{
    struct arena a = ARENA_INIT(1 << 22);
    arena_clear(&a);
    for (size_t round = 0; round < 20; round++) {
        for (size_t i = 0; i < 40 * round; i++) {
            const size_t n = 1 + i * 37 % 3000;
            unsigned char *p = arena_alloc(&a, n);
            ck_assert(are_all(p, n, 0));
            memset(p, 0xff, n);
        }
        arena_clear(&a);
        ck_assert_uint_eq(a.used, 0);
    }
    char *once = arena_printf(&a, "%0255d", 7), *twice = arena_printf(&a, "%0256d", 7);
    ck_assert_uint_eq(strlen(once), 255);
    ck_assert_uint_eq(strlen(twice), 256);
    ck_assert_str_eq(once + 250, twice + 251);
    arena_release(&a);
}
END_TEST

START_TEST(test_no_memory)
{
    struct arena a = ARENA_INIT(1 << 20);
    alloc_fail_at(0);
    ck_assert_ptr_null(arena_alloc(&a, 1));
    ck_assert(alloc_fail_end());
    ck_assert_uint_eq(a.used, 0);
    ck_assert_str_eq(arena_strdup(&a, "abc"), "abc");
    alloc_fail_at(0);
    ck_assert_ptr_null(arena_alloc(&a, 100000));
    ck_assert(alloc_fail_end());
    alloc_fail_at(0);
    ck_assert_ptr_null(arena_printf(&a, "%9000d", 1));
    ck_assert(alloc_fail_end());
    ck_assert_ptr_nonnull(arena_alloc(&a, 100000));
    arena_release(&a);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_zeroed_and_aligned, test_many_small, test_maximum, test_texts,
                                  test_cleared_is_zeroed,  test_no_memory};
    return unit_run("arena", tests, sizeof tests / sizeof *tests);
}
