#include "tests/support/unit.h"
#include "tests/unit/worker_agent/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "worker/device_entry.h"

static struct dataset *data;

static void ck_name(const char *prefix, const char *name, const char *expected)
{
    const struct device_data device = {.ordinal = 12, .name = name, .num_train = 9};
    json_t *entry = device_entry(prefix, data, &device);
    ck_assert_ptr_nonnull(entry);
    ck_assert_str_eq(json_string_value(json_object_get(entry, "name")), expected);
    json_decref(entry);
}

START_TEST(named_by_the_source_or_else_by_ordinal)
{
    data = support_data();
    ck_name("ward", "", "ward-12");
    ck_name("ward", "north", "ward-north");
    dataset_free(data);
}
END_TEST

START_TEST(long_names_lose_the_end_of_the_prefix)
{
    char prefix[LIMIT_NAME + 1], own[LIMIT_NAME + 1], expected[LIMIT_NAME + 3];
    data = support_data();
    memset(prefix, 'p', LIMIT_NAME);
    memset(own, 'o', LIMIT_NAME);
    prefix[LIMIT_NAME] = own[LIMIT_NAME] = '\0';
    memset(expected, 'p', LIMIT_NAME);
    (void)snprintf(expected + LIMIT_NAME - 3, 4, "-12");
    ck_name(prefix, "", expected);
    ck_name("p", own, own);
    ck_name("p", own + 1, own + 1);
    own[LIMIT_NAME - 2] = '\0';
    (void)snprintf(expected, sizeof expected, "p-%s", own);
    ck_name("pp", own, expected);
    ck_name("\xc3\xa4", own, own); /* half a letter does not stay */
    dataset_free(data);
}
END_TEST

START_TEST(no_test_data)
{
    data = support_data();
    const struct device_data device = {.ordinal = 3, .name = "x", .num_train = 9};
    json_t *entry = device_entry("w", data, &device);
    ck_assert_int_eq(json_integer_value(json_object_get(entry, "ordinal")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(entry, "num_examples")), 9);
    ck_assert(json_is_integer(json_object_get(entry, "num_test_examples")));
    ck_assert_int_eq(json_integer_value(json_object_get(entry, "num_test_examples")), 0);
    json_decref(entry);
    dataset_free(data);
}
END_TEST

/* One device of `num_classes` classes: class k has 1 + k % 3 examples. */
static struct dataset *table_of(int num_classes)
{
    char path[] = "/tmp/fedlane-classes-XXXXXX";
    struct dataset *table = NULL;
    struct fault fault = FAULT_NONE;
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    ck_assert_ptr_nonnull(f);
    (void)fputs("x,y\n", f);
    for (int k = 0; k < num_classes; k++)
        for (int i = 0; i <= k % 3; i++)
            (void)fprintf(f, "%d,%d\n", i, k);
    ck_assert_int_eq(fclose(f), 0);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:i}", "source", "csv", "name", "t", "path", path, "label",
                             "y", "classes", num_classes);
    ck_assert_msg(dataset_load(json, 0, &table, &fault) == ERR_OK, "%s", fault.detail);
    json_decref(json);
    ck_assert_int_eq(unlink(path), 0);
    return table;
}

static json_t *counted(const struct dataset *table)
{
    const struct device_data *device = dataset_device(table, 0);
    json_t *entry = device_entry("w", table, device);
    ck_assert_ptr_nonnull(entry);
    ck_assert_ptr_null(json_object_get(entry, "capabilities"));
    ck_assert(device_entry_count_labels(entry, table, device));
    return entry;
}

START_TEST(labels_are_counted_where_they_are_few)
{
    struct dataset *few = table_of(LIMIT_LABEL_COUNTS), *many = table_of(LIMIT_LABEL_COUNTS + 1);
    json_t *entry = counted(few);
    const json_t *counts = json_object_get(json_object_get(entry, "capabilities"), "label_counts");
    ck_assert_uint_eq(json_object_size(counts), LIMIT_LABEL_COUNTS);
    int64_t total = 0;
    for (int k = 0; k < LIMIT_LABEL_COUNTS; k++) {
        char label[16];
        (void)snprintf(label, sizeof label, "%d", k);
        int64_t n = json_integer_value(json_object_get(counts, label));
        ck_assert_int_ge(n, 0);
        ck_assert_int_le(n, 1 + k % 3);
        total += n;
    }
    ck_assert_int_eq(total, json_integer_value(json_object_get(entry, "num_examples")));
    /* All that one worker may be, with long names and counts of six digits, is one request. */
    char *text = json_dumps(entry, JSON_COMPACT);
    ck_assert_uint_le((strlen(text) + LIMIT_NAME + (size_t)5 * LIMIT_LABEL_COUNTS) * LIMIT_DEVICES_PER_WORKER,
                      LIMIT_FLEET_BODY);
    free(text);
    json_decref(entry);
    entry = counted(many);
    ck_assert_ptr_null(json_object_get(entry, "capabilities"));
    json_decref(entry);
    dataset_free(few);
    dataset_free(many);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {named_by_the_source_or_else_by_ordinal,
                                  long_names_lose_the_end_of_the_prefix, no_test_data,
                                  labels_are_counted_where_they_are_few};
    return unit_run("device_entry", tests, sizeof tests / sizeof *tests);
}
