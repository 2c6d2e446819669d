// What the table of runs keeps of each run, and how events change it. Pure: rows are never changed, but replaced.

const SPARK_MOST = 60;

function muOf(run) {
    const params = run.config?.strategy?.params || run.spec.strategy?.params || {};
    return params.proximal_mu === undefined ? null : params.proximal_mu;
}

// A run of the API, with its "sparklines" where they were asked for, as little as a row needs: there may be thousands.
export function rowOfRun(run) {
    const values = (run.metrics && run.metrics.values) || {};
    const sparks = run.sparklines || {};
    const spec = run.spec || {};
    return {
        id: run.id,
        name: run.name,
        experiment: spec.experiment || run.experiment_id,
        dataset: run.dataset,
        status: run.status,
        outcome: run.outcome,
        reason: run.status_reason,
        strategy: (spec.strategy && spec.strategy.name) || null,
        mu: muOf({ ...run, spec }),
        round: run.round,
        numRounds: run.num_rounds,
        loss: values.train_loss === undefined ? null : values.train_loss,
        accuracy: values.test_accuracy === undefined ? null : values.test_accuracy,
        losses: sparks.train_loss || [],
        accuracies: sparks.test_accuracy || [],
        perRound: (spec.selection && spec.selection.devices_per_round) || null,
        population: run.population,
        createdAt: run.created_at,
        startedAt: run.started_at,
        finishedAt: run.finished_at,
        lastEvent: run.last_event,
    };
}

// One value more; every second one goes when there are too many, so that the line keeps its shape.
export function addToSpark(values, value) {
    if (value === null || value === undefined)
        return values;
    const kept = values.length < SPARK_MOST ? values : values.filter((_, i) => i % 2 === 1);
    return [...kept, value];
}

function closedRound(row, data) {
    const metrics = data.metrics || {};
    const change = data.type === 'final' ? {} : { round: Math.min(data.round + 1, row.numRounds) };
    for (const [name, figure, line] of [['train_loss', 'loss', 'losses'], ['test_accuracy', 'accuracy', 'accuracies']]) {
        if (metrics[name] === undefined)
            continue;
        change[figure] = metrics[name];
        change[line] = addToSpark(row[line], metrics[name]);
    }
    return change;
}

function changeOf(row, { type, at, data }) {
    switch (type) {
    case 'run_started':
        return { status: 'waiting_for_devices', reason: '', startedAt: at };
    case 'run_waiting':
        return { status: 'waiting_for_devices', reason: data.reason };
    case 'devices_frozen':
        return { status: 'running', reason: '', population: data.population };
    case 'round_opened':
        return { round: data.round };
    case 'round_closed':
        return closedRound(row, data);
    case 'run_paused':
        return { status: 'paused', reason: '' };
    case 'run_resumed':
        return { status: 'running', reason: '' };
    case 'run_finished':
        return { status: 'finished', outcome: data.outcome, reason: data.reason, finishedAt: at };
    case 'config_changed':
        return { mu: muOf({ config: data.patch, spec: {} }) ?? row.mu };
    default:
        return null;
    }
}

// The row after the event: the same object where it changes nothing that is shown.
export function rowAfter(row, event) {
    const change = event.seq > row.lastEvent ? changeOf(row, event) : null;
    return change ? { ...row, ...change, lastEvent: event.seq } : row;
}

// Of two rows of one run the one that knows more; what only the list tells, the course, is kept.
export function newerRow(former, row) {
    if (!former)
        return row;
    if (former.lastEvent > row.lastEvent)
        return former;
    return row.losses.length || row.accuracies.length ? row : { ...row, losses: former.losses, accuracies: former.accuracies };
}

// Whether all words of `text` stand somewhere in what the row is called.
export function matchesText(row, text) {
    const hay = [row.name, row.experiment, row.dataset, row.strategy, row.id].filter(Boolean).join(' ').toLowerCase();
    return text.toLowerCase().split(/\s+/).every((word) => hay.includes(word));
}

export const RUN_FILTERS = {
    __proto__: null,
    active: (row) => row.status !== 'finished',
    pending: (row) => row.status === 'pending',
    waiting: (row) => row.status === 'waiting_for_devices',
    running: (row) => row.status === 'running',
    paused: (row) => row.status === 'paused',
    completed: (row) => row.outcome === 'completed',
    failed: (row) => row.outcome === 'failed',
    stopped: (row) => row.outcome === 'stopped',
};
