#include "server/core/progress.h"

#include "server/core/core_impl.h"

enum err progress_init(struct progress_table *p)
{
    *p = (struct progress_table){0};
    return pthread_mutex_init(&p->lock, NULL) ? ERR_NO_MEMORY : ERR_OK;
}

void progress_release(struct progress_table *p)
{
    id_table_release(&p->tasks);
    (void)pthread_mutex_destroy(&p->lock);
}

void progress_forget(struct progress_table *p, const char *task_id)
{
    pthread_mutex_lock(&p->lock);
    id_table_remove(&p->tasks, task_id);
    pthread_mutex_unlock(&p->lock);
}

void progress_forget_before(struct progress_table *p, int64_t at_ms)
{
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->tasks.capacity; i++)
        while (p->tasks.slots[i].id[0] && p->tasks.slots[i].at_ms < at_ms) {
            /* Removing moves entries into this slot. */
            char id[ID_SIZE];
            for (size_t c = 0; c < ID_SIZE; c++)
                id[c] = p->tasks.slots[i].id[c];
            id_table_remove(&p->tasks, id);
        }
    pthread_mutex_unlock(&p->lock);
}

void core_progress_set(struct core *c, const char *task_id, const struct progress *progress)
{
    pthread_mutex_lock(&c->progress.lock);
    struct id_entry *e = id_table_put(&c->progress.tasks, task_id);
    if (e) {
        e->at_ms = core_now(c);
        e->count = progress->steps_done;
        e->value = progress->train_loss;
        e->state = progress->has_loss;
    }
    pthread_mutex_unlock(&c->progress.lock);
}

bool core_progress_get(struct core *c, const char *task_id, struct progress *out)
{
    pthread_mutex_lock(&c->progress.lock);
    const struct id_entry *e = id_table_find(&c->progress.tasks, task_id);
    if (e)
        *out = (struct progress){.steps_done = e->count, .train_loss = e->value, .has_loss = e->state != 0};
    pthread_mutex_unlock(&c->progress.lock);
    return e != NULL;
}
