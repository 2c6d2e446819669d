#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/data/partition.h"
#include "tests/support/unit.h"

#define MAX_ROWS 5000

struct fixture {
    int32_t labels[MAX_ROWS];
    struct labelled in;
    struct shares shares;
};

/* Labels in no order: row i has label i * 7 % 11 % classes. */
static void fixture_init(struct fixture *f, size_t num_rows, int classes)
{
    ck_assert_uint_le(num_rows, MAX_ROWS);
    for (size_t i = 0; i < num_rows; i++)
        f->labels[i] = (int32_t)(i * 7 % 11 % (size_t)classes);
    f->in = (struct labelled){f->labels, num_rows, classes};
    f->shares = (struct shares){0};
}

static enum err run(struct fixture *f, const char *json, uint64_t seed, struct fault *fault)
{
    struct partition partition;
    json_error_t error;
    json_t *obj = json_loads(json, 0, &error);
    ck_assert_msg(obj != NULL, "%s: %s", json, error.text);
    enum err err = partition_parse(obj, "iid", &partition, fault);
    if (err == ERR_OK)
        err = partition_run(&partition, &f->in, seed, &f->shares, fault);
    json_decref(obj);
    return err;
}

static void must_run(struct fixture *f, const char *json, uint64_t seed)
{
    struct fault fault = FAULT_NONE;
    const enum err err = run(f, json, seed, &fault);
    ck_assert_msg(err == ERR_OK, "%s: %s: %s", json, fault.field, fault.detail);
}

/* Every row at most once, at least two to each device. Returns how many rows are given. */
static size_t ck_shares(const struct fixture *f, size_t devices)
{
    static bool is_taken[MAX_ROWS];
    memset(is_taken, 0, sizeof is_taken);
    ck_assert_uint_eq(f->shares.num_devices, devices);
    ck_assert_uint_eq(f->shares.first[0], 0);
    for (size_t k = 0; k < devices; k++)
        ck_assert_uint_ge(shares_count(&f->shares, k), 2);
    for (size_t i = 0; i < f->shares.first[devices]; i++) {
        ck_assert_uint_lt(f->shares.rows[i], f->in.num_rows);
        ck_assert(!is_taken[f->shares.rows[i]]);
        is_taken[f->shares.rows[i]] = true;
    }
    return f->shares.first[devices];
}

static int labels_of(const struct fixture *f, size_t device)
{
    unsigned seen = 0;
    int count = 0;
    for (size_t i = f->shares.first[device]; i < f->shares.first[device + 1]; i++)
        seen |= 1u << f->labels[f->shares.rows[i]];
    for (; seen; seen &= seen - 1)
        count++;
    return count;
}

static struct fixture fixture, again;

START_TEST(test_rows_by_label_is_stable)
{
    uint32_t rows[1000];
    size_t first[8];
    fixture_init(&fixture, 1000, 7);
    rows_by_label(&fixture.in, rows, first);
    ck_assert_uint_eq(first[0], 0);
    ck_assert_uint_eq(first[7], 1000);
    for (size_t l = 0; l < 7; l++)
        for (size_t i = first[l]; i < first[l + 1]; i++) {
            ck_assert_int_eq(fixture.labels[rows[i]], (int32_t)l);
            if (i > first[l])
                ck_assert_uint_gt(rows[i], rows[i - 1]);
        }
}
END_TEST

START_TEST(test_iid)
{
    uint32_t order[1003];
    fixture_init(&fixture, 1003, 5);
    must_run(&fixture, "{\"name\":\"iid\",\"devices\":10}", 4);
    ck_assert_uint_eq(ck_shares(&fixture, 10), 1003);
    for (size_t k = 0; k < 10; k++)
        ck_assert_uint_eq(shares_count(&fixture.shares, k), k < 3 ? 101 : 100);
    ck_assert_int_eq(rng_permutation(rng_key(4, 16, 0, 0, 0), order, 1003), ERR_OK);
    ck_assert_mem_eq(fixture.shares.rows, order, sizeof order);
    shares_release(&fixture.shares);
}
END_TEST

START_TEST(test_label_shards)
{
    uint32_t sorted[1007], order[20];
    size_t first[6];
    fixture_init(&fixture, 1007, 5);
    must_run(&fixture, "{\"name\":\"label_shards\",\"devices\":10,\"shards_per_device\":2}", 4);
    ck_assert_uint_eq(ck_shares(&fixture, 10), 1007);
    rows_by_label(&fixture.in, sorted, first);
    ck_assert_int_eq(rng_permutation(rng_key(4, 17, 0, 0, 0), order, 20), ERR_OK);
    /* Shards of 50, the last of 57; device k has shards order[2k] and order[2k + 1]. */
    const uint32_t *rows = fixture.shares.rows;
    for (size_t i = 0; i < 20; i++) {
        const size_t n = order[i] == 19 ? 57 : 50;
        ck_assert_mem_eq(rows, sorted + (size_t)order[i] * 50, n * sizeof *rows);
        rows += n;
        if (i % 2 == 1)
            ck_assert_ptr_eq(rows, fixture.shares.rows + fixture.shares.first[i / 2 + 1]);
    }
    shares_release(&fixture.shares);
}
END_TEST

/* Where shards divide the classes, s shards are at most s labels. */
START_TEST(test_label_shards_bound_the_labels)
{
    fixture_init(&fixture, 4000, 4);
    for (size_t i = 0; i < 4000; i++)
        fixture.labels[i] = (int32_t)(i % 4);
    must_run(&fixture, "{\"name\":\"label_shards\",\"devices\":20,\"shards_per_device\":2}", 1);
    ck_assert_uint_eq(ck_shares(&fixture, 20), 4000);
    for (size_t k = 0; k < 20; k++) {
        ck_assert_uint_eq(shares_count(&fixture.shares, k), 200);
        ck_assert_int_le(labels_of(&fixture, k), 2);
    }
    shares_release(&fixture.shares);
}
END_TEST

START_TEST(test_paper_label_shards)
{
    fixture_init(&fixture, 5000, 10);
    for (size_t i = 0; i < 5000; i++)
        fixture.labels[i] = (int32_t)(i % 10);
    must_run(&fixture, "{\"name\":\"paper_label_shards\",\"devices\":200}", 1);
    const size_t given = ck_shares(&fixture, 200);
    ck_assert_uint_ge(given, 2000);
    for (size_t k = 0; k < 200; k++) {
        const uint32_t *rows = fixture.shares.rows + fixture.shares.first[k];
        ck_assert_uint_ge(shares_count(&fixture.shares, k), 10);
        ck_assert_int_eq(labels_of(&fixture, k), 2);
        /* The n-th taking of a label in file order: devices k and k - 1 (mod 10) of each ten share it. */
        for (size_t i = 0; i < 10; i++) {
            const size_t label = (k + i / 5) % 10;
            ck_assert_int_eq(fixture.labels[rows[i]], (int32_t)label);
            ck_assert_uint_lt(rows[i], 10 * 200);
            if (i % 5 > 0)
                ck_assert_uint_eq(rows[i], rows[i - 1] + 10);
        }
        for (size_t i = 10; i < shares_count(&fixture.shares, k); i++)
            ck_assert_uint_ge(rows[i], 10 * 200);
    }
    shares_release(&fixture.shares);
}
END_TEST

/* How many examples of each label a device has. */
static void count_labels(const struct fixture *f, size_t device, size_t out[16])
{
    memset(out, 0, 16 * sizeof *out);
    for (size_t i = f->shares.first[device]; i < f->shares.first[device + 1]; i++)
        out[f->labels[f->shares.rows[i]]]++;
}

static void fixture_even(struct fixture *f, size_t classes)
{
    fixture_init(f, MAX_ROWS, (int)classes);
    for (size_t i = 0; i < MAX_ROWS; i++)
        f->labels[i] = (int32_t)(i % classes);
}

/* A device has its rows class by class, and over the devices in ascending order the rows of a class follow
 * the stream of the order within it. */
START_TEST(test_dirichlet_takes_classes_in_their_order)
{
    static uint32_t sorted[MAX_ROWS], order[MAX_ROWS];
    size_t first[11], next[10] = {0};
    fixture_init(&fixture, MAX_ROWS, 10);
    must_run(&fixture, "{\"name\":\"dirichlet\",\"devices\":20}", 3);
    ck_assert_uint_eq(ck_shares(&fixture, 20), MAX_ROWS);
    rows_by_label(&fixture.in, sorted, first);
    for (size_t l = 0; l < 10; l++)
        ck_assert_int_eq(rng_permutation(rng_key(3, 19, l, 0, 0), order + first[l], first[l + 1] - first[l]),
                         ERR_OK);
    for (size_t k = 0; k < 20; k++) {
        ck_assert_uint_ge(shares_count(&fixture.shares, k), 10);
        for (size_t i = fixture.shares.first[k]; i < fixture.shares.first[k + 1]; i++) {
            const size_t l = (size_t)fixture.labels[fixture.shares.rows[i]];
            ck_assert_uint_eq(fixture.shares.rows[i], sorted[first[l] + order[first[l] + next[l]++]]);
            if (i > fixture.shares.first[k])
                ck_assert_int_ge((int)l, fixture.labels[fixture.shares.rows[i - 1]]);
        }
    }
    shares_release(&fixture.shares);
}
END_TEST

/* As alpha grows, the shares become 1/D each: the spread of Dirichlet(alpha) over D devices is
 * sqrt((D - 1) / (D alpha + 1)) / D. */
START_TEST(test_dirichlet_spread)
{
    static const double alphas[] = {0.3, 1, 5, 100};
    for (size_t a = 0; a < 4; a++) {
        const size_t devices = 10, classes = 10, seeds = 30, of_class = MAX_ROWS / classes;
        double squares = 0;
        char json[128];
        (void)snprintf(json, sizeof json,
                       "{\"name\":\"dirichlet\",\"devices\":10,\"alpha\":%g,\"min_examples\":2}", alphas[a]);
        for (size_t seed = 0; seed < seeds; seed++) {
            size_t counts[16];
            fixture_even(&fixture, classes);
            must_run(&fixture, json, seed);
            ck_assert_uint_eq(ck_shares(&fixture, devices), MAX_ROWS);
            for (size_t k = 0; k < devices; k++) {
                count_labels(&fixture, k, counts);
                for (size_t l = 0; l < classes; l++) {
                    const double off = (double)counts[l] / (double)of_class - 1.0 / (double)devices;
                    squares += off * off;
                }
            }
            shares_release(&fixture.shares);
        }
        const double spread = sqrt(squares / (double)(seeds * devices * classes));
        const double expected = sqrt(9 / (10 * alphas[a] + 1)) / 10;
        ck_assert_msg(fabs(spread / expected - 1) < 0.06, "alpha %g: %g instead of %g", alphas[a], spread,
                      expected);
    }
}
END_TEST

/* Whatever alpha is, nothing is lost, and no share is NaN: that would be a cut at any place. */
START_TEST(test_dirichlet_extremes)
{
    static const char *const alphas[] = {"1e-3", "1e-300", "5e-324", "1e15", "1.7e308"};
    for (size_t a = 0; a < 5; a++) {
        const bool is_tiny = strstr(alphas[a], "e-") != NULL;
        char json[128];
        (void)snprintf(json, sizeof json,
                       "{\"name\":\"dirichlet\",\"devices\":3,\"alpha\":%s,\"min_examples\":2}", alphas[a]);
        fixture_even(&fixture, 10);
        must_run(&fixture, json, 5);
        ck_assert_uint_eq(ck_shares(&fixture, 3), MAX_ROWS);
        int labels = 0;
        for (size_t k = 0; k < 3; k++)
            labels += labels_of(&fixture, k);
        /* Each class belongs to one device, or all have all. */
        ck_assert_int_eq(labels, is_tiny ? 10 : 30);
        for (size_t k = 0; !is_tiny && k < 3; k++)
            ck_assert_uint_le(shares_count(&fixture.shares, k) - 1660, 10);
        shares_release(&fixture.shares);
    }
}
END_TEST

START_TEST(test_dirichlet_with_classes_that_nobody_has)
{
    fixture_init(&fixture, 100, 1);
    fixture.in.num_classes = 300;
    must_run(&fixture, "{\"name\":\"dirichlet\",\"devices\":2}", 1);
    ck_assert_uint_eq(ck_shares(&fixture, 2), 100);
    shares_release(&fixture.shares);
}
END_TEST

START_TEST(test_same_seed_same_shares)
{
    static const char *const partitions[] = {
        "{\"name\":\"iid\",\"devices\":20}",
        "{\"name\":\"label_shards\",\"devices\":20,\"shards_per_device\":3}",
        "{\"name\":\"paper_label_shards\",\"devices\":20}",
        "{\"name\":\"dirichlet\",\"devices\":20}",
    };
    for (size_t i = 0; i < 4; i++) {
        fixture_init(&fixture, 5000, 5);
        fixture_init(&again, 5000, 5);
        must_run(&fixture, partitions[i], 7);
        must_run(&again, partitions[i], 7);
        const size_t n = ck_shares(&fixture, 20);
        ck_assert_uint_eq(ck_shares(&again, 20), n);
        ck_assert_mem_eq(fixture.shares.rows, again.shares.rows, n * sizeof(uint32_t));
        ck_assert_mem_eq(fixture.shares.first, again.shares.first, 21 * sizeof(size_t));
        shares_release(&again.shares);
        must_run(&again, partitions[i], 8);
        const size_t other = ck_shares(&again, 20);
        ck_assert(other != n || memcmp(fixture.shares.rows, again.shares.rows, n * sizeof(uint32_t)) != 0);
        shares_release(&fixture.shares);
        shares_release(&again.shares);
    }
}
END_TEST

START_TEST(test_shuffle_is_the_split_stream)
{
    uint32_t order[500], before[500];
    fixture_init(&fixture, 1000, 5);
    must_run(&fixture, "{\"name\":\"iid\",\"devices\":2}", 3);
    memcpy(before, fixture.shares.rows + 500, sizeof before);
    ck_assert_int_eq(shares_shuffle(&fixture.shares, 3, 0, NULL), ERR_OK);
    ck_assert_uint_eq(ck_shares(&fixture, 2), 1000);
    ck_assert_int_eq(rng_permutation(rng_key(3, 8, 1, 0, 0), order, 500), ERR_OK);
    for (size_t i = 0; i < 500; i++)
        ck_assert_uint_eq(fixture.shares.rows[500 + i], before[order[i]]);
    shares_release(&fixture.shares);
}
END_TEST

START_TEST(test_num_train)
{
    for (size_t n = 0; n < 1000; n++)
        ck_assert_uint_eq(shares_num_train(n), 9 * n / 10);
    ck_assert_uint_eq(shares_num_train(SIZE_MAX), SIZE_MAX / 10 * 9 + SIZE_MAX % 10 * 9 / 10);
}
END_TEST

static void ck_refused(const char *json, enum err err, const char *field, const char *words)
{
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(run(&fixture, json, 1, &fault), err);
    ck_assert_str_eq(fault.field, field);
    ck_assert_msg(strstr(fault.detail, words) != NULL, "%s: %s", json, fault.detail);
    ck_assert_ptr_null(fixture.shares.rows);
    ck_assert_ptr_null(fixture.shares.first);
}

START_TEST(test_refusals)
{
    const char *devices = "data.partition.devices", *shards = "data.partition.shards_per_device",
               *alpha = "data.partition.alpha", *least = "data.partition.min_examples";
    fixture_init(&fixture, 1000, 10);
    ck_refused("{\"name\":\"iid\",\"devices\":0}", ERR_INVALID_FIELD, devices, "");
    ck_refused("{\"name\":\"iid\",\"devices\":-1}", ERR_INVALID_FIELD, devices, "");
    ck_refused("{\"name\":\"iid\",\"devices\":501}", ERR_INVALID_FIELD, devices, "at most 500 devices");
    ck_refused("{\"name\":\"iid\",\"devices\":1001}", ERR_INVALID_FIELD, devices, "1000 examples");
    ck_refused("{\"name\":\"iid\",\"devices\":9000000000000000000}", ERR_INVALID_FIELD, devices, "");
    ck_refused("{\"name\":\"iid\",\"devices\":\"ten\"}", ERR_INVALID_FIELD, devices, "");
    ck_refused("{\"name\":\"iid\",\"shards_per_device\":2}", ERR_UNKNOWN_FIELD, shards, "");
    ck_refused("{\"name\":\"label_shards\",\"devices\":10,\"shards_per_device\":0}", ERR_INVALID_FIELD,
               shards, "");
    ck_refused("{\"name\":\"label_shards\",\"devices\":10,\"shards_per_device\":101}", ERR_INVALID_FIELD,
               shards, "1010 shards");
    ck_refused("{\"name\":\"label_shards\",\"devices\":500,\"shards_per_device\":1000000}", ERR_INVALID_FIELD,
               shards, "fewer");
    ck_refused("{\"name\":\"paper_label_shards\",\"devices\":15}", ERR_INVALID_FIELD, devices, "give 20");
    ck_refused("{\"name\":\"paper_label_shards\",\"devices\":200}", ERR_INVALID_FIELD, devices,
               "200 examples of each");
    ck_refused("{\"name\":\"dirichlet\",\"alpha\":0}", ERR_INVALID_FIELD, alpha, "above 0");
    ck_refused("{\"name\":\"dirichlet\",\"alpha\":-0.5}", ERR_INVALID_FIELD, alpha, "above 0");
    ck_refused("{\"name\":\"dirichlet\",\"alpha\":\"NaN\"}", ERR_INVALID_FIELD, alpha, "number");
    ck_refused("{\"name\":\"dirichlet\",\"devices\":501}", ERR_INVALID_FIELD, devices, "at most 500 devices");
    ck_refused("{\"name\":\"dirichlet\",\"devices\":101}", ERR_INVALID_FIELD, least, "at most 9");
    ck_refused("{\"name\":\"dirichlet\",\"min_examples\":1}", ERR_INVALID_FIELD, least, "between 2 and");
    ck_refused("{\"name\":\"dirichlet\",\"devices\":50,\"alpha\":0.001}", ERR_INVALID_FIELD, alpha,
               "1000 attempts");
    ck_refused("{\"name\":\"iid\",\"alpha\":1}", ERR_UNKNOWN_FIELD, alpha, "");
    ck_refused("{\"name\":\"dirichlett\"}", ERR_INVALID_FIELD, "data.partition.name", "dirichlet");
    ck_refused("{\"name\":3}", ERR_INVALID_FIELD, "data.partition.name", "text");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partition");
    TCase *tc = unit_case("partition");
    tcase_add_test(tc, test_rows_by_label_is_stable);
    tcase_add_test(tc, test_iid);
    tcase_add_test(tc, test_label_shards);
    tcase_add_test(tc, test_label_shards_bound_the_labels);
    tcase_add_test(tc, test_paper_label_shards);
    tcase_add_test(tc, test_dirichlet_takes_classes_in_their_order);
    tcase_add_test(tc, test_dirichlet_spread);
    tcase_add_test(tc, test_dirichlet_extremes);
    tcase_add_test(tc, test_dirichlet_with_classes_that_nobody_has);
    tcase_add_test(tc, test_same_seed_same_shares);
    tcase_add_test(tc, test_shuffle_is_the_split_stream);
    tcase_add_test(tc, test_num_train);
    tcase_add_test(tc, test_refusals);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
