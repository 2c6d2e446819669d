#include "common/data/classes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "common/data/decimal.h"

static enum err take_names(const json_t *list, struct classes *out, struct fault *fault)
{
    const size_t n = json_array_size(list);
    if (n < 1 || n > CLASSES_MAX)
        return fault_set(fault, ERR_INVALID_FIELD, "data.classes", "must have 1 to %d names, not %zu",
                         CLASSES_MAX, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *name = json_array_get(list, i);
        char field[64];
        size_t number;
        (void)snprintf(field, sizeof field, "data.classes[%zu]", i);
        if (!json_is_string(name) || json_string_length(name) == 0 ||
            strlen(json_string_value(name)) != json_string_length(name))
            return fault_set(fault, ERR_INVALID_FIELD, field,
                             "must be a text: the label as it stands in the data");
        if (name_put(&out->names, json_string_value(name), json_string_length(name), &number) != ERR_OK)
            return fault_set(fault, ERR_NO_MEMORY, "data.classes", "no memory for %zu names", n);
        if (number != i)
            return fault_set(fault, ERR_INVALID_FIELD, field, "\"%.60s\" stands there twice",
                             json_string_value(name));
    }
    out->num_given = (int64_t)n;
    out->is_named = true;
    out->kind = CLASSES_TEXTS;
    return ERR_OK;
}

enum err classes_parse(const json_t *value, struct classes *out, struct fault *fault)
{
    *out = (struct classes){.most = -1};
    if (!value)
        return ERR_OK;
    if (json_is_array(value))
        return take_names(value, out, fault);
    const int64_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < 1 || n > CLASSES_MAX)
        return fault_set(fault, ERR_INVALID_FIELD, "data.classes",
                         "must be the number of classes, 1 to %d, or a list of their names", CLASSES_MAX);
    out->num_given = n;
    return ERR_OK;
}

void classes_of_sentiment(struct classes *c)
{
    c->is_sentiment = c->num_given == 0;
    c->num_given = c->is_sentiment ? 2 : c->num_given;
}

void classes_release(struct classes *c)
{
    name_table_release(&c->names);
}

static enum err refuse(char *out_why, size_t room, const char *fmt, ...) PRINTF_LIKE(3, 4);
static enum err refuse(char *out_why, size_t room, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out_why, room, fmt, ap);
    va_end(ap);
    return ERR_BAD_FILE;
}

enum err class_of_number(struct classes *c, int64_t label, int32_t *out, char *out_why, size_t room)
{
    if (c->is_sentiment && label == 4)
        label = 1;
    if (label < 0)
        return refuse(out_why, room, "label %lld; labels count from 0", (long long)label);
    if (c->is_sentiment && label > 1)
        return refuse(out_why, room,
                      "label %lld; without data.classes a text is labelled 0, or 1 or 4, which are the same",
                      (long long)label);
    if (c->num_given && label >= c->num_given)
        return refuse(out_why, room, "label %lld, but data.classes allows only 0 to %lld", (long long)label,
                      (long long)c->num_given - 1);
    if (label >= CLASSES_MAX)
        return refuse(out_why, room, "label %lld; labels are classes, 0 to %d", (long long)label,
                      CLASSES_MAX - 1);
    c->most = label > c->most ? label : c->most;
    *out = (int32_t)label;
    return ERR_OK;
}

static enum err named_class(const struct classes *c, const char *text, size_t len, int32_t *out,
                            char *out_why, size_t room)
{
    const size_t number = name_find(&c->names, text, len);
    if (number == NAME_NONE)
        return refuse(out_why, room, "label \"%.*s\" is none of data.classes", len < 60 ? (int)len : 60,
                      text);
    *out = (int32_t)number;
    return ERR_OK;
}

static enum err new_class(struct classes *c, const char *text, size_t len, int32_t *out, char *out_why,
                          size_t room)
{
    size_t number;
    if (memchr(text, '\0', len))
        return refuse(out_why, room, "a label with a zero byte");
    if (name_put(&c->names, text, len, &number) != ERR_OK)
        return ERR_NO_MEMORY;
    if (number >= CLASSES_MAX)
        return refuse(out_why, room, "more than %d different labels", CLASSES_MAX);
    *out = (int32_t)number;
    return ERR_OK;
}

enum err class_of_text(struct classes *c, const char *text, size_t len, int32_t *out, char *out_why,
                       size_t room)
{
    const int shown = len < 60 ? (int)len : 60;
    long long label = 0;
    if (len == 0)
        return refuse(out_why, room, "an empty label");
    if (c->is_named)
        return named_class(c, text, len, out, out_why, room);
    const enum decimal is_number = decimal_whole(text, len, &label);
    float fraction;
    if (is_number == DECIMAL_TOO_LARGE)
        return refuse(out_why, room, "label \"%.*s\"; labels are classes, 0 to %d", shown, text,
                      CLASSES_MAX - 1);
    if (is_number == DECIMAL_BAD && decimal_float(text, len, &fraction) != DECIMAL_BAD)
        return refuse(out_why, room, "label \"%.*s\" is no whole number; labels are classes", shown, text);
    if (c->kind == CLASSES_UNDECIDED)
        c->kind = is_number == DECIMAL_BAD && !c->num_given ? CLASSES_TEXTS : CLASSES_NUMBERS;
    if (c->kind == CLASSES_NUMBERS) {
        if (is_number == DECIMAL_GOOD)
            return class_of_number(c, label, out, out_why, room);
        return refuse(out_why, room,
                      "label \"%.*s\" is no whole number, %s; labels that are texts need their names in "
                      "data.classes",
                      shown, text, c->most < 0 ? "which data.classes asks for" : "as the labels before are");
    }
    if (is_number != DECIMAL_BAD)
        return refuse(out_why, room,
                      "label \"%.*s\" is a number, but those before are texts: name all in data.classes",
                      shown, text);
    return new_class(c, text, len, out, out_why, room);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void tell_order(const struct classes *c, char *const *sorted)
{
    log_warning("data",
                "the classes are the labels that came, in the order of their bytes: \"%.40s\" is 0%s%.40s%s; "
                "name them in data.classes where other machines may have other labels",
                c->names.count > 0 ? sorted[0] : "", c->names.count > 1 ? ", \"" : "",
                c->names.count > 1 ? sorted[1] : "", c->names.count > 1 ? "\" is 1" : "");
}

enum err classes_finish(struct classes *c, struct pool *pool, struct fault *fault)
{
    const size_t n = c->names.count;
    pool->num_classes = (int)(c->num_given               ? c->num_given
                              : c->kind == CLASSES_TEXTS ? (int64_t)n
                                                         : c->most + 1);
    if (c->is_named || c->kind != CLASSES_TEXTS)
        return ERR_OK;
    char **sorted = malloc(n * sizeof *sorted);
    int32_t *class_of = malloc(n * sizeof *class_of);
    if (sorted && class_of) {
        memcpy(sorted, c->names.names, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_bytes);
        for (size_t i = 0; i < n; i++)
            class_of[name_find(&c->names, sorted[i], strlen(sorted[i]))] = (int32_t)i;
        for (size_t i = 0; i < pool->num_rows; i++)
            pool->labels[i] = class_of[pool->labels[i]];
        tell_order(c, sorted);
    }
    const bool is_done = sorted && class_of;
    free(sorted);
    free(class_of);
    return is_done ? ERR_OK
                   : fault_set(fault, ERR_NO_MEMORY, "data.classes", "no memory to order %zu classes", n);
}
