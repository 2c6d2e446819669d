#include "server/api/beat_scan.h"
#include <math.h>
#include "common/base/str.h"
#include "common/json/json_num.h"
#include "common/json/json_spec.h"
#include "tests/support/unit.h"

#define ID_A "019a6e5d3c3b7cc1b2f0a1d2e3f40516"
#define ID_B "019a6e5d3c3b7cc1b2f0a1d2e3f40517"

static const char full[] = "{\"resources\":{\"cpus\":8,\"gpu\":{\"name\":\"a } b\"}},\"tasks\":["
                           "{\"steps_done\":120,\"task_id\":\"" ID_A "\",\"train_loss\":0.4375},"
                           "{\"task_id\":\"" ID_B "\",\"steps_done\":0,\"train_loss\":-3}]}";

static bool scan(const char *text, struct beat_scan *out)
{
    return beat_scan(text, strlen(text), out);
}

START_TEST(test_what_a_worker_sends)
{
    struct beat_scan s;
    ck_assert(scan(full, &s));
    ck_assert_uint_eq(s.resources_size, strlen("{\"cpus\":8,\"gpu\":{\"name\":\"a } b\"}}"));
    ck_assert_uint_eq(s.num_tasks, 2);
    ck_assert_str_eq(s.tasks[0].id, ID_A);
    ck_assert_int_eq(s.tasks[0].steps_done, 120);
    ck_assert(s.tasks[0].has_loss);
    ck_assert_double_eq(s.tasks[0].train_loss, 0.4375);
    ck_assert_str_eq(s.tasks[1].id, ID_B);
    ck_assert_int_eq(s.tasks[1].steps_done, 0);
    ck_assert_double_eq(s.tasks[1].train_loss, -3);
}
END_TEST

START_TEST(test_what_is_plain)
{
    static const char *const texts[] = {
        "{}",
        " { } \n",
        "{\"tasks\":[]}",
        "{\"resources\":{}}",
        "{ \"tasks\" : [ { \"task_id\" : \"" ID_A "\" } ] , \"resources\" : { } }\r\n\t ",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"train_loss\":0}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"steps_done\":1099511627776}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct beat_scan s;
        ck_assert_msg(scan(texts[i], &s), "%s", texts[i]);
        ck_assert(s.num_tasks == 0 || !s.tasks[0].has_loss || s.tasks[0].train_loss == 0);
    }
}
END_TEST

START_TEST(test_what_is_left_to_the_parser)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{}x",
        "{} {}",
        "{,}",
        "{\"tasks\":[],}",
        "{\"tasks\":[],\"tasks\":[]}",
        "{\" tasks\":[]}",
        "{\"tasks \":[]}",
        "{\"task\":[]}",
        "{\"tasks\":null}",
        "{\"resources\":null}",
        "{\"resources\":[]}",
        "{\"resources\":{}",
        "{\"resources\":{\"a\":\"\\\"\"}}",
        "{\"resources\":{\"a\":\"}",
        "{\"tasks\":[{}]}",
        "{\"tasks\":[{\"steps_done\":1}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\"},]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\"}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "0\"}]}",
        "{\"tasks\":[{\"task_id\":\"short\"}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"task_id\":\"" ID_A "\"}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"steps\":1}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"steps_done\":-1}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"steps_done\":01}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"steps_done\":1.0}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"steps_done\":1e3}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"steps_done\":1099511627777}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"steps_done\":99999999999999999999}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"train_loss\":\"NaN\"}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"train_loss\":null}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"train_loss\":1e-5}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"train_loss\":1.}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"train_loss\":9223372036854775808}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"train_loss\":-9223372036854775809}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"train_loss\":.5}]}",
        "{\"tasks\":[{\"task_id\":\"" ID_A "\",\"train_loss\":-}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct beat_scan s;
        ck_assert_msg(!scan(texts[i], &s), "%s", texts[i]);
    }
    struct beat_scan s;
    ck_assert(!beat_scan("{}\0", 3, &s)); /* a NUL within the text */
}
END_TEST

START_TEST(test_more_tasks_than_it_holds)
{
    char text[4096];
    struct beat_scan s;
    for (int num_tasks = BEAT_TASKS; num_tasks <= BEAT_TASKS + 1; num_tasks++) {
        size_t n = (size_t)snprintf(text, sizeof text, "{\"tasks\":[");
        for (int i = 0; i < num_tasks; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s{\"task_id\":\"" ID_A "\"}", i ? "," : "");
        (void)snprintf(text + n, sizeof text - n, "]}");
        ck_assert(scan(text, &s) == (num_tasks <= BEAT_TASKS));
    }
    ck_assert_uint_eq(s.num_tasks, BEAT_TASKS);
}
END_TEST

/* What it accepts the parser accepts, with the same values; but for resources, which it only delimits. */
static void expect_no_more_than_the_parser(const char *text, size_t n)
{
    struct beat_scan s;
    struct fault fault = FAULT_NONE;
    json_t *resources = NULL, *json = NULL;
    if (!beat_scan(text, n, &s))
        return;
    if (s.resources && json_text_parse(s.resources, s.resources_size, &resources, &fault) != ERR_OK)
        return;
    json_decref(resources);
    ck_assert_msg(json_text_parse(text, n, &json, &fault) == ERR_OK, "%s: %s", text, fault.detail);
    const json_t *tasks = json_object_get(json, "tasks");
    ck_assert_uint_eq(json_array_size(tasks), s.num_tasks);
    for (size_t i = 0; i < s.num_tasks; i++) {
        const json_t *task = json_array_get(tasks, i), *loss = json_object_get(task, "train_loss");
        double value = 0;
        ck_assert_str_eq(json_string_value(json_object_get(task, "task_id")), s.tasks[i].id);
        ck_assert_int_eq(json_integer_value(json_object_get(task, "steps_done")), s.tasks[i].steps_done);
        ck_assert(s.tasks[i].has_loss == (loss != NULL));
        ck_assert(!loss || json_num_read(loss, &value) == ERR_OK);
        ck_assert_double_eq(value, s.tasks[i].train_loss);
    }
    json_decref(json);
}

/* Each byte of a whole heartbeat as any other; and pieces that are cut out or doubled. */
START_TEST(test_it_accepts_no_more_than_the_parser)
{
    char text[2 * sizeof full];
    size_t n = sizeof full - 1;
    for (size_t i = 0; i < n; i++) {
        memcpy(text, full, sizeof full);
        for (int c = 1; c < 256; c++) {
            text[i] = (char)c;
            expect_no_more_than_the_parser(text, n);
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 1; k <= 40 && i + k <= n; k++) {
            memcpy(text, full, i);
            memcpy(text + i, full + i + k, n - i - k + 1);
            expect_no_more_than_the_parser(text, n - k);
            memcpy(text, full, i + k);
            memcpy(text + i + k, full + i, n - i + 1);
            expect_no_more_than_the_parser(text, n + k);
        }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_what_a_worker_sends, test_what_is_plain,
                                  test_what_is_left_to_the_parser, test_more_tasks_than_it_holds,
                                  test_it_accepts_no_more_than_the_parser};
    return unit_run("beat_scan", tests, sizeof tests / sizeof *tests);
}
