/* The data set that a file describes: a run spec's "data", or such an object alone. */
#ifndef FEDLANE_CLI_DATA_DATA_FILE_H
#define FEDLANE_CLI_DATA_DATA_FILE_H

#include <jansson.h>
#include "cli/cli.h"
#include "common/data/dataset.h"

struct data_file {
    json_t *doc;  /* the file, with what --set laid over it */
    json_t *data; /* borrowed: the data object, whose "seed" is in force */
    int64_t seed;
    struct dataset *set;
};

#define DATA_FILE_INIT ((struct data_file){0})

/* Loads the file that the command's first word names. The seed is --seed, else the data's own, else the
 * spec's, else 0. On an error cli->fault says what is wrong. */
enum err data_file_load(struct cli *cli, struct data_file *out) MUST_CHECK;
void data_file_release(struct data_file *f);

#endif
