#include "server/store/topics.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"

void topics_init(struct topics *t)
{
    buf_init(&t->text, LIMIT_TOPICS);
}

void topics_release(struct topics *t)
{
    buf_release(&t->text);
}

enum err topics_add(struct topics *t, const char *topic)
{
    return buf_append(&t->text, topic, strlen(topic) + 1);
}

size_t topics_mark(const struct topics *t)
{
    return t->text.len;
}

void topics_cut(struct topics *t, size_t mark)
{
    t->text.len = mark;
}

static int by_text_then_place(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int c = strcmp(x, y);
    return c ? c : (x > y) - (x < y);
}

/* Empties all but the first of each run of equal texts, in place: what is empty is delivered no more. */
static void drop_doubles(struct topics *t, size_t count)
{
    char **sorted = count > 1 ? malloc(count * sizeof *sorted) : NULL;
    if (!sorted)
        return;
    char *p = t->text.data;
    for (size_t i = 0; i < count; i++, p += strlen(p) + 1)
        sorted[i] = p;
    qsort(sorted, count, sizeof *sorted, by_text_then_place);
    /* Backwards, so that each is compared before its text is wiped. */
    for (size_t i = count - 1; i > 0; i--)
        if (strcmp(sorted[i], sorted[i - 1]) == 0)
            memset(sorted[i], 0, strlen(sorted[i]));
    free(sorted);
}

void topics_deliver(struct topics *t, store_listener listener, void *ctx)
{
    if (!t->text.len)
        return;
    size_t count = 0;
    const char *end = t->text.data + t->text.len;
    for (const char *p = t->text.data; p < end; p += strlen(p) + 1)
        count++;
    if (listener) {
        drop_doubles(t, count);
        for (const char *p = t->text.data; p < end; p += strlen(p) + 1)
            if (*p)
                listener(ctx, p);
    }
    buf_clear(&t->text);
}
