#include "tests/support/unit.h"
#include "tests/unit/data/support.h"

#include <math.h>

#define TABLE "{'source':'csv','path':'%s','test_path':'%s','label':'y','device':'who','standardise':%s}"

static void two_tables(void)
{
    files_create();
    text_write("train.csv", "a,who,b,y\n1,n,5,0\n2,n,5,0\n6,n,5,1\n100,s,-1,1\n104,s,1,1\n");
    text_write("test.csv", "a,who,b,y\n3,n,5,0\n102,s,2,0\n");
}

static void ck_values(const char *standardise, const float n[6], const float s[4], const float n_test[2],
                      const float s_test[2])
{
    static const int32_t n_y[] = {0, 0, 1}, s_y[] = {1, 1}, test_y[] = {0};
    struct dataset *d = load(1, TABLE, file_path("train.csv"), file_path("test.csv"), standardise);
    ck_device(d, 0, SPLIT_TRAIN, 3, n, n_y);
    ck_device(d, 1, SPLIT_TRAIN, 2, s, s_y);
    ck_device(d, 0, SPLIT_TEST, 1, n_test, test_y);
    ck_device(d, 1, SPLIT_TEST, 1, s_test, test_y);
    dataset_free(d);
}

static float scaled(double x, double mean, double std)
{
    return (float)((x - mean) / (std + 0.001));
}

START_TEST(test_none)
{
    static const float n[] = {1, 5, 2, 5, 6, 5}, s[] = {100, -1, 104, 1}, n_test[] = {3, 5},
                       s_test[] = {102, 2};
    two_tables();
    ck_values("'none'", n, s, n_test, s_test);
    files_remove();
}
END_TEST

/* Each by its own training rows; a constant feature is 0. */
START_TEST(test_by_device)
{
    const double sd = sqrt(14.0 / 3);
    const float n[] = {scaled(1, 3, sd), 0, scaled(2, 3, sd), 0, scaled(6, 3, sd), 0};
    const float s[] = {scaled(100, 102, 2), scaled(-1, 0, 1), scaled(104, 102, 2), scaled(1, 0, 1)};
    const float n_test[] = {0, 0}, s_test[] = {0, scaled(2, 0, 1)};
    two_tables();
    ck_values("'device'", n, s, n_test, s_test);
    files_remove();
}
END_TEST

START_TEST(test_given)
{
    const float n[] = {scaled(1, 2, 4),  scaled(5, -1, 0), scaled(2, 2, 4),
                       scaled(5, -1, 0), scaled(6, 2, 4),  scaled(5, -1, 0)};
    const float s[] = {scaled(100, 2, 4), 0, scaled(104, 2, 4), scaled(1, -1, 0)};
    const float n_test[] = {scaled(3, 2, 4), scaled(5, -1, 0)},
                s_test[] = {scaled(102, 2, 4), scaled(2, -1, 0)};
    float all[6];
    two_tables();
    ck_values("{'mean':[2,-1],'std':[4,0]}", n, s, n_test, s_test);
    for (int i = 0; i < 6; i++)
        all[i] = scaled((double[]){1, 5, 2, 5, 6, 5}[i], 1, 2);
    const float s_all[] = {scaled(100, 1, 2), scaled(-1, 1, 2), scaled(104, 1, 2), scaled(1, 1, 2)};
    const float n_test_all[] = {scaled(3, 1, 2), scaled(5, 1, 2)},
                s_test_all[] = {scaled(102, 1, 2), scaled(2, 1, 2)};
    ck_values("{'mean':1,'std':2}", all, s_all, n_test_all, s_test_all);
    files_remove();
}
END_TEST

START_TEST(test_refused)
{
    static const struct {
        enum err err;
        const char *field, *words, *value;
    } bad[] = {
        {ERR_INVALID_FIELD, "data.standardise", "\"device\"", "'each'"},
        {ERR_INVALID_FIELD, "data.standardise", "must be", "3"},
        {ERR_INVALID_FIELD, "data.standardise", "data in bytes", "'pixels'"},
        {ERR_INVALID_FIELD, "data.standardise", "data in bytes", "'unit'"},
        {ERR_MISSING_FIELD, "data.standardise.std", "both", "{'mean':1}"},
        {ERR_MISSING_FIELD, "data.standardise.mean", "both", "{}"},
        {ERR_UNKNOWN_FIELD, "data.standardise", "sd", "{'mean':1,'std':1,'sd':1}"},
        {ERR_INVALID_FIELD, "data.standardise.mean", "3 numbers, but an example has 2",
         "{'mean':[1,2,3],'std':1}"},
        {ERR_INVALID_FIELD, "data.standardise.std[1]", "0 or more", "{'mean':1,'std':[1,-1]}"},
        {ERR_INVALID_FIELD, "data.standardise.std", "0 or more", "{'mean':1,'std':-1e-9}"},
        {ERR_INVALID_FIELD, "data.standardise.std", "finite", "{'mean':1,'std':1e300}"},
        {ERR_INVALID_FIELD, "data.standardise.mean", "finite", "{'mean':'NaN','std':1}"},
        {ERR_INVALID_FIELD, "data.standardise.mean[0]", "finite", "{'mean':[null,1],'std':1}"},
    };
    two_tables();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_refused(bad[i].err, bad[i].field, bad[i].words, TABLE, file_path("train.csv"),
                   file_path("test.csv"), bad[i].value);
    text_write("train.csv", "a,who,b,y\n3e37,n,5,0\n2,n,5,0\n");
    text_write("test.csv", "a,who,b,y\n3,n,5,0\n");
    ck_refused(ERR_INVALID_FIELD, "data.standardise", "feature 0 of example 0 too large", TABLE,
               file_path("train.csv"), file_path("test.csv"), "{'mean':0,'std':0}");
    files_remove();
}
END_TEST

/* Bytes are floats after "device", and stay bytes with given numbers. */
START_TEST(test_bytes)
{
    char source[1300];
    const char *srcdir = getenv("srcdir");
    float device[24], given[24];
    static const int32_t y[] = {3, 0, 2, 1};
    (void)snprintf(
        source, sizeof source,
        "{'source':'npy','x':'%s/tests/data/numpy/u1_3d.npy','y':'%s/tests/data/numpy/i8.npy',"
        "'test_x':'%s/tests/data/numpy/u1_3d.npy','test_y':'%s/tests/data/numpy/i8.npy','standardise':",
        srcdir ? srcdir : ".", srcdir ? srcdir : ".", srcdir ? srcdir : ".", srcdir ? srcdir : ".");
    for (int i = 0; i < 24; i++) {
        device[i] = scaled(i, 9 + i % 6, sqrt(45)); /* 0, 6, 12, 18 more than i % 6 */
        given[i] = ((float)i - 3) * (float)(1 / 2.001);
    }
    struct dataset *d = load(1, "%s'device'}", source);
    ck_device(d, 0, SPLIT_TRAIN, 4, device, y);
    dataset_free(d);
    d = load(1, "%s{'mean':3,'std':2}}", source);
    ck_device(d, 0, SPLIT_TEST, 4, given, y);
    dataset_free(d);
    d = load(1, "%s'pixels'}", source);
    for (int i = 0; i < 24; i++)
        device[i] = ((float)i - (float)(9 + i % 6)) * (float)(1 / (sqrt(45) + 0.001));
    ck_device(d, 0, SPLIT_TRAIN, 4, device, y);
    dataset_free(d);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_none, test_by_device, test_given, test_refused, test_bytes};
    return unit_run("standardise", tests, sizeof tests / sizeof *tests);
}
