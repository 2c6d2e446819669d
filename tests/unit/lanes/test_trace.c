/* Traces as files: what is read, and that what is bad is refused with its line. */
#include <unistd.h>
#include "common/base/limits.h"
#include "tests/unit/lanes/lab.h"

static char path[64];
static struct arena arena;

static void write_file(const char *text)
{
    (void)snprintf(path, sizeof path, "test_lanes_trace_%d.tmp", (int)getpid());
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

static enum err read_text(const char *text, struct lanes_trace *out, struct fault *fault)
{
    write_file(text);
    arena_release(&arena);
    arena_init(&arena, 64 * MIB);
    enum err e = lanes_trace_read(path, &arena, out, fault);
    ck_assert_int_eq(unlink(path), 0);
    return e;
}

static void ck_refused(const char *text, const char *words)
{
    struct fault fault = FAULT_NONE;
    struct lanes_trace trace;
    ck_assert_int_eq(read_text(text, &trace, &fault), ERR_BAD_FILE);
    arena_release(&arena);
    ck_assert_msg(strstr(fault.detail, words) && strstr(fault.detail, path), "%s", fault.detail);
}

#define TITLES "arrival_s,steps,step_s,persistent_mb,ephemeral_mb\n"

START_TEST(test_csv)
{
    struct lanes_trace t;
    struct fault fault = FAULT_NONE;
    enum err e =
        read_text("# a comment\nsteps,told_steps,arrival_s,step_s,weight,ephemeral_mb,persistent_mb\r\n"
                  "2,0,7.5,0.25,3,100,0.5\n\n9,8,1,1e-9,1,0,0\n",
                  &t, &fault);
    ck_assert_msg(!e, "%s", fault.detail);
    ck_assert_uint_eq(t.num_devices, 0);
    ck_assert_uint_eq(t.num_jobs, 2);
    ck_assert_int_eq(t.jobs[0].step_ns, 1); /* by arrival */
    ck_assert_int_eq(t.jobs[0].told_steps, 8);
    ck_assert_int_eq(t.jobs[1].arrival_ns, 7500000000);
    ck_assert_int_eq(t.jobs[1].told_steps, 0);
    ck_assert_int_eq(t.jobs[1].persistent_bytes, 500000);
    ck_assert_int_eq(t.jobs[1].ephemeral_bytes, 100000000);
    ck_assert_int_eq(t.jobs[1].weight, 3);
    ck_assert_int_eq(read_text(TITLES "0,5,1,1,1", &t, NULL), ERR_OK);
    ck_assert_int_eq(t.jobs[0].told_steps, 5);
    arena_release(&arena);
}
END_TEST

START_TEST(test_bad_csv)
{
    ck_refused("", "is empty");
    ck_refused(TITLES, "no job");
    ck_refused("# only\n# comments\n", "no job");
    ck_refused("arrival_s,steps\n", "line 1: there is no column step_s");
    ck_refused("#\narrival_s,speed\n", "line 2: unknown column \"speed\"");
    ck_refused("steps,steps\n", "line 1: a second column \"steps\"");
    ck_refused(TITLES "0,1,1,1,1\n0,1,1,1\n", "line 3: 4 fields, but there are 5 titles");
    ck_refused(TITLES "0,1,1,1,1,1\n", "line 2: 6 fields");
    ck_refused(TITLES "0,1.5,1,1,1\n",
               "line 2: steps must be a whole number, 1 to 100000000, but is \"1.5\"");
    ck_refused(TITLES "0,0,1,1,1\n", "steps must");
    ck_refused(TITLES "-1,1,1,1,1\n", "arrival_s must");
    ck_refused(TITLES "0,1,nan,1,1\n", "step_s must");
    ck_refused(TITLES "0,1,,1,1\n", "step_s must");
    ck_refused(TITLES "0,1,1,-1,1\n", "persistent_mb must");
    ck_refused(TITLES "0,1,1,1,x\n", "ephemeral_mb must");
    ck_refused(TITLES "0,60000000,1,1,1\n0,60000000,1,1,1\n", "line 3: more than 100000000 steps in all");
    ck_refused(TITLES "0,90000,90000,1,1\n", "more than 1e+09 s together");
}
END_TEST

START_TEST(test_so_many_jobs)
{
    struct buf text = BUF_INIT(4 * MIB);
    struct lanes_trace t;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(buf_puts(&text, TITLES), ERR_OK);
    for (int i = 0; i < LIMIT_LANES_TRACE_JOBS; i++)
        if (buf_puts(&text, "0,1,1,1,1\n"))
            ck_abort_msg("not enough memory");
    ck_assert_int_eq(read_text(text.data, &t, &fault), ERR_OK);
    ck_assert_uint_eq(t.num_jobs, LIMIT_LANES_TRACE_JOBS);
    ck_assert_int_eq(buf_puts(&text, "0,1,1,1,1\n"), ERR_OK);
    ck_refused(text.data, "line 100002: more than 100000 jobs");
    buf_release(&text);
}
END_TEST

#define HEAD "{\"type\":\"lanes_trace\",\"version\":1,\"capacity_bytes\":[100,50]}\n"

/* What a service writes is what is read. */
START_TEST(test_lines)
{
    const struct lanes_trace_job job = {.name = "a \"b\"",
                                        .tenant = "",
                                        .job = {.arrival_ns = 5,
                                                .steps = 3,
                                                .step_ns = 11,
                                                .told_steps = 4,
                                                .persistent_bytes = 12,
                                                .ephemeral_bytes = 13,
                                                .priority = -2,
                                                .weight = 7},
                                        .start_ns = -1,
                                        .end_ns = 99,
                                        .outcome = LANES_CLIENT_DIED};
    struct lanes_trace_job idle = job, again;
    struct buf text = BUF_INIT(64 * KIB);
    struct lanes_trace t;
    struct fault fault = FAULT_NONE;
    idle.job.steps = 0;
    ck_assert_int_eq(lanes_trace_write_head(&text, (const int64_t[]){100, 50}, 2), ERR_OK);
    size_t head = text.len;
    ck_assert_int_eq(lanes_trace_write_job(&text, &job), ERR_OK);
    size_t first = text.len;
    ck_assert_int_eq(lanes_trace_write_job(&text, &idle), ERR_OK);
    enum err e = read_text(text.data, &t, &fault);
    ck_assert_msg(!e, "%s", fault.detail);
    ck_assert_uint_eq(t.num_devices, 2);
    ck_assert_int_eq(t.capacity_bytes[1], 50);
    ck_assert_uint_eq(t.num_jobs, 1);
    ck_assert_int_eq(t.jobs[0].priority, -2);
    ck_assert_int_eq(lanes_trace_parse_job(text.data + head, first - head - 1, &arena, &again, &fault),
                     ERR_OK);
    ck_assert_str_eq(again.name, job.name);
    ck_assert_int_eq(again.outcome, job.outcome);
    ck_assert_int_eq(again.end_ns, 99);
    ck_assert_int_eq(again.job.weight, 7);
    buf_release(&text);
    arena_release(&arena);
}
END_TEST

#define JOB(more)                                                                                            \
    "{\"type\":\"job\",\"arrival_ns\":0,\"start_ns\":0,\"end_ns\":9,\"outcome\":\"finished\",\"told_"        \
    "steps\":1,"                                                                                             \
    "\"step_ns\":1,\"persistent_bytes\":1,\"ephemeral_bytes\":1,\"priority\":0,\"weight\":1" more "}\n"

START_TEST(test_bad_lines)
{
    ck_refused("{}\n", "line 1: type: ");
    ck_refused("{\"type\":\"x\",\"version\":1,\"capacity_bytes\":[1]}\n",
               "line 1: type: the first line's must be");
    ck_refused("{\"type\":\"lanes_trace\",\"version\":2,\"capacity_bytes\":[1]}\n", "line 1: version: is 2");
    ck_refused("{\"type\":\"lanes_trace\",\"version\":1,\"capacity_bytes\":[0]}\n", "line 1: capacity_bytes");
    ck_refused("{\"type\":\"lanes_trace\",\"version\":1,\"capacity_bytes\":[]}\n", "line 1: capacity_bytes");
    ck_refused(HEAD, "no job");
    ck_refused(HEAD JOB(",\"steps\":1") "{", "line 3: ");
    ck_refused(HEAD JOB(""), "line 2: steps: ");
    ck_refused(HEAD JOB(",\"steps\":1,\"colour\":1"), "line 2: colour: ");
    ck_refused(HEAD JOB(",\"steps\":-1"), "line 2: steps: ");
    ck_refused(HEAD JOB(",\"steps\":1.5"), "line 2: steps: ");
    ck_refused(HEAD HEAD, "line 2: ");
}
END_TEST

START_TEST(test_no_file)
{
    struct fault fault = FAULT_NONE;
    struct lanes_trace t;
    ck_assert_int_eq(lanes_trace_read("there-is-no-such-trace", &arena, &t, &fault), ERR_BAD_FILE);
    ck_assert_msg(strstr(fault.detail, "there-is-no-such-trace"), "%s", fault.detail);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_csv,   test_bad_csv,   test_so_many_jobs,
                                  test_lines, test_bad_lines, test_no_file};
    return unit_run("lanes trace", tests, sizeof tests / sizeof *tests);
}
