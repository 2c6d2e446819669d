/* Which file a row came from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/data/path.h"
#include "common/data/pool.h"

/* The origin that names the file of the i-th. */
static size_t with_file(const struct pool *p, size_t i)
{
    while (i > 0 && !p->origins[i].file)
        i--;
    return i;
}

static bool make_room(struct pool *p)
{
    const size_t room = p->origins_room ? 2 * p->origins_room : 4;
    struct pool_origin *moved =
        p->num_origins < p->origins_room ? p->origins : realloc(p->origins, room * sizeof *moved);
    if (!moved)
        return false;
    p->origins_room = p->num_origins < p->origins_room ? p->origins_room : room;
    p->origins = moved;
    return true;
}

enum err pool_add_origin(struct pool *p, const char *file, const char *user)
{
    struct pool_origin o = {.first_row = p->num_rows};
    const bool is_same =
        p->num_origins > 0 && str_eq(p->origins[with_file(p, p->num_origins - 1)].file, file);
    if (!make_room(p))
        return ERR_NO_MEMORY;
    o.file = is_same ? NULL : strdup(file);
    o.user = user ? strdup(user) : NULL;
    if ((!is_same && !o.file) || (user && !o.user)) {
        free(o.file);
        free(o.user);
        return ERR_NO_MEMORY;
    }
    p->origins[p->num_origins++] = o;
    return ERR_OK;
}

void pool_place(const struct pool *p, uint32_t row, char *out, size_t room)
{
    size_t i = 0, end = p->num_origins;
    out[0] = '\0';
    if (end == 0 || p->origins[0].first_row > row)
        return;
    while (end - i > 1) { /* origins[i].first_row <= row */
        const size_t middle = i + (end - i) / 2;
        if (p->origins[middle].first_row <= row)
            i = middle;
        else
            end = middle;
    }
    const struct pool_origin *o = &p->origins[i];
    (void)snprintf(out, room, "%.*s%s%.60s%s, example %zu: ", (int)room - 120,
                   path_shown(p->origins[with_file(p, i)].file), o->user ? ", user \"" : "",
                   o->user ? o->user : "", o->user ? "\"" : "", row - o->first_row);
}
