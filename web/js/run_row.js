// What the table of runs keeps of each run, and how events change it. Pure: rows are never changed, but replaced.

const SPARK_MOST = 60;

function muOf(run) {
    const params = (run.config && run.config.strategy && run.config.strategy.params)
        || (run.spec.strategy && run.spec.strategy.params) || {};
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

function closeRound(row, data) {
    const metrics = data.metrics || {};
    const next = { ...row };
    if (data.type !== 'final')
        next.round = Math.min(data.round + 1, row.numRounds);
    for (const [name, figure, line] of [['train_loss', 'loss', 'losses'], ['test_accuracy', 'accuracy', 'accuracies']]) {
        if (metrics[name] === undefined)
            continue;
        next[figure] = metrics[name];
        next[line] = addToSpark(row[line], metrics[name]);
    }
    return next;
}

// The row after the event: the same object where it changes nothing that is shown, null where the run has to be asked for.
export function rowAfter(row, event) {
    if (event.seq <= row.lastEvent)
        return row;
    const { data } = event;
    switch (event.type) {
    case 'run_waiting':
        return { ...row, status: 'waiting_for_devices', reason: data.reason };
    case 'devices_frozen':
        return { ...row, status: 'running', reason: '', population: data.population };
    case 'round_opened':
        return { ...row, round: data.round };
    case 'round_closed':
        return closeRound(row, data);
    case 'run_paused':
        return { ...row, status: 'paused', reason: '' };
    case 'run_resumed':
        return { ...row, status: 'running', reason: '' };
    case 'run_finished':
        return { ...row, status: 'finished', outcome: data.outcome, reason: data.reason, finishedAt: event.at };
    case 'run_started':
    case 'config_changed':
        return null;
    default:
        return row;
    }
}

// Whether all words of `text` stand somewhere in what the row is called.
export function matchesText(row, text) {
    const hay = `${row.name} ${row.experiment} ${row.dataset} ${row.strategy} ${row.id}`.toLowerCase();
    return text.toLowerCase().split(/\s+/).every((word) => hay.includes(word));
}

export const RUN_FILTERS = {
    active: (row) => row.status !== 'finished',
    pending: (row) => row.status === 'pending',
    waiting: (row) => row.status === 'waiting_for_devices',
    running: (row) => row.status === 'running',
    paused: (row) => row.status === 'paused',
    completed: (row) => row.outcome === 'completed',
    failed: (row) => row.outcome === 'failed',
    stopped: (row) => row.outcome === 'stopped',
};
