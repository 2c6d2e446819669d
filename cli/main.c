/* fedlane: the person's tool. */
#include <errno.h>
#include <stdio.h>
#include "cli/cli.h"
#include "cli/command.h"
#include "common/base/limits.h"

int main(int argc, char **argv)
{
    struct cli cli = {.options = {.server = "http://127.0.0.1:8080",
                                  .format = "table",
                                  .policy = "auto",
                                  .model_version = "latest",
                                  .since_round = -1,
                                  .seed = -1},
                      .arena = ARENA_INIT(LIMIT_REQUEST_ARENA)};
    const struct command *command = NULL;
    errno = 0;
    enum err e = command_parse(&cli, argc, argv, &command);
    if (!e && command)
        e = command->run(&cli);
    if (!e && (fflush(stdout) != 0 || ferror(stdout)))
        e = fault_set(&cli.fault, ERR_IO, NULL, "standard output cannot be written");
    /* `fedlane ... | head` is no mistake to complain about. */
    if (e && !(e == ERR_IO && errno == EPIPE))
        cli_complain(&cli.fault, e);
    http_client_free(cli.client);
    arena_release(&cli.arena);
    return (int)(e ? exit_status_of(e) : cli.status);
}
