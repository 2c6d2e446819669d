/* The agent's talk with a server that does as the test says: loses replies, cuts transfers, refuses, stops.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "common/api/api.h"
#include "tests/support/unit.h"
#include "tests/unit/worker_agent/agent_lab.h"
#include "worker/outbox.h"

START_TEST(one_download_for_all_devices_of_a_round)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab_tasks(&lab, "001,002,003,004,005,006,007,008");
    lab_start(&lab);
    for (int i = 0; i < 8; i++) {
        const struct stub_request *r = lab_wait(&lab, LAB_UPDATE, i);
        ck_assert(stub_has_header(r, "Content-Type: " MEDIA_SAFETENSORS));
        ck_assert_ptr_nonnull(strcasestr(r->head, "content-digest: sha-256=:"));
    }
    ck_assert_int_eq(lab_count(&lab, LAB_WEIGHTS), 1);
    lab_release(&lab);
}
END_TEST

START_TEST(claims_say_what_is_held)
{
    struct agent_lab lab;
    lab_init(&lab);
    fake_hold();
    lab_tasks(&lab, "001,002");
    lab_start(&lab);
    const struct stub_request *first = lab_wait(&lab, LAB_CLAIM, 0), *second = lab_wait(&lab, LAB_CLAIM, 1);
    json_t *one = lab_body_of(first), *two = lab_body_of(second), *holding = json_object_get(two, "holding");
    ck_assert_uint_eq(json_array_size(json_object_get(one, "holding")), 0);
    ck_assert_int_gt(json_integer_value(json_object_get(one, "max")), 2);
    ck_assert_uint_eq(json_array_size(holding), 2);
    ck_assert_ptr_nonnull(strstr(second->body, LAB_TASK("001")));
    ck_assert_ptr_nonnull(strstr(second->body, LAB_TASK("002")));
    json_decref(one);
    json_decref(two);
    fake_release();
    (void)lab_wait(&lab, LAB_UPDATE, 1);
    lab_release(&lab);
}
END_TEST

START_TEST(an_update_is_sent_again_until_there_is_a_receipt)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab_rule(&lab, LAB_UPDATE, RULE_CLOSE, "");
    lab_rule(&lab, LAB_UPDATE, 503, "{}");
    lab_rule(&lab, LAB_UPDATE, 507, "{\"code\": \"storage_full\"}");
    lab_tasks(&lab, "001");
    lab_start(&lab);
    const struct stub_request *first = lab_wait(&lab, LAB_UPDATE, 0);
    ck_assert_uint_eq(lab_reports_on_disk(&lab), 1); /* before the server has it */
    for (int i = 1; i < 4; i++) {
        const struct stub_request *again = lab_wait(&lab, LAB_UPDATE, i);
        ck_assert_uint_eq(again->body_size, first->body_size);
        ck_assert_mem_eq(again->body, first->body, first->body_size);
    }
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    ck_assert_uint_eq(lab_reports_on_disk(&lab), 0);
    lab_release(&lab);
}
END_TEST

#define UPLOADS     "/api/v1/tasks/" LAB_TASK("001") "/uploads"
#define UPLOAD_ID   "0123456789abcdef0123456789abcdef"
#define UPLOAD_MADE "{\"upload_id\": \"" UPLOAD_ID "\"}"

/* Whatever a piece comes to, short of a word on the update itself: what the server has is asked anew. */
START_TEST(a_large_update_goes_in_pieces_until_there_is_a_receipt)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab.max_request_bytes = 1000;
    for (int i = 0; i < 4; i++)
        lab_rule(&lab, "POST " UPLOADS "?attempt=1 ", 201, UPLOAD_MADE);
    lab_rule(&lab, "PATCH " UPLOADS "/" UPLOAD_ID, RULE_CLOSE, "");
    lab_rule(&lab, "PATCH " UPLOADS "/" UPLOAD_ID, 507, "{\"code\": \"storage_full\"}");
    lab_rule(&lab, "PATCH " UPLOADS "/" UPLOAD_ID, 404, "{\"code\": \"not_found\"}");
    lab_tasks(&lab, "001");
    lab_start(&lab);
    for (int i = 0; i < 4; i++) {
        const struct stub_request *r = lab_wait(&lab, "PATCH " UPLOADS "/" UPLOAD_ID, i);
        ck_assert(stub_has_header(r, "Upload-Offset: 0"));
        ck_assert(stub_has_header(r, "Content-Type: " MEDIA_PART));
        ck_assert_uint_eq(r->body_size, 1000);
    }
    const struct stub_request *begun = lab_wait(&lab, "POST " UPLOADS, 0);
    ck_assert_ptr_nonnull(strcasestr(begun->head, "upload-length: "));
    ck_assert_ptr_nonnull(strcasestr(begun->head, "repr-digest: sha-256=:"));
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    ck_assert_uint_eq(lab_reports_on_disk(&lab), 0);
    ck_assert_int_eq(lab_count(&lab, "PATCH "), 4);
    ck_assert_int_eq(lab_count(&lab, LAB_UPDATE), 0);
    lab_release(&lab);
}
END_TEST

/* A server that takes each piece and keeps nothing: the list is asked again before there are many. */
START_TEST(an_upload_that_does_not_get_on_begins_anew)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab.max_request_bytes = 1000;
    for (int i = 0; i < 2; i++)
        lab_rule(&lab, "POST " UPLOADS "?attempt=1 ", 201, UPLOAD_MADE);
    for (int i = 0; i < 4; i++)
        lab_rule(&lab, "PATCH " UPLOADS "/" UPLOAD_ID, 204, "");
    lab_tasks(&lab, "001");
    lab_start(&lab);
    (void)lab_wait(&lab, "POST " UPLOADS, 1);
    ck_assert_int_eq(lab_count(&lab, "PATCH "), 4);
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    ck_assert_uint_eq(lab_reports_on_disk(&lab), 0);
    ck_assert_int_eq(lab_count(&lab, "PATCH "), 5);
    lab_release(&lab);
}
END_TEST

START_TEST(a_large_update_that_is_refused_is_reported_as_a_failure)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab.max_request_bytes = 1000;
    lab_rule(&lab, "POST " UPLOADS, 201, UPLOAD_MADE);
    lab_rule(&lab, "PATCH " UPLOADS, 422, "{\"code\": \"non_finite\", \"detail\": \"0.weight\"}");
    lab_tasks(&lab, "001");
    lab_start(&lab);
    json_t *body = lab_body_of(lab_wait(&lab, "POST /api/v1/tasks/" LAB_TASK("001") "/fail", 0));
    ck_assert_str_eq(json_string_value(json_object_get(body, "code")), "non_finite");
    json_decref(body);
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    lab_release(&lab);
}
END_TEST

START_TEST(a_refused_update_is_reported_as_a_failure)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab_rule(&lab, LAB_UPDATE, 422, "{\"code\": \"shape_mismatch\", \"detail\": \"0.weight\"}");
    lab_tasks(&lab, "001");
    lab_start(&lab);
    const struct stub_request *r = lab_wait(&lab, "POST /api/v1/tasks/" LAB_TASK("001") "/fail", 0);
    json_t *body = lab_body_of(r);
    ck_assert_str_eq(json_string_value(json_object_get(body, "code")), "shape_mismatch");
    ck_assert_str_eq(json_string_value(json_object_get(body, "detail")), "0.weight");
    ck_assert_ptr_nonnull(strcasestr(r->head, "idempotency-key: "));
    json_decref(body);
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    ck_assert_uint_eq(lab_reports_on_disk(&lab), 0);
    ck_assert_int_eq(lab_count(&lab, LAB_UPDATE), 1);
    lab_release(&lab);
}
END_TEST

START_TEST(what_comes_too_late_is_let_go)
{
    static const char *const codes[] = {"stale_round", "superseded", "run_not_running", "duplicate_conflict"};
    struct agent_lab lab;
    char reply[100];
    lab_init(&lab);
    (void)snprintf(reply, sizeof reply, "{\"code\": \"%s\"}", codes[_i]);
    lab_rule(&lab, LAB_UPDATE, 409, reply);
    lab_tasks(&lab, "001");
    lab_start(&lab);
    (void)lab_wait(&lab, LAB_UPDATE, 0);
    if (_i == 1) { /* the newer attempt may be lost: asked for at once, with nothing held */
        const struct stub_request *claim;
        int nth = 2; /* a claim whose connection was lost may have been repeated as it was */
        do
            claim = lab_wait(&lab, LAB_CLAIM, nth++);
        while (strstr(claim->body, LAB_TASK("001")));
    }
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    ck_assert_uint_eq(lab_reports_on_disk(&lab), 0);
    ck_assert_int_eq(lab_count(&lab, "POST /api/v1/tasks/"), 0); /* no failure is made of it */
    lab_release(&lab);
}
END_TEST

/* A proxy's page is no word of the server's: nothing is given up for it. */
START_TEST(a_page_from_on_the_way_ends_nothing)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab_rule(&lab, LAB_CLAIM, 404, "<html>no such backend</html>");
    lab_rule(&lab, LAB_UPDATE, 404, "<html>no such backend</html>");
    lab_rule(&lab, LAB_UPDATE, 403, "<html>not for you</html>");
    lab_rule(&lab, LAB_UPDATE, 413, "<html>too large for me</html>");
    lab_tasks(&lab, "001");
    lab_start(&lab);
    const struct stub_request *first = lab_wait(&lab, LAB_UPDATE, 0), *last = lab_wait(&lab, LAB_UPDATE, 3);
    ck_assert_uint_eq(first->body_size, last->body_size);
    ck_assert_int_eq(memcmp(first->body, last->body, first->body_size), 0);
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    ck_assert_int_eq(lab_count(&lab, "POST /api/v1/tasks/"), 0);
    ck_assert_uint_eq(lab_reports_on_disk(&lab), 0);
    lab_release(&lab);
}
END_TEST

/* What a former process left: a report of task 009. */
static void leave_report(const struct agent_lab *lab)
{
    struct fault fault = FAULT_NONE;
    char *outbox = NULL;
    struct report r = {.task_id = LAB_TASK("009"), .media_type = MEDIA_SAFETENSORS, .attempt = 1, .size = 5};
    r.body = strdup("bytes");
    ck_assert_int_eq(outbox_open(lab->dir, &outbox, &fault), ERR_OK);
    ck_assert_int_eq(outbox_store(outbox, &r, &fault), ERR_OK);
    report_release(&r);
    free(outbox);
}

/* A report that the server cannot take now does not keep the devices idle. */
START_TEST(a_report_that_stays_does_not_hold_back_the_claims)
{
    struct agent_lab lab;
    lab_init(&lab);
    leave_report(&lab);
    for (int i = 0; i < 40; i++)
        lab_rule(&lab, LAB_UPDATE, 500, "{\"code\": \"internal\"}");
    lab_start(&lab);
    const struct stub_request *claim = lab_wait(&lab, LAB_CLAIM, 0);
    ck_assert_ptr_nonnull(strstr(claim->body, LAB_TASK("009"))); /* held, so not offered again */
    (void)lab_stop(&lab);
    ck_assert_uint_eq(lab_reports_on_disk(&lab), 1);
    lab_release(&lab);
}
END_TEST

START_TEST(what_a_former_process_left_is_sent_first)
{
    struct agent_lab lab;
    lab_init(&lab);
    leave_report(&lab);
    lab_rule(&lab, LAB_UPDATE, 409, "{\"code\": \"superseded\"}"); /* is the last word, too */
    lab_start(&lab);
    const struct stub_request *update = lab_wait(&lab, LAB_UPDATE, 0), *claim = lab_wait(&lab, LAB_CLAIM, 0);
    ck_assert_str_eq(update->body, "bytes");
    ck_assert_int_lt(update->number, claim->number);
    ck_assert_uint_eq(lab_reports_on_disk(&lab), 0);
    lab_release(&lab);
}
END_TEST

START_TEST(a_damaged_leftover_does_not_stop_the_worker)
{
    struct agent_lab lab;
    char *outbox = NULL, *path = NULL;
    struct fault fault = FAULT_NONE;
    lab_init(&lab);
    ck_assert_int_eq(outbox_open(lab.dir, &outbox, &fault), ERR_OK);
    ck_assert_int_gt(asprintf(&path, "%s/%s", outbox, LAB_TASK("009")), 0);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fclose(f), 0);
    lab_start(&lab);
    (void)lab_wait(&lab, LAB_CLAIM, 0);
    ck_assert_int_eq(lab_count(&lab, LAB_UPDATE), 0);
    free(path);
    free(outbox);
    lab_release(&lab);
}
END_TEST

START_TEST(a_cut_download_goes_on_where_it_stopped)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab_rule(&lab, LAB_WEIGHTS, RULE_CUT, "");
    lab_rule(&lab, LAB_WEIGHTS, RULE_CUT, "");
    lab_tasks(&lab, "001");
    lab_start(&lab);
    (void)lab_wait(&lab, LAB_UPDATE, 0);
    ck_assert(stub_has_header(lab_wait(&lab, LAB_WEIGHTS, 1), "Range: bytes=1000-"));
    ck_assert(stub_has_header(lab_wait(&lab, LAB_WEIGHTS, 2), "Range: bytes=2000-"));
    ck_assert_int_eq(lab_count(&lab, LAB_WEIGHTS), 3);
    lab_release(&lab);
}
END_TEST

START_TEST(weights_that_are_gone_fail_the_tasks)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab_rule(&lab, LAB_WEIGHTS, 404, "{\"code\": \"not_found\", \"detail\": \"version 1 is deleted\"}");
    lab_tasks(&lab, "001,002");
    lab_start(&lab);
    for (int i = 0; i < 2; i++) {
        const struct stub_request *r = lab_wait(&lab, "POST /api/v1/tasks/", i);
        ck_assert_ptr_nonnull(strstr(r->body, "download_failed"));
        ck_assert_ptr_nonnull(strstr(r->body, "version 1 is deleted"));
    }
    lab_release(&lab);
}
END_TEST

START_TEST(weights_with_another_digest_are_never_used)
{
    struct agent_lab lab;
    lab_init(&lab);
    for (int i = 0; i < 3; i++)
        lab_rule(&lab, LAB_WEIGHTS, 200, "other bytes");
    lab_tasks(&lab, "001");
    lab_start(&lab);
    ck_assert_ptr_nonnull(strstr(lab_wait(&lab, "POST /api/v1/tasks/", 0)->body, "weights_sha256"));
    ck_assert_int_eq(lab_count(&lab, LAB_WEIGHTS), 3);
    ck_assert_int_eq(lab_count(&lab, LAB_UPDATE), 0);
    lab_release(&lab);
}
END_TEST

START_TEST(a_task_it_does_not_understand_is_failed)
{
    struct agent_lab lab;
    lab_init(&lab);
    lab_tasks_with(&lab, "001", 1, "\"want\": [\"hessian\"]");
    lab_start(&lab);
    const struct stub_request *r = lab_wait(&lab, "POST /api/v1/tasks/" LAB_TASK("001") "/fail", 0);
    ck_assert_ptr_nonnull(strstr(r->body, "task_not_understood"));
    ck_assert_ptr_nonnull(strstr(r->body, "hessian"));
    lab_release(&lab);
}
END_TEST

/* Directives come with heartbeats: within one, the work ends. */
START_TEST(directives_are_followed)
{
    struct agent_lab lab;
    static const char both[] =
        "{\"next_heartbeat_s\": 0.05, \"directives\": ["
        "{\"type\": \"return_partial\", \"task_id\": \"" LAB_TASK(
            "002") "\"},"
                   "{\"type\": \"cancel\", \"task_id\": \"" LAB_TASK(
                       "001") "\"},"
                              "{\"type\": \"cancel\", \"task_id\": \"" LAB_TASK("999") "\"}]}";
    lab_init(&lab);
    lab.heartbeat_s = 0.05;
    fake_hold();
    lab_tasks(&lab, "001,002");
    lab_start(&lab);
    fake_wait_for(2);
    lab_rule(&lab, LAB_HEARTBEAT, 200, both);
    /* The rule answers the next beat at the latest, and the one after that is sent when its reply was
     * followed. */
    int beats = lab_count(&lab, LAB_HEARTBEAT);
    ck_assert_ptr_nonnull(strstr(lab_wait(&lab, LAB_HEARTBEAT, beats + 1)->body, LAB_TASK("002")));
    fake_release();
    const struct stub_request *update = lab_wait(&lab, LAB_UPDATE, 0);
    ck_assert_ptr_nonnull(strstr(update->head, LAB_TASK("002")));
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    ck_assert_int_eq(lab_count(&lab, LAB_UPDATE), 1);
    ck_assert_int_eq(lab_count(&lab, "POST /api/v1/tasks/"), 0);
    lab_release(&lab);
}
END_TEST

/* Before the first step there is no loss; after it, NaN is one. */
START_TEST(heartbeats_tell_a_loss_that_is_no_number)
{
    struct agent_lab lab;
    int n = 0, num_without = 0;
    lab_init(&lab);
    lab.heartbeat_s = 0.02;
    fake_lock()->gives_nan = true;
    fake_unlock();
    fake_hold();
    lab_tasks(&lab, "001");
    lab_start(&lab);
    fake_wait_for(1);
    for (; num_without < 2; n++) {
        const char *body = lab_wait(&lab, LAB_HEARTBEAT, n)->body;
        ck_assert_ptr_null(strstr(body, "train_loss"));
        num_without += strstr(body, LAB_TASK("001")) != NULL;
    }
    fake_lock()->num_free = 1; /* it holds again at its second step */
    fake_unlock();
    while (!strstr(lab_wait(&lab, LAB_HEARTBEAT, n)->body, "\"train_loss\":\"NaN\""))
        n++;
    fake_release();
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    lab_release(&lab);
}
END_TEST

/* Two threads are in their first step, one task waits: all three are given back. */
START_TEST(the_end_gives_open_tasks_back)
{
    struct agent_lab lab;
    lab_init(&lab);
    fake_hold();
    lab_tasks(&lab, "001,002,003");
    lab_start(&lab);
    fake_wait_for(2);
    agent_stop(lab.agent);
    (void)lab_wait(&lab, "POST /api/v1/tasks/" LAB_TASK("003") "/release", 0);
    fake_release();
    ck_assert_int_eq(lab_join(&lab), ERR_OK);
    ck_assert(!agent_is_computing(lab.agent));
    ck_assert_int_eq(lab_count(&lab, "POST /api/v1/tasks/" LAB_TASK("001") "/release"), 1);
    ck_assert_int_eq(lab_count(&lab, "POST /api/v1/tasks/" LAB_TASK("002") "/release"), 1);
    ck_assert_int_eq(lab_count(&lab, LAB_UPDATE), 0);
    lab_release(&lab);
}
END_TEST

START_TEST(the_end_comes_also_while_the_server_is_away)
{
    struct agent_lab lab;
    lab_init(&lab);
    for (int i = 0; i < 60; i++)
        lab_rule(&lab, LAB_REGISTER, RULE_CLOSE, "");
    lab_start(&lab);
    (void)lab_wait(&lab, LAB_REGISTER, 2);
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    lab_release(&lab);
}
END_TEST

START_TEST(a_newer_attempt_takes_the_place_of_the_older)
{
    struct agent_lab lab;
    lab_init(&lab);
    fake_hold();
    lab_tasks(&lab, "001");
    lab_start(&lab);
    fake_wait_for(1);
    lab_tasks_with(&lab, "001", 2, "\"want\": []");
    (void)lab_wait(&lab, LAB_CLAIM, 2);
    fake_release();
    (void)lab_wait(&lab, LAB_UPDATE, 0);
    ck_assert_int_eq(lab_stop(&lab), ERR_OK);
    ck_assert_int_eq(lab_count(&lab, LAB_UPDATE), 1);
    ck_assert_uint_eq(lab_reports_on_disk(&lab), 0);
    lab_release(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {one_download_for_all_devices_of_a_round,
                                  claims_say_what_is_held,
                                  an_update_is_sent_again_until_there_is_a_receipt,
                                  a_large_update_goes_in_pieces_until_there_is_a_receipt,
                                  an_upload_that_does_not_get_on_begins_anew,
                                  a_large_update_that_is_refused_is_reported_as_a_failure,
                                  a_refused_update_is_reported_as_a_failure,
                                  a_page_from_on_the_way_ends_nothing,
                                  a_report_that_stays_does_not_hold_back_the_claims,
                                  what_a_former_process_left_is_sent_first,
                                  a_damaged_leftover_does_not_stop_the_worker,
                                  a_cut_download_goes_on_where_it_stopped,
                                  weights_that_are_gone_fail_the_tasks,
                                  weights_with_another_digest_are_never_used,
                                  a_task_it_does_not_understand_is_failed,
                                  directives_are_followed,
                                  heartbeats_tell_a_loss_that_is_no_number,
                                  the_end_gives_open_tasks_back,
                                  the_end_comes_also_while_the_server_is_away,
                                  a_newer_attempt_takes_the_place_of_the_older};
    TCase *tc = unit_case("agent");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tc, tests[i]);
    tcase_add_loop_test(tc, what_comes_too_late_is_let_go, 0, 4);
    return unit_run_case("agent", tc);
}
