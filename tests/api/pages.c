#include "tests/api/pages.h"

#include <string.h>

/* The ids of all pages, joined; asserts that each page but the last is full. */
static size_t walk(const struct lab *lab, const char *list, size_t limit, char *out_ids, size_t size)
{
    size_t count = 0, len = 0;
    char cursor[80] = "";
    do {
        json_t *page = lab_ok(lab, lab->admin, "GET",
                              path_of("%s%climit=%zu%s%s", list, strchr(list, '?') ? '&' : '?', limit,
                                      cursor[0] ? "&cursor=" : "", cursor),
                              NULL);
        const json_t *items = json_at(page, "items");
        size_t i;
        json_t *item;
        json_array_foreach((json_t *)items, i, item)
        {
            const char *id = json_string_value(json_object_get(item, "id"));
            int n = snprintf(out_ids + len, size - len, "%s ", id ? id : "");
            ck_assert(n >= 0 && (size_t)n < size - len);
            len += (size_t)n;
        }
        count += json_array_size(items);
        const char *next = json_string_value(json_at(page, "next_cursor"));
        (void)snprintf(cursor, sizeof cursor, "%s", next ? next : "");
        ck_assert(!next || json_array_size(items) == limit);
        json_decref(page);
    } while (cursor[0]);
    return count;
}

void pages_agree(const struct lab *lab, const char *list, size_t expected)
{
    char whole[8192] = "", parts[8192] = "";
    ck_assert_uint_eq(walk(lab, list, 1000, whole, sizeof whole), expected);
    for (size_t limit = 1; limit <= 3; limit++) {
        ck_assert_uint_eq(walk(lab, list, limit, parts, sizeof parts), expected);
        ck_assert_str_eq(whole, parts);
    }
}
