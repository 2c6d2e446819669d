#include "server/api/beat_scan.h"
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"

#define MOST_DIGITS 24 /* of a number, with all that belongs to it */
#define MOST_WHOLE  18 /* of a whole one, with its sign: the parser refuses what is no int64_t */

/* The NUL behind the text ends every loop; one within it is no JSON. */
struct scan {
    const char *at, *end;
};

static void skip_blanks(struct scan *s)
{
    while (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t')
        s->at++;
}

static bool take(struct scan *s, char c)
{
    skip_blanks(s);
    if (*s->at != c)
        return false;
    s->at++;
    skip_blanks(s);
    return true;
}

/* After an element: another one, or the end. */
static bool take_comma_or(struct scan *s, char end, bool *out_is_end)
{
    *out_is_end = take(s, end);
    return *out_is_end || take(s, ',');
}

/* "name": which of the names it is. */
static bool take_key(struct scan *s, const char *const *names, size_t count, size_t *out)
{
    skip_blanks(s);
    if (*s->at != '"')
        return false;
    s->at++;
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(s->at, names[i], n) == 0 && s->at[n] == '"') {
            s->at += n + 1;
            *out = i;
            return take(s, ':');
        }
    }
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool skip_digits(const char **at)
{
    const char *start = *at;
    while (is_digit(**at))
        ++*at;
    return *at > start;
}

/* The whole part: no 0 before other digits. */
static bool skip_whole(const char **at)
{
    return **at == '0' ? !is_digit(*++*at) : skip_digits(at);
}

static bool take_id(struct scan *s, char out[ID_SIZE])
{
    if (*s->at != '"' || s->end - s->at < ID_SIZE + 1)
        return false;
    memcpy(out, s->at + 1, ID_SIZE - 1);
    out[ID_SIZE - 1] = '\0';
    s->at += ID_SIZE;
    return id_is_valid(out) && *s->at++ == '"';
}

static bool take_steps(struct scan *s, int64_t *out)
{
    const char *start = s->at;
    int64_t value = 0;
    if (!skip_whole(&s->at) || s->at - start > 15)
        return false;
    for (const char *p = start; p < s->at; p++)
        value = value * 10 + (*p - '0');
    *out = value;
    return value <= LIMIT_STEPS && *s->at != '.' && *s->at != 'e' && *s->at != 'E';
}

/* Without an exponent. */
static bool take_loss(struct scan *s, double *out)
{
    char text[MOST_DIGITS + 1];
    const char *start = s->at;
    if (*s->at == '-')
        s->at++;
    if (!skip_whole(&s->at))
        return false;
    bool is_whole = *s->at != '.';
    if (!is_whole && (s->at++, !skip_digits(&s->at)))
        return false;
    size_t n = (size_t)(s->at - start);
    if (n > (is_whole ? MOST_WHOLE : MOST_DIGITS) || *s->at == 'e' || *s->at == 'E')
        return false;
    memcpy(text, start, n);
    text[n] = '\0';
    return str_to_double(text, out) == ERR_OK;
}

static bool take_task(struct scan *s, struct beat_task *out)
{
    static const char *const names[] = {"task_id", "steps_done", "train_loss"};
    unsigned had = 0;
    size_t name;
    *out = (struct beat_task){.id = ""};
    if (!take(s, '{'))
        return false;
    for (bool is_end = false; !is_end;) {
        if (!take_key(s, names, 3, &name) || (had & (1u << name)))
            return false;
        had |= 1u << name;
        bool is_fine = name == 0   ? take_id(s, out->id)
                       : name == 1 ? take_steps(s, &out->steps_done)
                                   : take_loss(s, &out->train_loss);
        if (!is_fine || !take_comma_or(s, '}', &is_end))
            return false;
    }
    out->has_loss = had & 4;
    return had & 1;
}

static bool take_tasks(struct scan *s, struct beat_scan *out)
{
    if (!take(s, '['))
        return false;
    if (take(s, ']'))
        return true;
    for (bool is_end = false; !is_end;) {
        if (out->num_tasks == BEAT_TASKS || !take_task(s, &out->tasks[out->num_tasks]))
            return false;
        out->num_tasks++;
        if (!take_comma_or(s, ']', &is_end))
            return false;
    }
    return true;
}

/* To the brace that closes it; a mark within a text counts for nothing. */
static bool take_resources(struct scan *s, struct beat_scan *out)
{
    int depth = 0;
    bool is_in_text = false;
    if (*s->at != '{')
        return false;
    out->resources = s->at;
    for (; *s->at; s->at++) {
        char c = *s->at;
        if (c == '\\')
            return false;
        if (c == '"')
            is_in_text = !is_in_text;
        else if (!is_in_text && c == '{')
            depth++;
        else if (!is_in_text && c == '}' && --depth == 0)
            break;
    }
    if (!*s->at)
        return false;
    out->resources_size = (size_t)(++s->at - out->resources);
    return true;
}

bool beat_scan(const char *text, size_t n, struct beat_scan *out)
{
    static const char *const names[] = {"resources", "tasks"};
    struct scan s = {.at = text, .end = text + n};
    unsigned had = 0;
    size_t name;
    out->resources = NULL;
    out->num_tasks = 0;
    if (!take(&s, '{'))
        return false;
    for (bool is_end = take(&s, '}'); !is_end;) {
        if (!take_key(&s, names, 2, &name) || (had & (1u << name)))
            return false;
        had |= 1u << name;
        if (!(name == 0 ? take_resources(&s, out) : take_tasks(&s, out)) || !take_comma_or(&s, '}', &is_end))
            return false;
    }
    return s.at == s.end;
}
