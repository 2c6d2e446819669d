#include "common/base/config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"

#define MAX_ROWS 128

struct parse {
    const struct option_row *rows;
    size_t num_rows;
    char *out; /* the caller's struct, as bytes */
    struct fault *fault;
    bool is_seen[MAX_ROWS];
};

static const struct option_row *row_by_name(const struct parse *p, const char *name, size_t len)
{
    for (size_t i = 0; i < p->num_rows; i++)
        if (strlen(p->rows[i].name) == len && memcmp(p->rows[i].name, name, len) == 0)
            return &p->rows[i];
    return NULL;
}

static const struct option_row *row_by_letter(const struct parse *p, char letter)
{
    for (size_t i = 0; i < p->num_rows; i++)
        if (p->rows[i].letter == letter)
            return &p->rows[i];
    return NULL;
}

static bool has_bounds(const struct option_row *row)
{
    return row->min < 0 || row->min > 0 || row->max < 0 || row->max > 0;
}

static enum err bad_number(const struct parse *p, const struct option_row *row, const char *source,
                           const char *value)
{
    const char *kind = row->kind == OPTION_INT ? "an integer" : "a number";
    if (!has_bounds(row))
        return fault_set(p->fault, ERR_USAGE, row->name, "%s wants %s, not \"%s\"", source, kind, value);
    return fault_set(p->fault, ERR_USAGE, row->name, "%s wants %s between %.15g and %.15g, not \"%s\"",
                     source, kind, row->min, row->max, value);
}

static bool is_within(const struct option_row *row, double value)
{
    return !has_bounds(row) || (value >= row->min && value <= row->max);
}

static enum err flag_from_text(const char *text, bool *out)
{
    static const char *const yes[] = {"1", "true", "yes", "on"}, *const no[] = {"", "0", "false", "no",
                                                                                "off"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (str_eq(text, yes[i])) {
            *out = true;
            return ERR_OK;
        }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (str_eq(text, no[i])) {
            *out = false;
            return ERR_OK;
        }
    return ERR_INVALID_FIELD;
}

static enum err set_flag(const struct parse *p, const struct option_row *row, const char *source,
                         const char *value, void *member)
{
    bool is_on;
    if (flag_from_text(value, &is_on) != ERR_OK)
        return fault_set(p->fault, ERR_USAGE, row->name, "%s wants yes or no, not \"%s\"", source, value);
    memcpy(member, &is_on, sizeof is_on);
    return ERR_OK;
}

static enum err set_list(struct parse *p, const struct option_row *row, const char *source, const char *value,
                         void *member)
{
    struct option_list *list = member;
    bool *is_seen = &p->is_seen[row - p->rows];
    if (!*is_seen)
        list->count = 0; /* what is given replaces the default */
    if (list->count == sizeof list->items / sizeof *list->items)
        return fault_set(p->fault, ERR_USAGE, row->name, "%s may be given at most %zu times", source,
                         list->count);
    list->items[list->count++] = value;
    return ERR_OK;
}

/* `source` is what the person wrote: "--port", "-p" or the environment variable's name. */
static enum err set_value(struct parse *p, const struct option_row *row, const char *source,
                          const char *value)
{
    void *member = p->out + row->offset;
    enum err e = ERR_OK;
    int64_t integer;
    double number;
    if (p->is_seen[row - p->rows] && row->kind != OPTION_LIST && row->kind != OPTION_FLAG)
        return fault_set(p->fault, ERR_USAGE, row->name, "%s is given twice; give it once", source);
    switch (row->kind) {
    case OPTION_FLAG:
        e = set_flag(p, row, source, value, member);
        break;
    case OPTION_STRING:
        memcpy(member, &value, sizeof value);
        break;
    case OPTION_INT:
        if (str_to_i64(value, &integer) != ERR_OK || !is_within(row, (double)integer))
            e = bad_number(p, row, source, value);
        else
            memcpy(member, &integer, sizeof integer);
        break;
    case OPTION_DOUBLE:
        if (str_to_double(value, &number) != ERR_OK || !is_within(row, number))
            e = bad_number(p, row, source, value);
        else
            memcpy(member, &number, sizeof number);
        break;
    case OPTION_LIST:
        e = set_list(p, row, source, value, member);
        break;
    }
    p->is_seen[row - p->rows] = true;
    return e;
}

static enum err unknown_option(const struct parse *p, const char *name, size_t len)
{
    char word[64];
    (void)snprintf(word, sizeof word, "%.*s", (int)(len < sizeof word ? len : sizeof word - 1), name);
    const char *nearest = NULL;
    for (size_t i = 0; i < p->num_rows; i++)
        if (str_is_typo_of(word, p->rows[i].name) &&
            (!nearest || str_distance(word, p->rows[i].name) < str_distance(word, nearest)))
            nearest = p->rows[i].name;
    if (nearest)
        return fault_set(p->fault, ERR_USAGE, word, "there is no option --%s; did you mean --%s?", word,
                         nearest);
    return fault_set(p->fault, ERR_USAGE, word, "there is no option --%s; --help lists them", word);
}

/* The value behind an option: the next word, which `i` then stands on. */
static enum err next_word(const struct parse *p, const struct option_row *row, const char *source, int argc,
                          char **argv, int *i, const char **out)
{
    const char *word = *i + 1 < argc ? argv[*i + 1] : NULL;
    if (!word || str_has_prefix(word, "--"))
        return fault_set(p->fault, ERR_USAGE, row->name, "%s wants a value: %s %s (or --%s=%s)", source,
                         source, row->value ? row->value : "VALUE", row->name,
                         row->value ? row->value : "VALUE");
    ++*i;
    *out = word;
    return ERR_OK;
}

static enum err parse_long(struct parse *p, int argc, char **argv, int *i)
{
    const char *name = argv[*i] + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct option_row *row = row_by_name(p, name, len);
    char source[80];
    const char *value = equals ? equals + 1 : "yes";
    if (!row)
        return unknown_option(p, name, len);
    (void)snprintf(source, sizeof source, "--%s", row->name);
    if (!equals && row->kind != OPTION_FLAG) {
        enum err e = next_word(p, row, source, argc, argv, i, &value);
        if (e)
            return e;
    }
    return set_value(p, row, source, value);
}

/* -v, -vq, -p 80, -p80 */
static enum err parse_letters(struct parse *p, int argc, char **argv, int *i)
{
    for (const char *s = argv[*i] + 1; *s; s++) {
        const struct option_row *row = row_by_letter(p, *s);
        const char source[] = {'-', *s, '\0'}, *value = "yes";
        enum err e = ERR_OK;
        if (!row)
            return fault_set(p->fault, ERR_USAGE, source, "there is no option %s; --help lists them", source);
        bool takes_rest = row->kind != OPTION_FLAG;
        if (takes_rest && s[1])
            value = s + 1;
        else if (takes_rest)
            e = next_word(p, row, source, argc, argv, i, &value);
        if (!e)
            e = set_value(p, row, source, value);
        if (e || takes_rest)
            return e;
    }
    return ERR_OK;
}

static enum err defaults_from_env(struct parse *p)
{
    for (size_t i = 0; i < p->num_rows; i++) {
        const char *value = p->rows[i].env && !p->is_seen[i] ? getenv(p->rows[i].env) : NULL;
        enum err e = value ? set_value(p, &p->rows[i], p->rows[i].env, value) : ERR_OK;
        if (e)
            return e;
    }
    return ERR_OK;
}

enum err config_parse(const struct option_row *rows, size_t num_rows, int argc, char **argv, void *out,
                      const char **positional, size_t max_positional, size_t *out_num_positional,
                      struct fault *fault)
{
    struct parse p = {.rows = rows, .num_rows = num_rows, .out = out, .fault = fault};
    bool is_ended = false;
    size_t count = 0;
    if (num_rows > MAX_ROWS)
        bug("%zu option rows, but %d are the most", num_rows, MAX_ROWS);
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        enum err e = ERR_OK;
        if (is_ended || word[0] != '-' || word[1] == '\0') {
            if (count == max_positional)
                return fault_set(fault, ERR_USAGE, NULL,
                                 "\"%s\" is one word too many; --help shows the usage", word);
            positional[count++] = word;
        } else if (str_eq(word, "--")) {
            is_ended = true;
        } else if (word[1] == '-') {
            e = parse_long(&p, argc, argv, &i);
        } else {
            e = parse_letters(&p, argc, argv, &i);
        }
        if (e)
            return e;
    }
    if (out_num_positional)
        *out_num_positional = count;
    return defaults_from_env(&p);
}

#define HELP_COLUMN 30
#define HELP_WIDTH  100

/* Puts words after column HELP_COLUMN and breaks lines before HELP_WIDTH. */
static void print_words(const char *text, size_t *column)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        if (*column + 1 + n > HELP_WIDTH && *column > HELP_COLUMN) {
            (void)printf("\n%*s", HELP_COLUMN, "");
            *column = HELP_COLUMN;
        }
        (void)printf("%s%.*s", *column > HELP_COLUMN ? " " : "", (int)n, text);
        *column += n + (*column > HELP_COLUMN);
        text += n + strspn(text + n, " ");
    }
}

void config_print_help(const struct option_row *rows, size_t num_rows)
{
    for (size_t i = 0; i < num_rows; i++) {
        const struct option_row *row = &rows[i];
        char head[160], letter[8] = "", note[160] = "";
        if (row->letter)
            (void)snprintf(letter, sizeof letter, "-%c, ", row->letter);
        int n = snprintf(head, sizeof head, "  %4s--%s%s%s", letter, row->name,
                         row->kind == OPTION_FLAG ? "" : " ",
                         row->kind == OPTION_FLAG ? ""
                         : row->value             ? row->value
                                                  : "VALUE");
        (void)printf("%s", head);
        if (n < 0 || n > HELP_COLUMN - 2)
            (void)printf("\n%*s", HELP_COLUMN, "");
        else
            (void)printf("%*s", HELP_COLUMN - n, "");
        if (row->env)
            (void)snprintf(note, sizeof note, "[environment: %s]", row->env);
        size_t column = HELP_COLUMN;
        print_words(row->help ? row->help : "", &column);
        if (row->kind == OPTION_LIST)
            print_words("(may be given several times)", &column);
        print_words(note, &column);
        (void)printf("\n");
    }
}
