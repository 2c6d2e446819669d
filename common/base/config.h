/* Command-line options as data: one table gives parsing, --help and the errors. */
#ifndef FEDLANE_BASE_CONFIG_H
#define FEDLANE_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

enum option_kind {
    OPTION_FLAG /* bool */,
    OPTION_STRING /* const char * */,
    OPTION_INT /* int64_t */,
    OPTION_DOUBLE,
    OPTION_LIST /* struct option_list: may be given several times */
};

struct option_list {
    const char *items[64];
    size_t count;
};

struct option_row {
    const char *name; /* "data-dir": given as --data-dir VALUE or --data-dir=VALUE */
    char letter;      /* 0 for none */
    enum option_kind kind;
    size_t offset;     /* of the member in the caller's options struct */
    const char *value; /* what --help calls the value: "DIR" */
    const char *help;
    const char *env; /* environment variable that gives the default, or NULL */
    double min, max; /* of OPTION_INT and OPTION_DOUBLE; ignored when both are 0 */
};

/* Reads argv[1..]; the struct at `out` already holds the defaults. Strings point into argv. Words that are no
 * option are gathered in order in `positional` (at most max_positional; more is ERR_USAGE). "--" ends the
 * options. */
enum err config_parse(const struct option_row *rows, size_t num_rows, int argc, char **argv, void *out,
                      const char **positional, size_t max_positional, size_t *out_num_positional,
                      struct fault *fault) MUST_CHECK;
/* The options part of a --help text, on stdout. */
void config_print_help(const struct option_row *rows, size_t num_rows);

#endif
