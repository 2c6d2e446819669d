#include <math.h>
#include <string.h>
#include <unistd.h>
#include "cli/simulate/sim_trace.h"
#include "common/base/limits.h"
#include "tests/support/unit.h"

struct loaded_trace {
    enum err err;
    struct fault fault;
    struct arena arena;
    struct sim_trace trace;
};

static void load_bytes(const char *bytes, size_t n, struct loaded_trace *out)
{
    char path[] = "/tmp/fedlane-trace-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    ck_assert_int_eq(close(fd), 0);
    *out = (struct loaded_trace){.arena = ARENA_INIT(16 * MIB)};
    out->err = sim_trace_load(path, &out->arena, &out->trace, &out->fault);
    if (out->err) {
        ck_assert_str_eq(out->fault.field, "systems.trace");
        ck_assert_msg(strstr(out->fault.detail, path) != NULL, "no file: %s", out->fault.detail);
    }
    ck_assert_int_eq(unlink(path), 0);
}

static void ck_load(const char *text, struct loaded_trace *out)
{
    load_bytes(text, strlen(text), out);
    ck_assert_msg(out->err == ERR_OK, "%s", out->fault.detail);
}

static void ck_refused(const char *text, const char *words)
{
    struct loaded_trace t;
    load_bytes(text, strlen(text), &t);
    ck_assert_msg(t.err == ERR_BAD_FILE, "%s: %s", text, err_name(t.err));
    ck_assert_msg(strstr(t.fault.detail, words) != NULL, "%s: %s", text, t.fault.detail);
    arena_release(&t.arena);
}

#define ALL "device,steps_per_s,up_bytes_per_s,down_bytes_per_s,online_from_s,online_to_s\n"

START_TEST(test_all_columns)
{
    struct loaded_trace t;
    ck_load(ALL "3,8.5,,1e6,10,20\n0,50,2000,100000,0,3600\n3,,40,,0.5,1\n3,8.5,,,20,25\n", &t);
    ck_assert_uint_eq(t.trace.num_devices, 2);
    const struct sim_trace_device *a = &t.trace.devices[0], *b = &t.trace.devices[1];
    ck_assert(a->ordinal == 0 && a->line == 3 && a->num_online == 1);
    ck_assert(a->steps_per_s == 50 && a->up_bytes_per_s == 2000 && a->down_bytes_per_s == 100000);
    ck_assert(a->online[0].from_ns == 0 && a->online[0].to_ns == INT64_C(3600000000000));
    ck_assert(b->ordinal == 3 && b->steps_per_s == 8.5 && b->up_bytes_per_s == 40 &&
              b->down_bytes_per_s == 1e6);
    /* In time's order; what touches is one. */
    ck_assert_uint_eq(b->num_online, 2);
    ck_assert(b->online[0].from_ns == 500000000 && b->online[0].to_ns == 1000000000);
    ck_assert(b->online[1].from_ns == INT64_C(10000000000) && b->online[1].to_ns == INT64_C(25000000000));
    arena_release(&t.arena);
}
END_TEST

START_TEST(test_few_columns)
{
    struct loaded_trace t;
    ck_load("steps_per_s,device\r\n7,1\r\n\r\n,0\r\n", &t);
    ck_assert_uint_eq(t.trace.num_devices, 2);
    ck_assert(isnan(t.trace.devices[0].steps_per_s) && t.trace.devices[0].num_online == 0);
    ck_assert(t.trace.devices[1].steps_per_s == 7 && isnan(t.trace.devices[1].up_bytes_per_s));
    arena_release(&t.arena);
}
END_TEST

START_TEST(test_bad_titles)
{
    ck_refused("", "is empty");
    ck_refused("device,speed\n0,1\n", "line 1: unknown column \"speed\"");
    ck_refused("device,device\n0,1\n", "line 1: a second column \"device\"");
    ck_refused("steps_per_s\n1\n", "line 1: there is no column \"device\"");
    ck_refused("device,online_from_s\n0,1\n", "line 1: online_from_s and online_to_s go together");
    ck_refused("device,online_to_s\n0,1\n", "go together");
    ck_refused("device\n", "no devices");
}
END_TEST

START_TEST(test_bad_cells)
{
    ck_refused(ALL "0,1,1,1,0\n", "line 2: 5 fields");
    ck_refused(ALL "0,1,1,1,0,1,2\n", "line 2: more fields");
    ck_refused(ALL "\n0,\"1\"2,1,1,0,1\n", "line 3: a quote");
    ck_refused("device\n-1\n", "line 2, device -1: device must be a device's number");
    ck_refused("device\n1.5\n", "line 2, device 1.5");
    ck_refused("device\n100000001\n", "line 2");
    ck_refused(ALL "0,fast,1,1,0,1\n", "line 2, device 0: steps_per_s must be a number above 0");
    ck_refused(ALL "0,0,1,1,0,1\n", "steps_per_s must be a number above 0");
    ck_refused(ALL "4,1,-2,1,0,1\n", "line 2, device 4: up_bytes_per_s");
    ck_refused(ALL "4,1,1,nan,0,1\n", "line 2, device 4: down_bytes_per_s");
    ck_refused(ALL "4,1,1,inf,0,1\n", "down_bytes_per_s");
    ck_refused(ALL "4,1,1,1,,1\n", "online_from_s must be seconds since the start");
    ck_refused(ALL "4,1,1,1,0,\n", "online_to_s must be seconds since the start");
    ck_refused(ALL "4,1,1,1,-1,5\n", "online_from_s");
    ck_refused(ALL "4,1,1,1,0,1e10\n", "online_to_s");
    struct loaded_trace t;
    load_bytes("device\n0\0\n", 10, &t);
    ck_assert(t.err == ERR_BAD_FILE && strstr(t.fault.detail, "zero bytes"));
    arena_release(&t.arena);
}
END_TEST

START_TEST(test_bad_times)
{
    ck_refused(ALL "0,1,1,1,0,5\n2,1,1,1,9,3\n", "line 3, device 2: the time online ends before it begins");
    ck_refused(ALL "0,1,1,1,0,5\n2,1,1,1,9,9\n", "line 3, device 2: it never comes online");
    ck_refused(ALL "0,1,1,1,0,5\n0,,,,4.9,6\n", "line 3, device 0: the time online from 4.9 s on overlaps");
    ck_refused(ALL "0,1,1,1,4.9,6\n0,,,,0,5\n", "line 2, device 0: the time online from 4.9 s on overlaps");
    ck_refused(ALL "0,1,1,1,0,10\n0,,,,2,3\n", "line 3, device 0");
    ck_refused(ALL "0,1,1,1,0,5\n0,2,,,7,9\n",
               "line 3, device 0: steps_per_s is 2 here and 1 in another row");
    ck_refused("device,steps_per_s\n1,5\n0,5\n1,5\n", "line 4, device 1: has a row already, in line 2");
}
END_TEST

START_TEST(test_no_file)
{
    struct loaded_trace t = {.arena = ARENA_INIT(1 * MIB)};
    ck_assert_int_eq(sim_trace_load("/nonexistent/trace.csv", &t.arena, &t.trace, &t.fault), ERR_BAD_FILE);
    ck_assert_ptr_nonnull(strstr(t.fault.detail, "/nonexistent/trace.csv"));
    arena_release(&t.arena);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_all_columns, test_few_columns, test_bad_titles,
                                  test_bad_cells,   test_bad_times,   test_no_file};
    return unit_run("simulated devices", tests, sizeof tests / sizeof *tests);
}
