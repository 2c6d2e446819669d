/* fedlane data vocabulary: what a data set's tokens stand for, as data.vocabulary and model.vocabulary take
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include "cli/commands.h"
#include "cli/data/data_file.h"
#include "common/base/log.h"

static json_t *vocabulary_json(const struct dataset *d)
{
    const char *text = dataset_vocabulary(d);
    return text ? json_string(text) : json_sprintf("sha256:%s", dataset_vocabulary_sha256(d));
}

/* A line of JSON, whatever the format: it goes into files and options. */
static enum err print_vocabulary(struct cli *cli, const struct dataset *d)
{
    if (!*dataset_vocabulary_sha256(d))
        return fault_set(&cli->fault, ERR_INVALID_FIELD, NULL,
                         "%.200s: the data have no vocabulary: their features are plain numbers",
                         cli->words[0]);
    json_t *json = vocabulary_json(d);
    char *text = json ? json_dumps(json, JSON_ENCODE_ANY) : NULL;
    enum err e = text ? ERR_OK : ERR_NO_MEMORY;
    if (!e)
        (void)puts(text);
    free(text);
    json_decref(json);
    return e;
}

enum err cmd_data_vocabulary(struct cli *cli)
{
    struct data_file file;
    log_init(LOG_ERROR, LOG_TEXT); /* a vocabulary that is built from the data is what was asked for */
    enum err e = data_file_load(cli, &file);
    if (!e)
        e = print_vocabulary(cli, file.set);
    data_file_release(&file);
    return cli_fail(cli, e, "data vocabulary");
}
