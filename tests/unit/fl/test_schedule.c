#include <string.h>
#include "common/base/rng.h"
#include "common/fl/schedule.h"
#include "tests/support/unit.h"

static int64_t at(const json_t *list, size_t i)
{
    return json_integer_value(json_array_get(list, i));
}

START_TEST(test_golden_schedule)
{
    json_t *root = unit_golden("schedule_golden.json");
    const uint64_t seeds[] = {1, 3, 6};
    for (size_t s = 0; s < 3; s++) {
        char name[16];
        (void)snprintf(name, sizeof name, "seed_%d", (int)seeds[s]);
        const json_t *rounds = json_object_get(root, name);
        ck_assert_uint_eq(json_array_size(rounds), 5);
        for (int64_t t = 0; t < 5; t++) {
            const json_t *round = json_array_get(rounds, (size_t)t);
            const json_t *selected = json_object_get(round, "selected"),
                         *rank = json_object_get(round, "rank");
            const json_t *epochs = json_object_get(round, "straggler_epochs");
            uint32_t got[10], ranks[10];
            ck_assert_int_eq(schedule_select(seeds[s], t, 30, 10, got), ERR_OK);
            ck_assert_int_eq(schedule_straggler_ranks(seeds[s], t, 10, ranks), ERR_OK);
            for (size_t i = 0; i < 10; i++) {
                ck_assert_int_eq(got[i], at(selected, i));
                ck_assert_int_eq(ranks[i], at(rank, i));
                ck_assert_int_eq(schedule_straggler_epochs(seeds[s], t, got[i], 20), at(epochs, i));
            }
        }
    }
    json_decref(root);
}
END_TEST

START_TEST(test_selection_is_the_head_of_the_permutation)
{
    const size_t populations[] = {1, 2, 7, 100, 5000};
    for (size_t p = 0; p < 5; p++) {
        size_t n = populations[p];
        static uint32_t all[5000], some[5000];
        ck_assert_int_eq(rng_permutation(rng_key(9, RNG_SELECT, 4, 0, 0), all, n), ERR_OK);
        for (size_t count = 0; count <= n; count += n > 100 ? 499 : 1) {
            ck_assert_int_eq(schedule_select(9, 4, n, count, some), ERR_OK);
            if (count > 0)
                ck_assert_mem_eq(some, all, count * sizeof *some);
        }
    }
}
END_TEST

START_TEST(test_active_count_rounds_half_up)
{
    ck_assert_uint_eq(schedule_num_active(10, 0), 10);
    ck_assert_uint_eq(schedule_num_active(10, 0.5), 5);
    ck_assert_uint_eq(schedule_num_active(10, 0.9), 1);
    ck_assert_uint_eq(schedule_num_active(10, 1), 0);
    ck_assert_uint_eq(schedule_num_active(3, 0.5), 2);
    ck_assert_uint_eq(schedule_num_active(0, 0.9), 0);
    /* Exactly half a device counts, whatever 1 - p is in binary: p in hundredths. */
    for (size_t count = 1; count <= 200; count++)
        for (size_t p = 0; p <= 100; p++)
            ck_assert_uint_eq(schedule_num_active(count, (double)p / 100), (count * (100 - p) + 50) / 100);
}
END_TEST

START_TEST(test_stragglers_are_nested)
{
    uint32_t ranks[10];
    ck_assert_int_eq(schedule_straggler_ranks(6, 3, 10, ranks), ERR_OK);
    size_t few = schedule_num_active(10, 0.9), many = schedule_num_active(10, 0.5);
    ck_assert_uint_lt(few, many); /* so who is active at 90 % is active at 50 % */
    unsigned seen = 0;
    for (size_t i = 0; i < 10; i++)
        seen |= 1u << ranks[i];
    ck_assert_uint_eq(seen, 0x3ff);
}
END_TEST

START_TEST(test_work_is_counted_in_steps)
{
    ck_assert_int_eq(schedule_steps_per_epoch(21, 10), 3);
    ck_assert_int_eq(schedule_steps_per_epoch(20, 10), 2);
    ck_assert_int_eq(schedule_full_steps(21, 10, 20, 0), 60);
    ck_assert_int_eq(schedule_full_steps(21, 10, 20, 7), 7);
    ck_assert_int_eq(schedule_full_steps(0, 10, 20, 7), 0);
    for (int64_t k = 0; k < 200; k++) {
        int64_t epochs = schedule_straggler_epochs(1, 2, k, 20);
        ck_assert_int_ge(epochs, 1);
        ck_assert_int_le(epochs, 20);
        ck_assert_int_eq(schedule_straggler_steps(1, 2, k, 21, 10, 20, 0), 3 * epochs);
        ck_assert_int_eq(schedule_straggler_steps(1, 2, k, 21, 10, 20, 20),
                         epochs); /* the same draw on 1..20 */
    }
    ck_assert_int_eq(schedule_straggler_steps(1, 2, 3, 0, 10, 20, 0), 0);
}
END_TEST

START_TEST(test_one_epoch_is_cut_in_batches)
{
    int64_t seen[7] = {0};
    for (int64_t k = 0; k < 400; k++) {
        int64_t steps = schedule_straggler_steps(1, 0, k, 51, 10, 1, 0);
        ck_assert_int_ge(steps, 1);
        ck_assert_int_le(steps, 6);
        seen[steps]++;
    }
    for (int i = 1; i <= 6; i++)
        ck_assert_int_gt(seen[i], 30);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_golden_schedule,
                                  test_selection_is_the_head_of_the_permutation,
                                  test_active_count_rounds_half_up,
                                  test_stragglers_are_nested,
                                  test_work_is_counted_in_steps,
                                  test_one_epoch_is_cut_in_batches};
    return unit_run("schedule", tests, sizeof tests / sizeof *tests);
}
