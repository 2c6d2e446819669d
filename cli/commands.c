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

#define OPT_SEED                                                                                             \
    OPT("seed", OPTION_INT, seed, "N", "of the random streams (default: what the file says)", .min = 0,      \
        .max = 9.2e18)

#define OPT_LIMIT OPT("limit", OPTION_INT, limit, "N", "at most so many (default: all)", .min = 1, .max = 1e9)
#define OPT_TIMEOUT                                                                                          \
    OPT("timeout", OPTION_DOUBLE, timeout_s, "S", "wait at most so long; then exit status 3", .min = 0.001,  \
        .max = 1e9)
#define OPT_KEY                                                                                              \
    OPT("idempotency-key", OPTION_STRING, idempotency_key, "KEY",                                            \
        "the same key again makes nothing twice (default: a new one)", .env = NULL)
#define OPT_OUTPUT(help_text) OPT("output", OPTION_STRING, output, "FILE", help_text, .letter = 'o')

/* A command's noun and verb, its words and their number, its function and help. */
#define COMMAND(noun_, verb_, words_, min_, max_, fn, help_)                                                 \
    .noun = (noun_), .verb = (verb_), .words = (words_), .min_words = (min_), .max_words = (max_),           \
    .run = (fn), .help = (help_)

const struct option_row global_options[] = {
    OPT("server", OPTION_STRING, server, "URL", "the server (default: http://127.0.0.1:8080)",
        .env = "FEDLANE_SERVER"),
    OPT("token-file", OPTION_STRING, token_file, "FILE",
        "file with the token to use (default: the token in FEDLANE_TOKEN)", .env = NULL),
    OPT("format", OPTION_STRING, format, "FORMAT", "table, json or jsonl (default: table)", .env = NULL),
    OPT("cacert", OPTION_STRING, ca_file, "FILE", "PEM file with the certificates to trust for https",
        .env = "FEDLANE_CACERT"),
    OPT("cert", OPTION_STRING, cert_file, "FILE",
        "PEM file with the certificate to show to a server that asks for one", .env = "FEDLANE_CERT"),
    OPT("key", OPTION_STRING, key_file, "FILE", "its private key (default: in the same file)",
        .env = "FEDLANE_KEY"),
    OPT("help", OPTION_FLAG, help, NULL, "this text", .letter = 'h'),
};
const size_t num_global_options = sizeof global_options / sizeof *global_options;

const struct command commands[] = {
    {COMMAND("run", "submit", "SPEC", 1, 1, cmd_run_submit, "hand a run spec to the server"),
     .options = {OPT_SET, OPT("watch", OPTION_FLAG, watch, NULL, "and follow it until it ends", .env = NULL),
                 OPT_TIMEOUT, OPT_KEY}},
    {COMMAND("run", "list", "", 0, 0, cmd_run_list, "all runs, the newest first"),
     .options = {OPT("experiment", OPTION_STRING, experiment, "ID", "only of this experiment", .env = NULL),
                 OPT("status", OPTION_STRING, status, "STATUS",
                     "only pending, waiting_for_devices, running, paused or finished ones", .env = NULL),
                 OPT_LIMIT}},
    {COMMAND("run", "show", "RUN", 1, 1, cmd_run_show, "one run and its last rounds")},
    {COMMAND("run", "watch", "RUN...", 1, CLI_MAX_WORDS, cmd_run_watch, "follow runs until all have ended"),
     .options = {OPT_TIMEOUT}},
    {COMMAND("run", "start", "RUN...", 1, CLI_MAX_WORDS, cmd_run_start,
             "start runs that were submitted without autostart")},
    {COMMAND("run", "stop", "RUN...", 1, CLI_MAX_WORDS, cmd_run_stop, "end runs for good")},
    {COMMAND("run", "pause", "RUN...", 1, CLI_MAX_WORDS, cmd_run_pause,
             "hold runs after the round that is open")},
    {COMMAND("run", "resume", "RUN...", 1, CLI_MAX_WORDS, cmd_run_resume, "let paused runs go on")},
    {COMMAND("run", "compare", "RUN RUN...", 2, CLI_MAX_COMPARED, cmd_run_compare,
             "how runs ended side by side, and in what they differ")},
    {COMMAND("worker", "list", "", 0, 0, cmd_worker_list, "the worker processes"), .options = {OPT_LIMIT}},
    {COMMAND("worker", "revoke", "WORKER...", 1, CLI_MAX_WORDS, cmd_worker_revoke,
             "shut out workers and their devices")},
    {COMMAND("device", "list", "", 0, 0, cmd_device_list, "the devices"),
     .options = {OPT("status", OPTION_STRING, status, "STATUS",
                     "only online, suspect, offline or revoked ones", .env = NULL),
                 OPT("label", OPTION_STRING, label, "NAME=VALUE", "only those with this label", .env = NULL),
                 OPT("dataset", OPTION_STRING, dataset, "NAME", "only those with these data", .env = NULL),
                 OPT("run", OPTION_STRING, run, "RUN", "only those of a run", .env = NULL), OPT_LIMIT}},
    {COMMAND("device", "show", "DEVICE", 1, 1, cmd_device_show, "one device")},
    {COMMAND("device", "revoke", "DEVICE...", 1, CLI_MAX_WORDS, cmd_device_revoke, "shut out devices")},
    {COMMAND("token", "create", "", 0, 0, cmd_token_create, "make a token; it is shown once"),
     .options = {OPT("role", OPTION_STRING, role, "ROLE", "admin, operator, viewer or enrollment",
                     .env = NULL),
                 OPT("name", OPTION_STRING, name, "NAME", "what it is for (default: the role)", .env = NULL),
                 OPT("expires-days", OPTION_INT, expires_days, "N", "how long it is good (default: for ever)",
                     .min = 1, .max = 36500),
                 OPT("max-uses", OPTION_INT, max_uses, "N",
                     "enrollment: how many workers and devices it admits (default: any number)", .min = 1,
                     .max = 1e6),
                 OPT_KEY}},
    {COMMAND("token", "list", "", 0, 0, cmd_token_list, "the tokens, without their secrets"),
     .options = {OPT("role", OPTION_STRING, role, "ROLE", "only those of this role", .env = NULL),
                 OPT_LIMIT}},
    {COMMAND("token", "revoke", "TOKEN...", 1, CLI_MAX_WORDS, cmd_token_revoke, "end tokens")},
    {COMMAND("model", "pull", "RUN", 1, 1, cmd_model_pull, "a model's weights as a safetensors file"),
     .options = {OPT("version", OPTION_STRING, model_version, "V", "0, 1, 2, ... (default: latest)",
                     .env = NULL),
                 OPT_OUTPUT("where it goes")}},
    {COMMAND("metrics", "get", "RUN", 1, 1, cmd_metrics_get, "a run's metrics, over all devices and of each"),
     .takes_csv = true,
     .options = {OPT("metric", OPTION_LIST, metric, "NAME", "only this one", .env = NULL),
                 OPT("device", OPTION_STRING, device, "DEVICE",
                     "only of this device (id or ordinal), or \"aggregate\"", .env = NULL),
                 OPT("since-round", OPTION_INT, since_round, "N", "only from this round on", .min = 0,
                     .max = LIMIT_ROUNDS),
                 OPT_LIMIT}},
    {COMMAND("metrics", "plot", "[RUN...]", 0, CLI_MAX_WORDS, cmd_metrics_plot,
             "draw runs into one picture, by gnuplot"),
     .options = {OPT_OUTPUT("the picture, .svg or .png"),
                 OPT("metric", OPTION_LIST, metric, "NAME",
                     "draw this (default: train_loss, test_accuracy, steps_done)", .env = NULL),
                 OPT("from-csv", OPTION_LIST, from_csv, "FILE", "and a simulation's metrics.csv",
                     .env = NULL)}},
    {COMMAND("simulate", "", "SPEC", 1, 1, cmd_simulate,
             "a whole run in this process: the server's rules and the worker's trainer"),
     .options =
         {OPT_SET,
          OPT("seeds", OPTION_STRING, seeds, "SEEDS",
              "a run for each seed, like 1-6 or 1,3,7-9; their mean and standard deviation", .env = NULL),
          OPT("sweep", OPTION_LIST, sweep, "PATH=V,V,...",
              "a run for each of the values, like training.learning_rate=0.01,0.1; several make a grid",
              .env = NULL),
          OPT("threads", OPTION_INT, threads, "N",
              "devices, or runs, trained at the same time (default: one per CPU); changes no bit of "
              "the result",
              .min = 1, .max = 1024),
          OPT("device", OPTION_STRING, device, "NAME",
              "what trains: cpu, opencl, opencl:N as `fedlane doctor` lists them, or auto (default: cpu)",
              .env = NULL),
          OPT("out", OPTION_STRING, out_dir, "DIR",
              "write metrics.csv, model.safetensors and run.json there; of several runs in a folder "
              "for each, with tables and plots over all; the same command again goes on",
              .env = NULL)}},
    {COMMAND("lanes", "simulate", "TRACE", 1, 1, cmd_lanes_simulate,
             "jobs that share a device, under a policy, on a virtual clock"),
     .takes_csv = true,
     .options = {OPT("policy", OPTION_STRING, policy, "POLICY",
                     "auto, srtf, las, fair, pack, fifo, priority, salus-fifo, salus-srtf or salus-fair; or "
                     "all, to compare them (default: auto)",
                     .env = NULL),
                 OPT("capacity", OPTION_INT, capacity, "BYTES",
                     "memory of the one device (default: what the trace says, else 14000000000)", .min = 1,
                     .max = 1e15)}},
    {COMMAND("data", "stats", "SPEC|DATA", 1, 1, cmd_data_stats,
             "how the data of a run spec, or of a data object, lie on their devices"),
     .options = {OPT_SET, OPT_SEED,
                 OPT("all", OPTION_FLAG, all, NULL, "every device and class, not only the first 20",
                     .env = NULL),
                 OPT("plot", OPTION_STRING, plot, "FILE", "and draw them there, .svg or .png", .env = NULL)}},
    {COMMAND("data", "partition", "SPEC|DATA", 1, 1, cmd_data_partition,
             "write the data of a run spec, or of a data object, as a file per device"),
     .options = {OPT_SET, OPT_SEED,
                 OPT("out", OPTION_STRING, out_dir, "DIR",
                     "the folder to make; it must not be there yet, or be empty", .env = NULL),
                 OPT("files", OPTION_STRING, files, "KIND", "npz or csv (default: npz)", .env = NULL),
                 OPT("devices", OPTION_STRING, devices, "A-B",
                     "only those with these ordinals: the share of one machine", .env = NULL)}},
    {COMMAND("data", "vocabulary", "SPEC|DATA", 1, 1, cmd_data_vocabulary,
             "the characters of a text's tokens, for data.vocabulary of others and for model.vocabulary"),
     .options = {OPT_SET, OPT_SEED}},
    {COMMAND("doctor", "", "", 0, 0, cmd_doctor, "what is in order here and at the server, and what is not")},
};
const size_t num_commands = sizeof commands / sizeof *commands;
