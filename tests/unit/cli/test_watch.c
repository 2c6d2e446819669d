#include <math.h>
#include <string.h>
#include "cli/watch/view.h"
#include "cli/watch/waiting.h"
#include "tests/support/unit.h"

#define ID "0123456789abcdef0123456789abcdef"

static struct watched run;

static void begin(const char *status)
{
    json_t *json = json_pack("{s:s, s:s, s:s, s:n, s:s, s:i, s:i, s:i, s:{s:i, s:{s:f, s:f}}}", "id", ID,
                             "name", "prox", "status", status, "outcome", "status_reason", "waits",
                             "num_rounds", 10, "round", 3, "last_event", 40, "metrics", "round", 2, "values",
                             "train_loss", 0.5, "test_accuracy", 0.75);
    ck_assert_ptr_nonnull(json);
    ck_assert_int_eq(watched_init(&run, json), ERR_OK);
    json_decref(json);
}

/* `event` is the stream's data; what it says as a line. */
static const char *apply(const char *event)
{
    static char line[VIEW_LINE];
    json_t *json = json_loads(event, 0, NULL);
    ck_assert_ptr_nonnull(json);
    watched_apply(&run, json);
    view_line(&run, json, line);
    json_decref(json);
    return line;
}

START_TEST(test_start)
{
    char line[VIEW_LINE];
    begin("running");
    ck_assert(run.round == 3 && run.num_rounds == 10 && run.last_event == 40 && run.is_round_open);
    ck_assert(run.train_loss > 0.4 && run.test_accuracy > 0.7 && !watched_has_ended(&run));
    view_state_line(&run, line);
    ck_assert_str_eq(line, "prox: running  loss 0.5000  accuracy 75.0 %  waits");
    watched_release(&run);
    json_t *none = json_object();
    ck_assert_int_eq(watched_init(&run, none), ERR_UNAVAILABLE);
    watched_release(&run);
    json_decref(none);
}
END_TEST

START_TEST(test_round)
{
    begin("running");
    (void)apply("{\"seq\": 41, \"type\": \"round_opened\", \"data\": {\"round\": 4, \"selected\": 4}}");
    ck_assert(run.round == 4 && run.num_lanes == 0 && run.is_round_open);
    (void)apply("{\"seq\": 42, \"type\": \"update_accepted\", \"data\": {\"round\": 4, \"type\": \"train\", "
                "\"ordinal\": 7, \"steps_done\": 9, \"steps_assigned\": 9, \"partial\": false}}");
    (void)apply("{\"seq\": 43, \"type\": \"update_accepted\", \"data\": {\"round\": 4, \"type\": \"train\", "
                "\"ordinal\": 2, \"steps_done\": 3, \"steps_assigned\": 9, \"partial\": true}}");
    (void)apply(
        "{\"seq\": 44, \"type\": \"update_accepted\", \"data\": {\"round\": 4, \"type\": \"evaluate\", "
        "\"ordinal\": 5, \"steps_done\": 0, \"steps_assigned\": 0, \"partial\": false}}");
    (void)apply("{\"seq\": 45, \"type\": \"task_dropped\", \"data\": {\"round\": 4, \"type\": \"train\", "
                "\"ordinal\": 9, \"steps_done\": 1, \"steps_assigned\": 9}}");
    ck_assert_uint_eq(run.num_lanes, 3);
    ck_assert(run.lanes[0].ordinal == 2 && run.lanes[0].state == LANE_PARTIAL &&
              run.lanes[0].steps_done == 3);
    ck_assert(run.lanes[1].ordinal == 7 && run.lanes[1].state == LANE_COMPLETED);
    ck_assert(run.lanes[2].ordinal == 9 && run.lanes[2].state == LANE_DROPPED);
    /* An event of another round, or one that was heard before, changes nothing. */
    (void)apply("{\"seq\": 46, \"type\": \"task_failed\", \"data\": {\"round\": 3, \"type\": \"train\", "
                "\"ordinal\": 7}}");
    (void)apply("{\"seq\": 44, \"type\": \"round_opened\", \"data\": {\"round\": 9}}");
    ck_assert(run.round == 4 && run.lanes[1].state == LANE_COMPLETED && run.last_event == 46);
    const char *line = apply("{\"seq\": 47, \"type\": \"round_closed\", \"data\": {\"round\": 4, \"type\": "
                             "\"train\", \"received\": 2, "
                             "\"partial\": 1, \"dropped\": 1, \"failed\": 0, \"late\": 0, \"steps_done\": "
                             "13, \"steps_assigned\": 27, "
                             "\"metrics\": {\"train_loss\": 0.25}}}");
    ck_assert_str_eq(line,
                     "prox: round 4 of 10  loss 0.2500  steps 13 of 27  2 received, 1 partial, 1 dropped");
    ck_assert(run.round == 5 && !run.is_round_open && run.train_loss < 0.3 && run.test_accuracy > 0.7);
    watched_release(&run);
}
END_TEST

START_TEST(test_tasks)
{
    begin("running");
    json_t *tasks =
        json_loads("[{\"ordinal\": 8, \"status\": \"claimed\", \"steps_done\": 2, \"steps_assigned\": 4},"
                   " {\"ordinal\": 1, \"status\": \"completed\", \"partial\": true, \"steps_done\": 1, "
                   "\"steps_assigned\": 4},"
                   " {\"ordinal\": 3, \"status\": \"cancelled\", \"steps_done\": 0, \"steps_assigned\": 4}]",
                   0, NULL);
    watched_tasks(&run, 2, tasks);
    ck_assert_uint_eq(run.num_lanes, 0);
    watched_tasks(&run, 3, tasks);
    ck_assert_uint_eq(run.num_lanes, 3);
    ck_assert(run.lanes[0].state == LANE_PARTIAL && run.lanes[1].state == LANE_LATE &&
              run.lanes[2].state == LANE_OPEN);
    (void)apply("{\"seq\": 50, \"type\": \"round_closed\", \"data\": {\"round\": 3, \"type\": \"train\", "
                "\"metrics\": {}}}");
    ck_assert_int_eq(run.lanes[2].state, LANE_LATE);
    json_decref(tasks);
    watched_release(&run);
}
END_TEST

START_TEST(test_life)
{
    begin("waiting_for_devices");
    ck_assert(!run.is_round_open);
    ck_assert_ptr_nonnull(strstr(
        apply("{\"seq\": 41, \"type\": \"run_waiting\", \"data\": {\"reason\": \"2 of 3\"}}"), "2 of 3"));
    ck_assert_str_eq(apply("{\"seq\": 42, \"type\": \"warning\", \"data\": {\"detail\": \"a\\u001b[31mb\"}}"),
                     "prox: warning: a?[31mb");
    ck_assert_str_eq(apply("{\"seq\": 43, \"type\": \"something_new\", \"data\": {}}"), "");
    ck_assert_str_eq(apply("{\"seq\": 44, \"type\": \"run_finished\", \"data\": {\"outcome\": \"failed\", "
                           "\"reason\": \"why\"}}"),
                     "prox: failed  loss 0.5000  accuracy 75.0 %  why");
    ck_assert(watched_has_ended(&run));
    watched_release(&run);
}
END_TEST

START_TEST(test_what_a_run_waits_for)
{
    char line[WAITING_LINE];
    begin("running");
    ck_assert(!waiting_line(&run, line) && !line[0]);
    (void)apply("{\"seq\": 41, \"type\": \"run_waiting\", \"data\": {\"reason\": \"waiting for 2 of 3\"}}");
    ck_assert(!waiting_line(&run, line));
    ck_assert_str_eq(line, "prox is waiting for 2 of 3");
    (void)apply("{\"seq\": 42, \"type\": \"run_paused\", \"data\": {}}");
    ck_assert(waiting_line(&run, line));
    ck_assert_str_eq(line, "prox is paused: fedlane run resume " ID);
    (void)apply("{\"seq\": 43, \"type\": \"run_resumed\", \"data\": {}}");
    ck_assert(!waiting_line(&run, line) && !line[0]);
    watched_release(&run);
    begin("pending");
    ck_assert(!waiting_line(&run, line) && !line[0]); /* it is being prepared, and may start of itself */
    watched_release(&run);
}
END_TEST

static char *painted(int width, int height)
{
    char *text = NULL, number[16];
    size_t size = 0;
    struct screen s;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    (void)snprintf(number, sizeof number, "%d", width);
    ck_assert_int_eq(setenv("COLUMNS", number, 1), 0);
    (void)snprintf(number, sizeof number, "%d", height);
    ck_assert_int_eq(setenv("LINES", number, 1), 0);
    screen_init(&s, out);
    view_paint(&s, &run, 1);
    view_paint(&s, &run, 1);
    screen_release(&s);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

/* Columns between two line ends, without the escape sequences. */
static int widest_line(const char *text)
{
    int widest = 0, column = 0;
    for (; *text; text++) {
        if (*text == '\033') {
            while (*text && !strchr("mKJA", *text))
                text++;
            continue;
        }
        column = *text == '\n' || *text == '\r' ? 0 : column + (((unsigned char)*text & 0xc0) != 0x80);
        widest = column > widest ? column : widest;
    }
    return widest;
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

START_TEST(test_paint)
{
    begin("running");
    for (int64_t i = 0; i < 10; i++) {
        char event[300];
        (void)snprintf(
            event, sizeof event,
            "{\"seq\": %lld, \"type\": \"update_accepted\", \"data\": {\"round\": 3, \"type\": \"train\", "
            "\"ordinal\": %lld, \"steps_done\": %lld, \"steps_assigned\": 10, \"partial\": %s}}",
            (long long)(100 + i), (long long)(10 * i), (long long)i, i < 9 ? "true" : "false");
        (void)apply(event);
    }
    ck_assert_int_eq(setenv("NO_COLOR", "1", 1), 0);
    ck_assert_int_eq(setenv("TERM", "xterm", 1), 0);
    char *plain = painted(80, 24);
    ck_assert_ptr_nonnull(strstr(plain, "3/10  loss 0.5000  accuracy 75.0 %  10 of 10 devices"));
    ck_assert_int_le(widest_line(plain), 80);
    ck_assert_int_eq(count(plain, "\033[3"), 0);
    /* A run, three lines of lanes, the legend: painted twice over, the second time from the top. */
    ck_assert_int_eq(count(plain, "\n"), 10);
    ck_assert_int_eq(count(plain, "\033[5A"), 1);
    free(plain);
    char *narrow = painted(30, 4);
    ck_assert_int_le(widest_line(narrow), 30);
    ck_assert_int_eq(count(narrow, "\n"), 6);
    free(narrow);
    ck_assert_int_eq(unsetenv("NO_COLOR"), 0);
    char *colourful = painted(80, 24);
    ck_assert_int_gt(count(colourful, "\033[33m"), 0);
    free(colourful);
    watched_release(&run);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_start, test_round, test_tasks, test_life, test_what_a_run_waits_for,
                                  test_paint};
    return unit_run("cli watch", tests, sizeof tests / sizeof *tests);
}
