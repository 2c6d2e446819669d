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
}

static void unlink_object(struct sqlite_blobs *b, struct blob_object *o)
{
    struct object_list *list = list_of(b, (int)o->wanted);
    *(o->previous ? &o->previous->next : &list->first) = o->next;
    *(o->next ? &o->next->previous : &list->last) = o->previous;
    b->num_listed -= o->wanted != OBJECT_DROPPED;
}

/* --- memory --- */

static char *take_full_buffer(struct sqlite_blobs *b)
{
    char *bytes = b->num_spare ? b->spare[--b->num_spare] : malloc(FULL_CHUNK);
    b->held_bytes += bytes ? (int64_t)FULL_CHUNK : 0;
    return bytes;
}

/* A small one counts only once it is a chunk's. */
static bool counts(const struct chunk_buffer *buffer)
{
    return buffer->capacity == FULL_CHUNK;
}

static void give_buffer(struct sqlite_blobs *b, struct chunk_buffer *buffer)
{
    bool is_kept = counts(buffer) && b->num_spare < sizeof b->spare / sizeof b->spare[0];
    if (counts(buffer))
        b->held_bytes -= (int64_t)FULL_CHUNK;
    if (is_kept)
        b->spare[b->num_spare++] = buffer->bytes;
    else
        free(buffer->bytes);
    *buffer = (struct chunk_buffer){0};
}

static void free_chunks(struct sqlite_blobs *b, struct chunk_list *list)
{
    for (struct blob_chunk *c = list->first, *next; c; c = next) {
        next = c->next;
        b->held_bytes -= counts(&c->buffer) ? 0 : (int64_t)c->buffer.capacity;
        give_buffer(b, &c->buffer);
        free(c);
    }
    *list = (struct chunk_list){0};
}

int64_t chunks_bytes(const struct chunk_list *list)
{
    int64_t bytes = 0;
    for (const struct blob_chunk *c = list->first; c; c = c->next)
        bytes += (int64_t)c->buffer.size;
    return bytes;
}

/* --- objects --- */

static void free_object(struct sqlite_blobs *b, struct blob_object *o)
{
    unlink_object(b, o);
    (void)idmap_remove(&b->objects, o->id);
    free_chunks(b, &o->flushing);
    free_chunks(b, &o->pending);
    give_buffer(b, &o->filling);
    free(o);
}

void object_move_last(struct sqlite_blobs *b, struct blob_object *o)
{
    unlink_object(b, o);
    link_object(b, o);
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
    give_buffer(b, &o->filling);
    if (o->wanted != OBJECT_DROPPED)
        return;
    free_chunks(b, &o->pending);
    if (!o->is_in_file && !o->is_flushing)
        free_object(b, o);
}

/* Room for one byte at least; for all n where one buffer has it. */
static enum err make_filling_room(struct sqlite_blobs *b, struct blob_object *o, size_t n)
{
    struct chunk_buffer *f = &o->filling;
    size_t wanted = f->size + n, capacity = 2 * f->capacity;
    if (f->capacity && f->size < f->capacity && (wanted <= f->capacity || counts(f)))
        return ERR_OK;
    if (wanted > (size_t)CHUNK_UNIT) {
        char *full = take_full_buffer(b);
        if (!full)
            return ERR_NO_MEMORY;
        if (f->size)
            memcpy(full, f->bytes, f->size);
        free(f->bytes);
        *f = (struct chunk_buffer){full, f->size, FULL_CHUNK};
        return ERR_OK;
    }
    capacity = capacity < wanted ? wanted : capacity;
    capacity = capacity < (size_t)CHUNK_UNIT ? capacity : (size_t)CHUNK_UNIT;
    char *bytes = realloc(f->bytes, capacity);
    if (!bytes)
        return ERR_NO_MEMORY;
    f->bytes = bytes;
    f->capacity = capacity;
    return ERR_OK;
}

enum err object_write(struct sqlite_blobs *b, struct blob_object *o, const void *bytes, size_t n)
{
    struct chunk_buffer *f = &o->filling;
    enum err e = ERR_OK;
    while (n && !e && !(e = make_filling_room(b, o, n))) {
        size_t room = f->capacity - f->size, take = n < room ? n : room;
        memcpy(f->bytes + f->size, bytes, take);
        f->size += take;
        bytes = (const char *)bytes + take;
        n -= take;
        if (f->size == FULL_CHUNK)
            e = object_seal(b, o, FULL_CHUNK);
    }
    if (b->held_bytes >= FLUSH_BYTES)
        blob_flusher_nudge(b);
    return e;
}

enum err object_seal(struct sqlite_blobs *b, struct blob_object *o, size_t n)
{
    struct chunk_buffer rest = {.size = o->filling.size - n};
    struct blob_chunk *c = calloc(1, sizeof *c);
    if (c && rest.size && (rest.bytes = malloc((size_t)CHUNK_UNIT))) {
        rest.capacity = (size_t)CHUNK_UNIT;
        memcpy(rest.bytes, o->filling.bytes + n, rest.size);
    }
    if (!c || (rest.size && !rest.bytes)) {
        free(c);
        return ERR_NO_MEMORY;
    }
    c->offset = o->size;
    c->buffer = o->filling;
    c->buffer.size = n;
    b->held_bytes += counts(&c->buffer) ? 0 : (int64_t)c->buffer.capacity;
    o->filling = rest;
    *(o->pending.last ? &o->pending.last->next : &o->pending.first) = c;
    o->pending.last = c;
    o->size += (int64_t)n;
    return ERR_OK;
}

enum err object_gather(struct sqlite_blobs *b, struct blob_object *o)
{
    size_t units = o->filling.size / (size_t)CHUNK_UNIT * (size_t)CHUNK_UNIT;
    return counts(&o->filling) && units ? object_seal(b, o, units) : ERR_OK;
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
            int64_t from = c->offset > offset ? c->offset : offset;
            int64_t to = least(c->offset + (int64_t)c->buffer.size, end);
            if (from < to)
                memcpy((char *)out + (from - offset), c->buffer.bytes + (from - c->offset),
                       (size_t)(to - from));
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
    while (b->num_spare)
        free(b->spare[--b->num_spare]);
}
