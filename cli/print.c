#include "cli/print.h"
#include <stdlib.h>

enum err print_json(const struct cli *cli, const json_t *value)
{
    size_t flags = cli->format == FORMAT_JSONL ? JSON_COMPACT : JSON_INDENT(2);
    char *text = json_dumps(value, flags | JSON_ENCODE_ANY);
    if (!text)
        return ERR_NO_MEMORY;
    (void)puts(text);
    (void)fflush(stdout); /* for whoever reads along */
    free(text);
    return ERR_OK;
}

enum err print_items(struct cli *cli, const struct table_column *columns, size_t num_columns,
                     const json_t *items)
{
    enum err e = ERR_OK;
    if (cli->format == FORMAT_TABLE)
        table_print(stdout, columns, num_columns, items);
    else if (cli->format == FORMAT_JSON)
        e = print_json(cli, items);
    else
        for (size_t i = 0; i < json_array_size(items) && !e; i++)
            e = print_json(cli, json_array_get(items, i));
    return e;
}

enum err print_object(struct cli *cli, const struct table_column *columns, size_t num_columns,
                      const json_t *object)
{
    if (cli->format != FORMAT_TABLE)
        return print_json(cli, object);
    table_print_object(stdout, columns, num_columns, object);
    return ERR_OK;
}
