/* THE table of commands. */
#include "cli/commands.h"
#include <stddef.h>
#include "cli/command.h"
#include "common/base/limits.h"

#define OPT(option_name, option_kind, member, value_name, help_text, ...)                                    \
    {                                                                                                        \
        .name = (option_name), .kind = (option_kind), .offset = offsetof(struct cli_options, member),        \
        .value = (value_name), .help = (help_text), __VA_ARGS__                                              \
    }
#define OPT_SET                                                                                              \
    OPT("set", OPTION_LIST, set, "PATH=VALUE",                                                               \
        "lay this over the spec, like training.learning_rate=0.1; a value is JSON or else a text",           \
        .env = NULL)

const struct option_row global_options[] = {
    OPT("server", OPTION_STRING, server, "URL", "the server (default: http://127.0.0.1:8080)",
        .env = "FEDLANE_SERVER"),
    OPT("token-file", OPTION_STRING, token_file, "FILE",
        "file with the token to use (default: the token in FEDLANE_TOKEN)", .env = NULL),
    OPT("format", OPTION_STRING, format, "FORMAT", "table, json or jsonl (default: table)", .env = NULL),
    OPT("cacert", OPTION_STRING, ca_file, "FILE", "PEM file with the certificates to trust for https",
        .env = NULL),
    OPT("help", OPTION_FLAG, help, NULL, "this text", .letter = 'h'),
};
const size_t num_global_options = sizeof global_options / sizeof *global_options;

const struct command commands[] = {
    {.noun = "simulate",
     .verb = "",
     .words = "SPEC",
     .min_words = 1,
     .max_words = 1,
     .help = "a whole run in this process: the server's rules and the worker's trainer, no HTTP",
     .run = cmd_simulate,
     .options = {OPT_SET,
                 OPT("threads", OPTION_INT, threads, "N",
                     "devices trained at the same time (default: one per CPU); changes no bit of the result",
                     .min = 1, .max = 1024),
                 OPT("out", OPTION_STRING, out_dir, "DIR",
                     "write metrics.csv, model.safetensors and run.json there", .env = NULL)}},
};
const size_t num_commands = sizeof commands / sizeof *commands;
