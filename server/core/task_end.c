#include "server/core/round.h"

enum err task_end(struct work *w, struct round_row *round, struct task_row *task, enum task_status status)
{
    bool is_train = task->type == TASK_TRAIN;
    bool is_answer = status == TASK_COMPLETED || status == TASK_DROPPED || status == TASK_FAILED;
    task->status = status;
    round->received += is_train && status == TASK_COMPLETED;
    round->partial += is_train && status == TASK_COMPLETED && task->is_partial;
    round->dropped += is_train && status == TASK_DROPPED;
    round->failed += is_train && status == TASK_FAILED;
    round->late += is_train && !is_answer;
    round->evaluated += !is_train && is_answer;
    if (is_train && is_answer)
        round->steps_done += task->steps_done;
    progress_forget(&w->core->progress, task->id);
    return store_update(w->txn, RECORD_TASK, task);
}

enum err round_end_tasks(struct work *w, struct round_row *round, int64_t type, enum task_status status)
{
    struct task_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_TASKS_OPEN_BY_ROUND, w->arena, 0, &rows, &count,
                            store_text(round->run_id), store_int(round->n), store_int(TASK_CLAIMED));
    for (size_t i = 0; i < count && !e; i++)
        if (type < 0 || rows[i].type == type)
            e = task_end(w, round, &rows[i], status);
    return e;
}
