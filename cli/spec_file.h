/* A run spec from its file, with changes from the command line. */
#ifndef FEDLANE_CLI_SPEC_FILE_H
#define FEDLANE_CLI_SPEC_FILE_H

#include <jansson.h>
#include "common/base/config.h"
#include "common/base/err.h"

/* Reads the file ("-": standard input) and lays each "path=value" of `sets` over it, in order. The caller
 * decrefs *out. ERR_BAD_FILE for a file that cannot be read or is no JSON object, ERR_USAGE for a path that
 * is none; what the spec may hold is for its own parser to say. */
enum err spec_file_load(const char *path, const struct option_list *sets, json_t **out,
                        struct fault *fault) MUST_CHECK;

/* "training.learning_rate=0.1", "model.layers[0].units=5": the value is JSON where it parses as such, else a
 * text. Objects on the way are made where they are missing or null; elements of an array must be there. */
enum err json_set_path(json_t *doc, const char *assignment, struct fault *fault) MUST_CHECK;

/* The same with path and value apart; takes the reference of value, also on an error. `what` leads the
 * faults: "--sweep a.b". */
enum err json_put_path(json_t *doc, const char *path, size_t path_len, json_t *value, const char *what,
                       struct fault *fault) MUST_CHECK;
/* JSON where it parses as such, else a text. New reference; NULL when it is neither. */
json_t *json_value_of(const char *text);

#endif
