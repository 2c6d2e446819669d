#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "cli/command.h"
#include "common/base/str.h"
#include "tests/support/unit.h"

/* Parses a line of words; `cli` is made anew. */
static enum err parse(struct cli *cli, const char *line, const struct command **out)
{
    static char copy[1024];
    static char *argv[64];
    int argc = 0;
    char *save = NULL;
    *cli = (struct cli){.options = {.server = "default", .format = "table", .since_round = -1}};
    ck_assert_int_eq(str_copy(copy, sizeof copy, line), ERR_OK);
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    argv[argc] = NULL;
    return command_parse(cli, argc, argv, out);
}

START_TEST(test_finds)
{
    struct cli cli;
    const struct command *c;
    ck_assert_int_eq(parse(&cli, "fedlane run submit x.json --set a=1 --format json --set b=2", &c), ERR_OK);
    ck_assert(str_eq(c->noun, "run") && str_eq(c->verb, "submit"));
    ck_assert_uint_eq(cli.num_words, 1);
    ck_assert_str_eq(cli.words[0], "x.json");
    ck_assert_uint_eq(cli.options.set.count, 2);
    ck_assert_str_eq(cli.options.set.items[1], "b=2");
    ck_assert_int_eq(cli.format, FORMAT_JSON);
    ck_assert_int_eq(parse(&cli, "fedlane --server u --format=jsonl run --token-file f list", &c), ERR_OK);
    ck_assert(str_eq(c->noun, "run") && str_eq(c->verb, "list"));
    ck_assert_str_eq(cli.options.server, "u");
    ck_assert_str_eq(cli.options.token_file, "f");
    ck_assert_int_eq(cli.format, FORMAT_JSONL);
    ck_assert_int_eq(parse(&cli, "fedlane simulate s --threads 3 --out d", &c), ERR_OK);
    ck_assert_int_eq(cli.options.threads, 3);
    ck_assert_int_eq(parse(&cli, "fedlane metrics get r --format csv", &c), ERR_OK);
    ck_assert_int_eq(parse(&cli, "fedlane run show -- -odd", &c), ERR_OK);
    ck_assert_str_eq(cli.words[0], "-odd");
    ck_assert_int_eq(parse(&cli, "fedlane model pull r -o m --version 3", &c), ERR_OK);
    ck_assert_str_eq(cli.options.model_version, "3");
}
END_TEST

static void ck_usage(const char *line, const char *words)
{
    struct cli cli;
    const struct command *c;
    enum err e = parse(&cli, line, &c);
    ck_assert_msg(e == ERR_USAGE && exit_status_of(e) == STATUS_USAGE, "%s", line);
    ck_assert_msg(strstr(cli.fault.detail, words) != NULL, "%s: %s", line, cli.fault.detail);
}

START_TEST(test_usage_errors)
{
    ck_usage("fedlane", "which command");
    ck_usage("fedlane run", "submit, list, show");
    ck_usage("fedlane run shwo x", "did you mean \"run show\"");
    ck_usage("fedlane rn list", "did you mean \"run list\"");
    ck_usage("fedlane simulte x", "did you mean \"simulate\"");
    ck_usage("fedlane run frobnicate", "fedlane run has: submit");
    ck_usage("fedlane frobnicate", "--help");
    ck_usage("fedlane run list --experimnt 1", "--experiment");
    ck_usage("fedlane run list --set a=1", "--set");
    ck_usage("fedlane run list --format xml", "--format is table, json or jsonl");
    ck_usage("fedlane run list --format csv", "--format is table, json or jsonl");
    ck_usage("fedlane metrics get r --format xml", "or csv");
    ck_usage("fedlane run show", "usage: fedlane run show RUN");
    ck_usage("fedlane run show a b", "one word too many");
    ck_usage("fedlane run compare a", "usage: fedlane run compare");
    ck_usage("fedlane simulate s --threads 0", "--threads");
    ck_usage("fedlane --server", "which command");
}
END_TEST

/* What holds for every row of the table. */
START_TEST(test_table)
{
    for (size_t i = 0; i < num_commands; i++) {
        const struct command *c = &commands[i];
        ck_assert(c->run && *c->noun && *c->help && c->min_words <= c->max_words);
        ck_assert_uint_le(c->max_words, CLI_MAX_WORDS);
        ck_assert_ptr_eq(command_find(c->noun, c->verb), c);
        ck_assert_msg((c->max_words == 0) == (*c->words == '\0'), "%s %s", c->noun, c->verb);
        for (const struct option_row *row = c->options; row->name; row++) {
            ck_assert_msg(row->help && row->offset < sizeof(struct cli_options), "%s", row->name);
            for (size_t g = 0; g < num_global_options; g++)
                ck_assert_msg(!str_eq(row->name, global_options[g].name), "--%s is global", row->name);
        }
    }
    ck_assert_ptr_null(command_find("run", "frobnicate"));
}
END_TEST

/* The help of everything, into nothing: that it does not fail. */
START_TEST(test_help)
{
    struct cli cli;
    const struct command *c;
    char line[128];
    int out = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);
    ck_assert(out >= 0 && null >= 0 && fflush(stdout) == 0 && dup2(null, STDOUT_FILENO) >= 0);
    for (size_t i = 0; i < num_commands; i++) {
        (void)snprintf(line, sizeof line, "fedlane %s %s --help", commands[i].noun, commands[i].verb);
        ck_assert_int_eq(parse(&cli, line, &c), ERR_OK);
        ck_assert_ptr_null(c);
    }
    ck_assert_int_eq(parse(&cli, "fedlane --help", &c), ERR_OK);
    ck_assert_int_eq(parse(&cli, "fedlane run -h", &c), ERR_OK);
    ck_assert_int_eq(parse(&cli, "fedlane help", &c), ERR_OK);
    ck_assert_int_eq(parse(&cli, "fedlane help data", &c), ERR_OK);
    ck_assert_int_eq(parse(&cli, "fedlane help data stats", &c), ERR_OK);
    ck_assert_int_eq(parse(&cli, "fedlane help simulate", &c), ERR_OK);
    ck_assert_int_eq(parse(&cli, "fedlane help data stat", &c), ERR_USAGE);
    ck_assert_int_eq(parse(&cli, "fedlane help dat", &c), ERR_USAGE);
    ck_assert_int_eq(parse(&cli, "fedlane --version", &c), ERR_OK);
    ck_assert_ptr_null(c);
    (void)fflush(stdout);
    (void)dup2(out, STDOUT_FILENO);
    (void)close(out);
    (void)close(null);
}
END_TEST

START_TEST(test_exit_statuses)
{
    static const struct {
        enum err e;
        enum exit_status status;
    } rows[] = {
        {ERR_OK, STATUS_FINE},
        {ERR_NETWORK, STATUS_CONNECTION},
        {ERR_TIMEOUT, STATUS_CONNECTION},
        {ERR_UNAUTHORIZED, STATUS_CONNECTION},
        {ERR_FORBIDDEN, STATUS_CONNECTION},
        {ERR_TOKEN_REVOKED, STATUS_CONNECTION},
        {ERR_USAGE, STATUS_USAGE},
        {ERR_BAD_FILE, STATUS_USAGE},
        {ERR_UNKNOWN_FIELD, STATUS_USAGE},
        {ERR_NOT_FOUND, STATUS_USAGE},
        {ERR_CONFLICT, STATUS_FAILED},
        {ERR_IO, STATUS_FAILED},
        {ERR_NO_MEMORY, STATUS_FAILED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(exit_status_of(rows[i].e) == rows[i].status, "%s", err_name(rows[i].e));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_finds, test_usage_errors, test_table, test_help, test_exit_statuses};
    return unit_run("cli commands", tests, sizeof tests / sizeof *tests);
}
