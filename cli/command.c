#include "cli/command.h"
#include <stdio.h>
#include <string.h>
#include "common/base/str.h"

#define MAX_ROWS 24

const struct command *command_find(const char *noun, const char *verb)
{
    for (size_t i = 0; i < num_commands; i++)
        if (str_eq(commands[i].noun, noun) && str_eq(commands[i].verb, verb))
            return &commands[i];
    return NULL;
}

static bool is_noun(const char *word)
{
    for (size_t i = 0; i < num_commands; i++)
        if (str_eq(commands[i].noun, word))
            return true;
    return false;
}

/* -- help ------------------------------------------------------------------------------------------------ */

static void print_usage_line(const char *lead, const struct command *c)
{
    (void)printf("%sfedlane %s%s%s %s%s\n", lead, c->noun, *c->verb ? " " : "", c->verb, c->words,
                 *c->words ? " [options]" : "[options]");
}

static void print_exit_statuses(void)
{
    puts("\nexit status: 0 fine, 1 a run failed or was stopped (or a file or the machine did), 2 connection "
         "or\n"
         "authentication, 3 the wait timed out, 4 usage: the command line or what the files it names say");
}

static void print_command_help(const struct command *c)
{
    size_t n = 0;
    while (c->options[n].name)
        n++;
    print_usage_line("usage: ", c);
    (void)printf("\n%s\n\n", c->help);
    config_print_help(c->options, n);
    config_print_help(global_options, num_global_options);
    print_exit_statuses();
}

/* All commands, or those of one noun. */
static void print_help(const char *noun)
{
    (void)printf("usage: fedlane %s%sCOMMAND [options]\n\n", noun ? noun : "", noun ? " " : "");
    for (size_t i = 0; i < num_commands; i++) {
        const struct command *c = &commands[i];
        char line[96];
        if (noun && !str_eq(noun, c->noun))
            continue;
        (void)snprintf(line, sizeof line, "%s%s%s %s", c->noun, *c->verb ? " " : "", c->verb, c->words);
        (void)printf("  %-34s %s\n", line, c->help);
    }
    puts("\noptions of every command (fedlane COMMAND --help lists the others):");
    config_print_help(global_options, num_global_options);
    print_exit_statuses();
}

/* -- finding --------------------------------------------------------------------------------------------- */

static size_t distance_to(const struct command *c, const char *words)
{
    char full[64];
    (void)snprintf(full, sizeof full, "%s%s%s", c->noun, *c->verb ? " " : "", c->verb);
    return str_distance(words, full);
}

enum err command_unknown(const char *noun, const char *verb, struct fault *fault)
{
    char words[128], verbs[160] = "";
    const struct command *nearest = NULL;
    size_t len = 0;
    (void)snprintf(words, sizeof words, "%.60s%s%.60s", noun, verb ? " " : "", verb ? verb : "");
    for (size_t i = 0; i < num_commands; i++) {
        const struct command *c = &commands[i];
        if (!nearest || distance_to(c, words) < distance_to(nearest, words))
            nearest = c;
        if (str_eq(c->noun, noun) && len < sizeof verbs)
            len += (size_t)snprintf(verbs + len, sizeof verbs - len, "%s%s", len ? ", " : "", c->verb);
    }
    if (is_noun(noun) && !verb)
        return fault_set(fault, ERR_USAGE, NULL, "fedlane %s: which command? There are: %s", noun, verbs);
    if (nearest && distance_to(nearest, words) <= 3)
        return fault_set(fault, ERR_USAGE, NULL, "there is no command \"%s\"; did you mean \"%s%s%s\"?",
                         words, nearest->noun, *nearest->verb ? " " : "", nearest->verb);
    if (is_noun(noun))
        return fault_set(fault, ERR_USAGE, NULL, "there is no command \"%s\"; fedlane %s has: %s", words,
                         noun, verbs);
    return fault_set(fault, ERR_USAGE, NULL, "there is no command \"%s\"; fedlane --help lists them", words);
}

/* The next word at or behind argv[i] that is no option (argc: none). Only global options may stand before the
 * command, so their rows tell which of them have a value. */
static int skip_options(int argc, char **argv, int i)
{
    for (; i < argc && argv[i][0] == '-'; i++) {
        const char *name = argv[i] + 2;
        bool is_flag = argv[i][1] != '-' || strchr(argv[i], '=') != NULL;
        for (size_t r = 0; r < num_global_options; r++)
            is_flag =
                is_flag || (str_eq(name, global_options[r].name) && global_options[r].kind == OPTION_FLAG);
        i += !is_flag;
    }
    return i < argc ? i : argc;
}

static void take_word(int *argc, char **argv, int i)
{
    memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i) * sizeof *argv); /* argv ends with NULL */
    --*argc;
}

static bool asks_for(int argc, char **argv, const char *name, const char *letter)
{
    for (int i = 1; i < argc && !str_eq(argv[i], "--"); i++)
        if (str_eq(argv[i], name) || str_eq(argv[i], letter))
            return true;
    return false;
}

/* "help", "help run", "help run submit". */
static enum err help_about(const char *noun, const char *verb, struct fault *fault)
{
    const struct command *c = noun ? command_find(noun, verb ? verb : "") : NULL;
    if (noun && !c && (verb || !is_noun(noun)))
        return command_unknown(noun, verb, fault);
    if (c)
        print_command_help(c);
    else
        print_help(noun);
    return ERR_OK;
}

static const char *word_at(int argc, char **argv, int i)
{
    return i < argc ? argv[i] : NULL;
}

/* Takes the command's words out of argv. */
static enum err find(int *argc, char **argv, const struct command **out, struct fault *fault)
{
    const char *noun = NULL, *verb = NULL;
    bool wants_help = asks_for(*argc, argv, "--help", "-h");
    int i = skip_options(*argc, argv, 1);
    *out = NULL;
    if (i < *argc) {
        noun = argv[i];
        take_word(argc, argv, i);
        *out = command_find(noun, "");
        i = skip_options(*argc, argv, i);
    }
    if (str_eq(noun, "help"))
        return help_about(word_at(*argc, argv, i), word_at(*argc, argv, i + 1), fault);
    if (noun && !*out && i < *argc) {
        verb = argv[i];
        take_word(argc, argv, i);
        *out = command_find(noun, verb);
    }
    if (*out)
        return ERR_OK;
    if (!noun || (wants_help && !verb && is_noun(noun))) {
        if (!wants_help && !noun)
            return fault_set(fault, ERR_USAGE, NULL, "which command? fedlane --help lists them");
        print_help(noun && is_noun(noun) ? noun : NULL);
        return ERR_OK;
    }
    return command_unknown(noun, verb, fault);
}

/* -- options --------------------------------------------------------------------------------------------- */

static enum err read_format(struct cli *cli, const struct command *c)
{
    static const char *const names[] = {"table", "json", "jsonl", "csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cli->format = (enum format)i;
        if (str_eq(cli->options.format, names[i]) && (cli->format != FORMAT_CSV || c->takes_csv))
            return ERR_OK;
    }
    return fault_set(&cli->fault, ERR_USAGE, "format", "--format is table, json%s jsonl%s, not \"%.40s\"",
                     c->takes_csv ? "," : " or", c->takes_csv ? " or csv" : "", cli->options.format);
}

static enum err check_words(struct cli *cli, const struct command *c)
{
    bool is_right = cli->num_words >= c->min_words && cli->num_words <= c->max_words;
    if (is_right)
        return ERR_OK;
    return fault_set(&cli->fault, ERR_USAGE, NULL, "%s; usage: fedlane %s%s%s %s",
                     cli->num_words < c->min_words ? "something is missing" : "that is one word too many",
                     c->noun, *c->verb ? " " : "", c->verb, c->words);
}

enum err command_parse(struct cli *cli, int argc, char **argv, const struct command **out)
{
    struct option_row rows[MAX_ROWS];
    size_t n = 0;
    if (asks_for(argc, argv, "--version", "--version") && skip_options(argc, argv, 1) == argc) {
        puts("fedlane " PACKAGE_VERSION);
        *out = NULL;
        return ERR_OK;
    }
    enum err e = find(&argc, argv, out, &cli->fault);
    if (e || !*out)
        return e;
    const struct command *c = *out;
    for (const struct option_row *row = c->options; row->name; row++)
        rows[n++] = *row;
    if (n + num_global_options > MAX_ROWS)
        bug("fedlane %s %s has too many options", c->noun, c->verb);
    memcpy(rows + n, global_options, num_global_options * sizeof *rows);
    n += num_global_options;
    e = config_parse(rows, n, argc, argv, &cli->options, cli->words, CLI_MAX_WORDS, &cli->num_words,
                     &cli->fault);
    if (!e && cli->options.help) {
        print_command_help(c);
        *out = NULL;
        return ERR_OK;
    }
    if (!e)
        e = read_format(cli, c);
    return e ? e : check_words(cli, c);
}
