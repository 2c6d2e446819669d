/* The commands as data. */
#ifndef FEDLANE_CLI_COMMAND_H
#define FEDLANE_CLI_COMMAND_H

#include "cli/cli.h"

#define COMMAND_MAX_OPTIONS 8

struct command {
    const char *noun, *verb; /* "run", "submit"; the verb is "" where there is only one word */
    const char *words;       /* "SPEC", for the usage line */
    size_t min_words, max_words;
    const char *help; /* one line */
    command_fn run;
    bool takes_csv; /* --format csv, too */
    /* Beside the global ones; ends with a row without a name. */
    struct option_row options[COMMAND_MAX_OPTIONS + 1];
};

/* The table, commands.c. */
extern const struct command commands[];
extern const size_t num_commands;
extern const struct option_row global_options[];
extern const size_t num_global_options;

/* Finds the command in argv, and reads the options and words behind it into *cli. *out is NULL where the
 * command line only asks for help or the version, which is then printed. ERR_USAGE names the nearest command
 * or option. */
enum err command_parse(struct cli *cli, int argc, char **argv, const struct command **out) MUST_CHECK;
/* NULL where there is none. */
const struct command *command_find(const char *noun, const char *verb);
/* ERR_USAGE with the nearest command. `verb` may be NULL: none was given. */
enum err command_unknown(const char *noun, const char *verb, struct fault *fault) MUST_CHECK;

#endif
