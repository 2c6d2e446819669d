/* What every command gets and what becomes of its errors. */
#ifndef FEDLANE_CLI_CLI_H
#define FEDLANE_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include "common/base/arena.h"
#include "common/base/config.h"
#include "common/base/err.h"
#include "common/http/http.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "unknown"
#endif

/* The program's exit status; fedlane --help lists them. */
enum exit_status {
    STATUS_FINE = 0,
    STATUS_FAILED = 1,     /* a run failed or was stopped, a conflict, a file, the machine */
    STATUS_CONNECTION = 2, /* no server, or it knows no such token */
    STATUS_TIMED_OUT = 3,  /* the wait that was asked for is over */
    STATUS_USAGE = 4,      /* the command line, or what the files it names say */
};

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_JSONL, FORMAT_CSV };

/* Every option of every command; a command's row says which of them it takes. */
struct cli_options {
    const char *server, *token_file, *format, *ca_file, *cert_file, *key_file;
    bool help, version;
    struct option_list set, sweep, metric, from_csv;
    const char *seeds, *out_dir, *files, *devices, *plot, *output, *model_version, *idempotency_key;
    const char *status, *experiment, *dataset, *label, *run, *role, *name, *device;
    const char *policy;
    int64_t capacity, threads, seed, limit, since_round, expires_days, max_uses;
    double timeout_s;
    bool watch, all;
};

#define CLI_MAX_WORDS    64
#define CLI_MAX_COMPARED 30 /* runs side by side */

struct cli {
    struct cli_options options;
    enum format format;
    const char *words[CLI_MAX_WORDS]; /* of the command line, behind the command */
    size_t num_words;
    struct http_client *client; /* made by the first request */
    struct arena arena;         /* released at the end */
    struct fault fault;         /* filled by a command that returns an error */
    enum exit_status status;    /* of a command that returns ERR_OK */
};

/* A command. On an error, cli->fault says what is wrong. */
typedef enum err (*command_fn)(struct cli *cli);

/* What an error means for whoever called the program. */
enum exit_status exit_status_of(enum err e);
/* Says on stderr what is wrong. */
void cli_complain(const struct fault *fault, enum err e);
/* Fills cli->fault from an error that has no text of its own. */
enum err cli_fail(struct cli *cli, enum err e, const char *what) MUST_CHECK;

#endif
