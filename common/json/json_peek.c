#include "common/json/json_peek.h"
#include <stdbool.h>
#include <string.h>

/* The NUL at the text's end stops everything here, wherever it comes. */

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Behind the mark that ends the text which begins at `at`, the mark before it included. */
static const char *skip_text(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1])
            at++;
    return *at ? at + 1 : at;
}

/* To the comma or bracket behind the value. */
static const char *skip_value(const char *at)
{
    int depth = 0;
    while (*at) {
        if (*at == '"') {
            at = skip_text(at);
            continue;
        }
        bool is_end = *at == '}' || *at == ']';
        if (depth == 0 && (is_end || *at == ','))
            break;
        depth += (*at == '{' || *at == '[') - is_end;
        at++;
    }
    return at;
}

const char *json_peek(const char *object, const char *name)
{
    size_t n = strlen(name);
    const char *at = skip_blanks(object);
    if (*at != '{')
        return NULL;
    do {
        const char *key = skip_blanks(at + 1);
        if (*key != '"')
            return NULL;
        bool is_it = strncmp(key + 1, name, n) == 0 && key[n + 1] == '"';
        at = skip_blanks(skip_text(key));
        if (*at != ':')
            return NULL;
        at = skip_blanks(at + 1);
        if (is_it)
            return at;
        at = skip_value(at);
    } while (*at == ',');
    return NULL;
}
