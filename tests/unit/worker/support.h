/* What the trainer's tests share. */
#ifndef FEDLANE_TESTS_WORKER_SUPPORT_H
#define FEDLANE_TESTS_WORKER_SUPPORT_H

#include "worker/trainer.h"

/* The trainer under test. */
static const struct trainer_ops *const ops = &trainer_local;

/* features -> classes, through a hidden ReLU layer unless hidden is 0. The caller frees it. */
struct arch *make_arch(int features, int hidden, int classes);
struct trainer *open_trainer(const struct arch *arch, const struct dataset *data, int64_t batch_size);

#endif
