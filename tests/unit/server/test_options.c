#include "server/options.h"
#include <string.h>
#include "tests/support/unit.h"

static enum err read_words(struct options *o, struct fault *fault, int argc, const char *const *words)
{
    char *argv[16] = {NULL};
    for (int i = 0; i < argc; i++)
        argv[i] = (char *)(uintptr_t)words[i];
    *fault = FAULT_NONE;
    return options_read(argc, argv, o, fault);
}
#define READ(o, fault, ...)                                                                                  \
    read_words((o), (fault),                                                                                 \
               (int)(sizeof((const char *const[]){"fedlane-server", __VA_ARGS__}) / sizeof(char *)),         \
               (const char *const[]){"fedlane-server", __VA_ARGS__})

START_TEST(test_defaults)
{
    struct options o;
    struct fault fault;
    ck_assert_int_eq(read_words(&o, &fault, 1, (const char *const[]){"fedlane-server"}), ERR_OK);
    ck_assert_str_eq(o.data_dir, "./fedlane-data");
    ck_assert_str_eq(o.address, "127.0.0.1");
    ck_assert_uint_eq(o.port, 8080);
    ck_assert_double_eq(o.heartbeat_s, 10);
    ck_assert_int_eq(o.threads, 0);
}
END_TEST

START_TEST(test_addresses)
{
    static const struct {
        const char *text, *address;
        uint16_t port;
    } good[] = {{"127.0.0.1:0", "127.0.0.1", 0},
                {"127.3.2.1:65535", "127.3.2.1", 65535},
                {"[::1]:9", "::1", 9},
                {"localhost:80", "127.0.0.1", 80}};
    static const char *const bad[] = {
        "",
        ":",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:x",
        "127.0.0.1:65536",
        "::1:80",
        "[::1:80",
        "[]:80",
        "example.org:80",
        "127.0.0.1:-1",
        ":80",
        "0000000000000000000000000000000000000000000000000000000000000000000000000:80"};
    struct options o;
    struct fault fault;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_int_eq(READ(&o, &fault, "--listen", good[i].text), ERR_OK);
        ck_assert_str_eq(o.address, good[i].address);
        ck_assert_uint_eq(o.port, good[i].port);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(READ(&o, &fault, "--listen", bad[i]) == ERR_USAGE, "%s", bad[i]);
}
END_TEST

START_TEST(test_only_loopback_without_insecure)
{
    static const char *const open[] = {"0.0.0.0:80", "192.168.1.1:80", "[::]:80", "[fe80::1]:80",
                                       "128.0.0.1:80"};
    struct options o;
    struct fault fault;
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        ck_assert_int_eq(READ(&o, &fault, "--listen", open[i]), ERR_USAGE);
        ck_assert_ptr_nonnull(strstr(fault.detail, "--insecure"));
        ck_assert_int_eq(READ(&o, &fault, "--listen", open[i], "--insecure"), ERR_OK);
    }
}
END_TEST

START_TEST(test_what_is_wrong_is_named)
{
    struct options o;
    struct fault fault;
    ck_assert_int_eq(READ(&o, &fault, "--data-dri", "x"), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "data-dri"));
    ck_assert_int_eq(READ(&o, &fault, "--threads", "0"), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "threads"));
    ck_assert_int_eq(READ(&o, &fault, "--log-level", "loud"), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "--log-level"));
    ck_assert_int_eq(READ(&o, &fault, "--log-format", "xml"), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "--log-format"));
    ck_assert_int_eq(READ(&o, &fault, "word"), ERR_USAGE);
    ck_assert_int_eq(READ(&o, &fault, "--version", "--listen", "nonsense"), ERR_OK);
    ck_assert(o.version);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_defaults, test_addresses, test_only_loopback_without_insecure,
                                  test_what_is_wrong_is_named};
    return unit_run("options", tests, sizeof tests / sizeof tests[0]);
}
