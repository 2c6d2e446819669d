/* How the agent gets its token and holds on to it: it registers, registers anew when the server forgets it,
 * and ends when it is refused. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "tests/support/unit.h"
#include "tests/unit/worker_agent/agent_lab.h"

static int64_t sum_of_labels(const json_t *device)
{
    json_t *counts = json_object_get(json_object_get(device, "capabilities"), "label_counts"), *n;
    const char *label;
    int64_t sum = 0;
    ck_assert_uint_eq(json_object_size(counts), 10);
    json_object_foreach(counts, label, n) sum += json_integer_value(n);
    return sum;
}

START_TEST(it_registers_with_what_it_is)
{
    struct agent_lab lab;
    char token[200], token_line[300], sha256[SHA256_HEX_SIZE], *path = NULL;
    struct fault fault = FAULT_NONE;
    lab_init(&lab);
    lab_start(&lab);
    const struct stub_request *r = lab_wait(&lab, LAB_REGISTER, 0), *claim = lab_wait(&lab, LAB_CLAIM, 0);
    json_t *body = lab_body_of(r), *device = json_array_get(json_object_get(body, "devices"), 1);
    ck_assert(stub_has_header(r, "Authorization: Bearer the-enrollment-token"));
    ck_assert_str_eq(json_string_value(json_object_get(body, "instance_id")), lab.state.instance_id);
    ck_assert_str_eq(json_string_value(json_object_get(body, "version")), "1.2.3");
    ck_assert_uint_eq(json_array_size(json_object_get(body, "devices")), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(device, "ordinal")), 7);
    ck_assert_int_eq(json_integer_value(json_object_get(device, "num_examples")),
                     (json_int_t)dataset_find(lab.data, 7)->num_train);
    ck_assert_str_eq(json_string_value(json_object_get(device, "dataset")), "synthetic");
    ck_assert_int_eq(json_integer_value(json_object_get(device, "classes")), 10);
    ck_assert_int_eq(sum_of_labels(device), (int64_t)dataset_find(lab.data, 7)->num_train);
    /* The secret itself was never sent before, and is on disk. */
    ck_assert_int_gt(asprintf(&path, "%s/token", lab.dir), 0);
    ck_assert_int_eq(token_file_read(path, token, sizeof token, &fault), ERR_OK);
    ck_assert_int_eq(token_hash(token, sha256), ERR_OK);
    ck_assert_str_eq(json_string_value(json_object_get(body, "token_sha256")), sha256);
    (void)snprintf(token_line, sizeof token_line, "Authorization: Bearer %s", token);
    ck_assert(stub_has_header(claim, token_line));
    (void)lab_wait(&lab, LAB_HEARTBEAT, 0); /* also when it has nothing to do */
    json_decref(body);
    free(path);
    lab_release(&lab);
}
END_TEST

START_TEST(label_counts_can_be_kept_back)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab.withholds_label_counts = true;
    lab_start(&lab);
    json_t *body = lab_body_of(lab_wait(&lab, LAB_REGISTER, 0));
    ck_assert_ptr_null(json_object_get(json_array_get(json_object_get(body, "devices"), 1), "capabilities"));
    json_decref(body);
    lab_release(&lab);
}
END_TEST

START_TEST(registration_goes_on_until_the_server_is_there)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab_rule(&lab, LAB_REGISTER, RULE_CLOSE, "");
    lab_rule(&lab, LAB_REGISTER, 503, "{}");
    lab_rule(&lab, LAB_REGISTER, 500, "{}");
    lab_start(&lab);
    (void)lab_wait(&lab, LAB_CLAIM, 0);
    /* The same secret each time, so that a lost reply costs nothing. */
    for (int i = 1; i < 4; i++)
        ck_assert_str_eq(lab_wait(&lab, LAB_REGISTER, i)->body, lab_wait(&lab, LAB_REGISTER, 0)->body);
    lab_release(&lab);
}
END_TEST

START_TEST(a_refused_registration_ends_it)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab_rule(&lab, LAB_REGISTER, 401, "{\"code\": \"unauthorized\", \"detail\": \"unknown token\"}");
    lab_start(&lab);
    ck_assert_int_eq(lab_join(&lab), ERR_UNAUTHORIZED);
    ck_assert_ptr_nonnull(strstr(lab.fault.detail, lab.token_file));
    ck_assert_ptr_nonnull(strstr(lab.fault.detail, "unknown token"));
    ck_assert_ptr_null(strstr(lab.fault.detail, "the-enrollment-token"));
    lab_release(&lab);
}
END_TEST

/* Several calls with the old token fail: one registration is enough for all of them. */
START_TEST(one_registration_makes_good_all_lost_tokens)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab.updates_unauthorized = 3;
    lab_tasks(&lab, "001,002,003");
    lab_start(&lab);
    (void)lab_wait(&lab, LAB_UPDATE, 5);
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    ck_assert_int_eq(lab_count(&lab, LAB_REGISTER), 2);
    ck_assert_int_eq(lab_count(&lab, LAB_UPDATE), 6);
    ck_assert_uint_eq(lab_reports_on_disk(&lab), 0);
    lab_release(&lab);
}
END_TEST

START_TEST(a_server_that_forgot_it_gets_a_new_registration)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab_rule(&lab, LAB_CLAIM, 401, "{\"code\": \"unauthorized\"}");
    lab_start(&lab);
    lab_tasks(&lab, "001");
    (void)lab_wait(&lab, LAB_UPDATE, 0);
    ck_assert_int_eq(lab_count(&lab, LAB_REGISTER), 2);
    ck_assert_str_ne(lab_wait(&lab, LAB_REGISTER, 0)->body, lab_wait(&lab, LAB_REGISTER, 1)->body);
    lab_release(&lab);
}
END_TEST

START_TEST(registering_anew_has_an_end)
{
    struct agent_lab lab;
    lab_init(&lab);
    for (int i = 0; i < 10; i++)
        lab_rule(&lab, LAB_CLAIM, 401, "{\"code\": \"unauthorized\"}");
    lab_start(&lab);
    ck_assert_int_eq(lab_join(&lab), ERR_UNAUTHORIZED);
    ck_assert_int_eq(lab_count(&lab, LAB_REGISTER), 3);
    lab_release(&lab);
}
END_TEST

START_TEST(it_ends_when_it_is_somebody_else)
{
    struct agent_lab lab;
    lab_init(&lab);
    if (_i == 0)
        lab_rule(&lab, LAB_CLAIM, 409, "{\"code\": \"device_busy\", \"detail\": \"taken over\"}");
    else
        lab_rule(&lab, LAB_CLAIM, 401, "{\"code\": \"token_revoked\", \"detail\": \"sent away\"}");
    lab_start(&lab);
    ck_assert_int_eq(lab_join(&lab), _i == 0 ? ERR_DEVICE_BUSY : ERR_TOKEN_REVOKED);
    ck_assert_ptr_nonnull(strstr(lab.fault.detail, _i == 0 ? "device_busy" : "token_revoked"));
    ck_assert_ptr_nonnull(strstr(lab.fault.detail, _i == 0 ? "taken over" : "sent away"));
    ck_assert_int_eq(lab_count(&lab, LAB_REGISTER), 1);
    lab_release(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {it_registers_with_what_it_is,
                                  label_counts_can_be_kept_back,
                                  registration_goes_on_until_the_server_is_there,
                                  a_refused_registration_ends_it,
                                  one_registration_makes_good_all_lost_tokens,
                                  a_server_that_forgot_it_gets_a_new_registration,
                                  registering_anew_has_an_end};
    TCase *tc = unit_case("agent_registration");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tc, tests[i]);
    tcase_add_loop_test(tc, it_ends_when_it_is_somebody_else, 0, 2);
    return unit_run_case("agent_registration", tc);
}
