// How a task is told in tables: of a round's page and of a device's page.

import { h, isolated } from './dom.js';
import { fmtCount } from './format.js';
import { stateBadge } from './states.js';

// What a worker reports as train_loss_start and train_loss_end, each of another batch and so not one above the other.
export const LOSS_BEFORE = 'The mean over the batch of its first step, of the model it was given';
export const LOSS_AFTER = 'The mean over the batch of its last step, just before that step; another batch than the first';
export const BATCH_LOSSES = 'Loss before and after are those of the first and the last batch, not of all its data: the one after may be higher '
    + 'though the model became better.';
const OPEN_WORDS = { ready: 'not claimed yet', claimed: 'working' };

// How a task came out, in the states of the round strip.
export function taskState(task) {
    if (task.status === 'completed')
        return task.partial ? 'partial' : 'completed';
    return task.status in OPEN_WORDS ? 'open' : task.status;
}

export function taskStateCell(task) {
    const badge = stateBadge(taskState(task), OPEN_WORDS[task.status]);
    const stop = task.stop_reason === 'completed' ? null : task.stop_reason;
    const why = task.code ? `${task.code}${task.detail ? `: ${task.detail}` : ''}` : stop;
    return [badge, why ? h('span', { class: 'small muted task-why', title: why }, isolated(why)) : null];
}

export function taskStepsCell(task) {
    const share = task.steps_assigned > 0 ? Math.min(1, task.steps_done / task.steps_assigned) : 0;
    return h('span', { class: `steps st-${taskState(task)}` },
        h('span', { class: 'num' }, fmtCount(task.steps_done), h('span', { class: 'unit' }, ` / ${fmtCount(task.steps_assigned)}`)),
        h('span', { class: 'bar-track', 'aria-hidden': 'true' }, h('span', { class: 'bar-fill', vars: { w: `${100 * share}%` } })));
}
