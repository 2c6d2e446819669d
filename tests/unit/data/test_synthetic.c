#include "tests/unit/data/support.h"

#include <math.h>
#include <stdlib.h>
#include "tests/support/unit.h"

static void ck_golden(const char *name, const char *data)
{
    json_t *root = golden("paper_golden.json");
    const json_t *set = json_object_get(json_object_get(root, "datasets"), name);
    const json_t *expected = json_object_get(set, "data"), *seeds = json_object_get(set, "seeds");
    ck_assert_uint_eq(json_array_size(expected), 6);
    for (size_t i = 0; i < json_array_size(expected); i++) {
        const json_t *one = json_array_get(expected, i);
        const double sum = json_real_value(json_object_get(one, "sum_x_train"));
        struct dataset *d = load((uint64_t)json_integer_value(json_array_get(seeds, i)), "%s", data);
        ck_golden_counts(d, one);
        ck_assert_double_eq_tol(sum_x_train(d), sum, 1e-6 * fabs(sum));
        dataset_free(d);
    }
    json_decref(root);
}

START_TEST(test_golden_1_1)
{
    ck_golden("synthetic_1_1", "{'source':'synthetic'}");
}
END_TEST

START_TEST(test_golden_0_0)
{
    ck_golden("synthetic_0_0", "{'source':'synthetic','alpha':0,'beta':0,'devices':30,'iid':false}");
}
END_TEST

START_TEST(test_golden_iid)
{
    ck_golden("synthetic_iid", "{'source':'synthetic','iid':true}");
}
END_TEST

static void ck_same_device(const struct dataset *a, const struct dataset *b, size_t k, enum data_split split)
{
    const struct device_data *da = dataset_device(a, k), *db = dataset_device(b, k);
    const size_t n = split == SPLIT_TRAIN ? da->num_train : da->num_test;
    ck_assert_uint_eq(da->num_train, db->num_train);
    ck_assert_uint_eq(da->num_test, db->num_test);
    for (size_t i = 0; i < n; i++) {
        float xa[60], xb[60];
        int32_t ya, yb;
        dataset_gather(a, da, split, i, NULL, 1, xa, &ya);
        dataset_gather(b, db, split, i, NULL, 1, xb, &yb);
        ck_assert_int_eq(ya, yb);
        ck_assert_mem_eq(xa, xb, sizeof xa);
    }
}

static void ck_same(const struct dataset *a, const struct dataset *b)
{
    ck_assert_uint_eq(dataset_num_devices(a), dataset_num_devices(b));
    for (size_t k = 0; k < dataset_num_devices(a); k++) {
        ck_same_device(a, b, k, SPLIT_TRAIN);
        ck_same_device(a, b, k, SPLIT_TEST);
    }
}

START_TEST(test_devices_do_not_depend_on_their_number)
{
    struct dataset *few = load(3, "{'source':'synthetic','devices':4}");
    struct dataset *many = load(3, "{'source':'synthetic','devices':9}");
    for (size_t k = 0; k < 4; k++)
        ck_same_device(few, many, k, SPLIT_TRAIN);
    dataset_free(few);
    dataset_free(many);
}
END_TEST

START_TEST(test_seed_of_the_object_comes_first)
{
    struct dataset *given = load(99, "{'source':'synthetic','devices':3,'seed':5}");
    struct dataset *by_default = load(5, "{'source':'synthetic','devices':3}");
    ck_same(given, by_default);
    dataset_free(given);
    dataset_free(by_default);
}
END_TEST

/* alpha moves all logits of a device alike, so it changes no label. */
START_TEST(test_alpha_changes_nothing)
{
    struct dataset *zero = load(2, "{'source':'synthetic','devices':5,'alpha':0}");
    struct dataset *one = load(2, "{'source':'synthetic','devices':5,'alpha':1}");
    ck_same(zero, one);
    dataset_free(zero);
    dataset_free(one);
}
END_TEST

START_TEST(test_bad_fields)
{
    static const struct {
        const char *fields, *field;
    } bad[] = {
        {"'alpha':-1", "data.alpha"},
        {"'alpha':1e300", "data.alpha"},
        {"'alpha':'one'", "data.alpha"},
        {"'beta':-0.5", "data.beta"},
        {"'beta':1e7", "data.beta"},
        {"'devices':0", "data.devices"},
        {"'devices':-3", "data.devices"},
        {"'devices':2.5", "data.devices"},
        {"'devices':1000001", "data.devices"},
        {"'devices':9223372036854775807", "data.devices"},
        {"'iid':1", "data.iid"},
        {"'seed':-1", "data.seed"},
        {"'seed':1.5", "data.seed"},
        {"'name':''", "data.name"},
        {"'name':7", "data.name"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_refused(ERR_INVALID_FIELD, bad[i].field, "", "{'source':'synthetic',%s}", bad[i].fields);
    ck_refused(ERR_UNKNOWN_FIELD, "data.alhpa", "alpha", "{'source':'synthetic','alhpa':1}");
    ck_refused(ERR_UNKNOWN_FIELD, "data.partition", "", "{'source':'synthetic','partition':{'name':'iid'}}");
}
END_TEST

START_TEST(test_too_large_for_memory)
{
    ck_refused(ERR_INVALID_FIELD, "data.devices", "fewer devices",
               "{'source':'synthetic','devices':1000000}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("synthetic");
    TCase *tc = unit_case("synthetic");
    tcase_add_test(tc, test_golden_1_1);
    tcase_add_test(tc, test_golden_0_0);
    tcase_add_test(tc, test_golden_iid);
    tcase_add_test(tc, test_devices_do_not_depend_on_their_number);
    tcase_add_test(tc, test_seed_of_the_object_comes_first);
    tcase_add_test(tc, test_alpha_changes_nothing);
    tcase_add_test(tc, test_bad_fields);
    tcase_add_test(tc, test_too_large_for_memory);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
