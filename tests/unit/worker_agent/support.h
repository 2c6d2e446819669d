/* What the worker's tests share: a small data set, a trainer double that only counts, and tasks. */
#ifndef FEDLANE_TESTS_WORKER_AGENT_SUPPORT_H
#define FEDLANE_TESTS_WORKER_AGENT_SUPPORT_H

#include <pthread.h>
#include "common/data/dataset.h"
#include "worker/task_runner.h"

/* Synthetic data: 30 devices, 60 features, 10 classes. */
struct dataset *support_data(void);
/* 60 -> 10 softmax regression; 610 parameters. */
#define SUPPORT_MODEL                                                                                        \
    "{\"init\":\"zeros\",\"input\":[60],\"layers\":[{\"type\":\"dense\",\"units\":10}],"                     \
    "\"loss\":\"softmax_cross_entropy\"}"
#define SUPPORT_NUM_PARAMS 610
#define SUPPORT_TASK_ID    "0123456789abcdef0123456789abcde0"
#define SUPPORT_RUN_ID     "0123456789abcdef0123456789abcdef"

/* A train task of device 0: 100 steps, batch size 10, no bounds, partial work welcome. */
struct worker_task support_task(void);

/* The double: each step adds 1 to every weight; the loss of step i is 1 / i; evaluation gives the first
 * weight as loss; the gradient is the weights and a half. Any number of trainers; the hooks are for all of
 * them. */
extern const struct trainer_ops fake_trainer;
struct fake_hooks {
    enum err open_err, begin_err, step_err, evaluate_err;
    bool gives_nan;           /* steps make a weight and the loss NaN */
    int num_opened, num_open; /* trainers made, and not closed */
    int num_evaluated;
    /* Steps wait while `is_held` is set (fake_hold, fake_release); num_waiting of them do. */
    bool is_held;
    int num_free; /* so many calls pass nevertheless */
    int num_waiting;
};
void fake_reset(void);
struct fake_hooks *fake_lock(void); /* the hooks, locked */
void fake_unlock(void);
void fake_hold(void);
void fake_release(void);
/* Until n threads wait in a step. */
void fake_wait_for(int n);

/* A temporary directory; removed with all in it. */
char *support_dir_new(void);
void support_dir_free(char *dir);

#endif
