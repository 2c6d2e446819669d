#include "cli/data/data_file.h"
#include "cli/spec_file.h"

static enum err find_data(struct cli *cli, struct data_file *f)
{
    const char *path = cli->words[0];
    json_t *data = json_object_get(f->doc, "data");
    bool is_spec = data || !json_object_get(f->doc, "source");
    if (json_is_object(data) && json_object_get(f->doc, "source"))
        return fault_set(&cli->fault, ERR_BAD_FILE, NULL,
                         "%.200s: \"data\" is a run spec's and \"source\" a data object's, and it has both",
                         path);
    f->data = is_spec ? data : f->doc;
    if (json_is_object(f->data))
        return ERR_OK;
    return fault_set(
        &cli->fault, ERR_BAD_FILE, NULL,
        "%.200s: there are no data in it: it is a run spec with \"data\", or such an object alone, like "
        "{\"source\": \"synthetic\"}",
        path);
}

/* A seed that is no whole number stays where it is, for the source to refuse. */
static enum err settle_seed(struct cli *cli, struct data_file *f)
{
    const json_t *own = json_object_get(f->data, "seed"), *of_spec = json_object_get(f->doc, "seed");
    const json_t *found = own ? own : of_spec;
    if (cli->options.seed < 0 && found && (!json_is_integer(found) || json_integer_value(found) < 0))
        return own ? ERR_OK
                   : fault_set(&cli->fault, ERR_INVALID_FIELD, "seed", "must be a whole number from 0");
    f->seed = cli->options.seed >= 0 ? cli->options.seed : json_integer_value(found);
    return json_object_set_new(f->data, "seed", json_integer(f->seed)) ? ERR_NO_MEMORY : ERR_OK;
}

enum err data_file_load(struct cli *cli, struct data_file *out)
{
    *out = DATA_FILE_INIT;
    enum err e = spec_file_load(cli->words[0], &cli->options.set, &out->doc, &cli->fault);
    if (!e)
        e = find_data(cli, out);
    if (!e)
        e = settle_seed(cli, out);
    if (!e)
        e = dataset_load(out->data, (uint64_t)out->seed, &out->set, &cli->fault);
    return e;
}

void data_file_release(struct data_file *f)
{
    dataset_free(f->set);
    json_decref(f->doc);
    *f = DATA_FILE_INIT;
}
