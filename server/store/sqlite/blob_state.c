/* What is in memory of each blob that waits for the file. */
#include <stdlib.h>
#include <string.h>
#include "server/store/sqlite/blobs.h"

static struct object_list *list_of(struct sqlite_blobs *b, int wanted)
{
    return wanted == OBJECT_OPEN ? &b->open : wanted == OBJECT_DROPPED ? &b->garbage : &b->waiting;
}

static void link_object(struct sqlite_blobs *b, struct blob_object *o)
{
    struct object_list *list = list_of(b, (int)o->wanted);
    o->previous = list->last;
    o->next = NULL;
    *(list->last ? &list->last->next : &list->first) = o;
    list->last = o;
    b->num_listed += o->wanted != OBJECT_DROPPED;
    b->num_open += o->wanted == OBJECT_OPEN;
}

static void unlink_object(struct sqlite_blobs *b, struct blob_object *o)
{
    struct object_list *list = list_of(b, (int)o->wanted);
    *(o->previous ? &o->previous->next : &list->first) = o->next;
    *(o->next ? &o->next->previous : &list->last) = o->previous;
    b->num_listed -= o->wanted != OBJECT_DROPPED;
    b->num_open -= o->wanted == OBJECT_OPEN;
}

static void free_chunks(struct sqlite_blobs *b, struct chunk_list *list)
{
    for (struct blob_chunk *c = list->first, *next; c; c = next) {
        next = c->next;
        b->pending_bytes -= c->size;
        free(c->bytes);
        free(c);
    }
    *list = (struct chunk_list){0};
}

static void free_object(struct sqlite_blobs *b, struct blob_object *o)
{
    unlink_object(b, o);
    (void)idmap_remove(&b->objects, o->id);
    free_chunks(b, &o->flushing);
    free_chunks(b, &o->pending);
    free(o);
}

enum err object_add(struct sqlite_blobs *b, const struct blob_object *values, struct blob_object **out)
{
    enum err e = idmap_reserve(&b->objects);
    struct blob_object *o = e ? NULL : malloc(sizeof *o);
    if (!o)
        return ERR_NO_MEMORY;
    *o = *values;
    idmap_set(&b->objects, o->id, o);
    link_object(b, o);
    *out = o;
    return ERR_OK;
}

void object_want(struct sqlite_blobs *b, struct blob_object *o, int wanted)
{
    b->num_wanted++;
    unlink_object(b, o);
    o->wanted = wanted == OBJECT_ENDED    ? OBJECT_ENDED
                : wanted == OBJECT_PAUSED ? OBJECT_PAUSED
                                          : OBJECT_DROPPED;
    link_object(b, o);
    if (o->wanted != OBJECT_DROPPED)
        return;
    free_chunks(b, &o->pending);
    if (!o->is_in_file && !o->is_flushing)
        free_object(b, o);
}

enum err object_append(struct sqlite_blobs *b, struct blob_object *o, struct buf *bytes)
{
    struct blob_chunk *c = calloc(1, sizeof *c);
    if (!c)
        return ERR_NO_MEMORY;
    size_t n;
    enum err e = buf_take(bytes, &c->bytes, &n);
    if (e) {
        free(c);
        return e;
    }
    c->offset = o->size;
    c->size = (int64_t)n;
    *(o->pending.last ? &o->pending.last->next : &o->pending.first) = c;
    o->pending.last = c;
    o->size += c->size;
    b->pending_bytes += c->size;
    return ERR_OK;
}

void object_take(struct blob_object *o)
{
    o->is_flushing = true;
    o->flushing = o->pending;
    o->pending = (struct chunk_list){0};
}

void object_flushed(struct sqlite_blobs *b, struct blob_object *o, int written_as, enum err result)
{
    o->is_flushing = false;
    if (!result) {
        free_chunks(b, &o->flushing);
        o->is_in_file = written_as != OBJECT_DROPPED;
    } else if (o->wanted == OBJECT_DROPPED) {
        free_chunks(b, &o->flushing);
    } else if (o->flushing.first) {
        o->flushing.last->next = o->pending.first;
        if (!o->pending.first)
            o->pending.last = o->flushing.last;
        o->pending.first = o->flushing.first;
        o->flushing = (struct chunk_list){0};
    }
    bool is_as_wanted = !result && (int)o->wanted == written_as && o->wanted != OBJECT_OPEN;
    bool was_never_there = o->wanted == OBJECT_DROPPED && !o->is_in_file;
    if (is_as_wanted || was_never_there)
        free_object(b, o);
}

void object_dropped_to(struct blob_object *o, int64_t size)
{
    o->is_flushing = false;
    o->size = size;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

size_t object_read(const struct blob_object *o, int64_t offset, void *out, size_t n)
{
    int64_t end = offset + (int64_t)n, in_memory_from = end;
    const struct chunk_list *lists[] = {&o->flushing, &o->pending};
    for (size_t i = 0; i < 2; i++) {
        for (const struct blob_chunk *c = lists[i]->first; c && c->offset < end; c = c->next) {
            in_memory_from = least(in_memory_from, c->offset);
            int64_t from = c->offset > offset ? c->offset : offset, to = least(c->offset + c->size, end);
            if (from < to)
                memcpy((char *)out + (from - offset), c->bytes + (from - c->offset), (size_t)(to - from));
        }
    }
    return in_memory_from > offset ? (size_t)(in_memory_from - offset) : 0;
}

void objects_release(struct sqlite_blobs *b)
{
    while (b->waiting.first)
        free_object(b, b->waiting.first);
    while (b->garbage.first)
        free_object(b, b->garbage.first);
    idmap_release(&b->objects);
}
