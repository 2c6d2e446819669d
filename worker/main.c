/* fedlane-worker: one process that is one or many devices. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/config.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/compute/compute.h"
#include "common/compute/team.h"
#include "common/json/json_spec.h"
#include "worker/agent.h"
#include "worker/device_list.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "unknown"
#endif

/* Shown by --help. */
enum exit_code { EXIT_STOPPED = 0, EXIT_LOCAL = 1, EXIT_REFUSED = 2, EXIT_USAGE = 4 };

struct options {
    const char *server, *enroll_token_file, *data, *devices, *state_dir, *name, *log_level, *log_format,
        *device, *ca_file, *cert_file, *key_file;
    int64_t threads, memory, max_request;
    double slowdown;
    bool no_label_counts, help, version;
};

#define ROW(option_name, option_kind, member, value_name, help_text, ...)                                    \
    {                                                                                                        \
        .name = (option_name), .kind = (option_kind), .offset = offsetof(struct options, member),            \
        .value = (value_name), .help = (help_text), __VA_ARGS__                                              \
    }

static const struct option_row rows[] = {
    ROW("server", OPTION_STRING, server, "URL", "the server's address, like http://host:8080",
        .env = "FEDLANE_SERVER"),
    ROW("enroll-token-file", OPTION_STRING, enroll_token_file, "FILE",
        "file with the server's enrollment token", .env = NULL),
    ROW("data", OPTION_STRING, data, "FILE", "JSON file that says what the data are (docs/datasets.md)",
        .env = NULL),
    ROW("devices", OPTION_STRING, devices, "LIST",
        "which devices of the data this worker is, like 0-9,12 (default: all)", .env = NULL),
    ROW("state-dir", OPTION_STRING, state_dir, "DIR",
        "where the worker keeps who it is and what is not sent yet", .env = NULL),
    ROW("threads", OPTION_INT, threads, "N",
        "cores to train on: as many devices at the same time; where there are fewer, all work at their large "
        "operations (default: 1)",
        .min = 1, .max = 1024),
    ROW("device", OPTION_STRING, device, "NAME",
        "what trains: cpu, opencl (a GPU, if there is one), opencl:N as `fedlane doctor` lists them, or auto "
        "(a GPU "
        "that works, else the cpu) (default: cpu)",
        .env = NULL),
    ROW("memory", OPTION_INT, memory, "BYTES",
        "train only models that need no more, all threads together; a task whose model needs more fails and "
        "says what it needs (default: no limit)",
        .min = 1, .max = 1e15),
    ROW("slowdown", OPTION_DOUBLE, slowdown, "FACTOR",
        "play a machine that is slower by this factor (default: 1)", .min = 1, .max = 1e6),
    ROW("name", OPTION_STRING, name, "NAME", "what the server calls this worker (default: the host's name)",
        .env = NULL),
    ROW("max-request", OPTION_INT, max_request, "BYTES",
        "send a larger update in pieces, which survive a broken link (default: 67108864)", .min = 1,
        .max = LIMIT_MODEL_BYTES),
    ROW("no-label-counts", OPTION_FLAG, no_label_counts, NULL,
        "do not tell the server how many training examples of each class a device has", .env = NULL),
    ROW("cacert", OPTION_STRING, ca_file, "FILE", "PEM file with the certificates to trust for https",
        .env = "FEDLANE_CACERT"),
    ROW("cert", OPTION_STRING, cert_file, "FILE",
        "PEM file with the certificate to show to a server that asks for one", .env = "FEDLANE_CERT"),
    ROW("key", OPTION_STRING, key_file, "FILE", "its private key (default: in the same file)",
        .env = "FEDLANE_KEY"),
    ROW("log-level", OPTION_STRING, log_level, "LEVEL", "debug, info, warning or error (default: info)",
        .env = NULL),
    ROW("log-format", OPTION_STRING, log_format, "FORMAT", "text or json (default: text)", .env = NULL),
    ROW("help", OPTION_FLAG, help, NULL, "this text", .letter = 'h'),
    ROW("version", OPTION_FLAG, version, NULL, "the version", .env = NULL),
};

static _Atomic(struct agent *) running;
static volatile sig_atomic_t is_stopped;

static void on_signal(int signal_number)
{
    struct agent *a = running;
    (void)signal_number;
    is_stopped = 1;
    if (a)
        agent_stop(a);
}

/* A second signal ends the process at once; what is not sent is on disk. */
static void handle_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
}

static void print_help(void)
{
    puts("usage: fedlane-worker --server URL --enroll-token-file FILE --data FILE --state-dir DIR "
         "[options]\n\n"
         "Trains one or many devices of a data set for a Fedlane server.\n");
    config_print_help(rows, sizeof rows / sizeof *rows);
    puts("\nexit status: 0 stopped by SIGTERM or SIGINT, 1 a file, the data or the machine, 2 refused by the "
         "server,\n"
         "4 bad options, or another process is this worker (device_busy)");
}

static enum exit_code code_of(enum err e)
{
    if (e == ERR_USAGE || e == ERR_DEVICE_BUSY)
        return EXIT_USAGE;
    bool is_local =
        e == ERR_IO || e == ERR_BAD_FILE || e == ERR_NO_MEMORY || e == ERR_STORAGE_FULL || e == ERR_CORRUPT;
    int status = err_http_status(e);
    return !is_local && status >= 400 && status < 500 ? EXIT_REFUSED : EXIT_LOCAL;
}

static enum err read_options(int argc, char **argv, struct options *o, struct fault *fault)
{
    const char *words[1];
    size_t num_words = 0;
    enum log_level level = LOG_INFO;
    enum log_format format = LOG_TEXT;
    enum err e = config_parse(rows, sizeof rows / sizeof *rows, argc, argv, o, words, 0, &num_words, fault);
    if (e || o->help || o->version)
        return e;
    const struct {
        const char *name, *value;
    } needed[] = {{"server", o->server},
                  {"enroll-token-file", o->enroll_token_file},
                  {"data", o->data},
                  {"state-dir", o->state_dir}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!needed[i].value)
            return fault_set(fault, ERR_USAGE, needed[i].name,
                             "--%s is missing; fedlane-worker --help lists the options", needed[i].name);
    }
    if (log_level_parse(o->log_level, &level) != ERR_OK)
        return fault_set(fault, ERR_USAGE, "log-level",
                         "--log-level is debug, info, warning or error, not \"%.40s\"", o->log_level);
    if (log_format_parse(o->log_format, &format) != ERR_OK)
        return fault_set(fault, ERR_USAGE, "log-format", "--log-format is text or json, not \"%.40s\"",
                         o->log_format);
    log_init(level, format);
    return ERR_OK;
}

/* Faults within the file name the field only. */
static enum err load_data(const char *path, struct dataset **out, struct fault *fault)
{
    struct fault inner = FAULT_NONE;
    json_t *json = NULL;
    enum err e = json_file_parse(path, &json, fault);
    if (!e) {
        e = dataset_load(json, 0, out, &inner);
        if (e)
            e = fault_set(fault, ERR_BAD_FILE, inner.field, "%s: %s%s%s", path, inner.field,
                          inner.field[0] ? ": " : "", inner.detail);
    } else {
        e = fault->err = ERR_BAD_FILE;
    }
    json_decref(json);
    return e;
}

struct parts {
    struct dataset *data;
    int64_t *ordinals;
    size_t num_ordinals;
    struct state_dir state;
    struct agent *agent;
};

static enum err make_parts(const struct options *o, struct parts *p, struct fault *fault)
{
    compute_limit_memory((size_t)o->memory);
    enum err e = o->device ? compute_choose(o->device, fault) : ERR_OK;
    if (!e)
        e = state_dir_open(o->state_dir, &p->state, fault);
    if (!e)
        e = load_data(o->data, &p->data, fault);
    if (!e)
        e = team_start((size_t)o->threads, fault);
    if (!e)
        e = device_list_choose(o->devices, p->data, o->data, &p->ordinals, &p->num_ordinals, fault);
    if (e)
        return e;
    log_info("worker", "data set %s: %zu devices, %zu features, %d classes", dataset_name(p->data),
             dataset_num_devices(p->data), dataset_num_features(p->data), dataset_num_classes(p->data));
    const struct agent_config config = {.server_url = o->server,
                                        .enroll_token_file = o->enroll_token_file,
                                        .ca_file = o->ca_file,
                                        .cert_file = o->cert_file,
                                        .key_file = o->key_file,
                                        .name = o->name,
                                        .version = PACKAGE_VERSION,
                                        .data = p->data,
                                        .ordinals = p->ordinals,
                                        .num_ordinals = p->num_ordinals,
                                        .state = &p->state,
                                        .ops = &trainer_local,
                                        .threads = (int)o->threads,
                                        .slowdown = o->slowdown,
                                        .max_request_bytes = (size_t)o->max_request,
                                        .withholds_label_counts = o->no_label_counts};
    return agent_new(&config, &p->agent, fault);
}

/* Weights and reports are a few large blocks: what is freed of them goes back to the system. By itself the C
 * library learns from the first of them to keep the next ones. */
static void give_memory_back(void)
{
#ifdef M_MMAP_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, (int)(256 * KIB));
#endif
}

static enum err work(const struct options *o, struct fault *fault)
{
    struct parts p = {.state = {.lock_fd = -1}};
    give_memory_back();
    handle_signals();
    enum err e = make_parts(o, &p, fault);
    if (!e) {
        running = p.agent;
        if (is_stopped) /* while the data were read */
            agent_stop(p.agent);
        e = agent_run(p.agent, fault);
        /* A long computation would hold the process for no use: all that matters is on disk. */
        if (!e && agent_is_computing(p.agent)) {
            log_info("worker", "stopped in the midst of a computation; the task goes on at the next start");
            _exit(EXIT_STOPPED);
        }
    }
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    agent_free(p.agent);
    team_stop();
    state_dir_close(&p.state);
    free(p.ordinals);
    dataset_free(p.data);
    return e;
}

int main(int argc, char **argv)
{
    char host[LIMIT_NAME / 2] = "worker";
    (void)gethostname(host, sizeof host - 1);
    struct options o = {.name = host, .threads = 1, .slowdown = 1, .log_level = "info", .log_format = "text"};
    struct fault fault = FAULT_NONE;
    enum err e = read_options(argc, argv, &o, &fault);
    if (!e && o.help) {
        print_help();
        return EXIT_STOPPED;
    }
    if (!e && o.version) {
        puts("fedlane-worker " PACKAGE_VERSION);
        return EXIT_STOPPED;
    }
    if (!e)
        e = work(&o, &fault);
    if (e)
        log_error("worker", "%s", fault.detail);
    else
        log_info("worker", "stopped");
    return e ? (int)code_of(e) : (int)EXIT_STOPPED;
}
