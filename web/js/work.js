// Who did what in which round, for the round strip: compact, so that a million cells fit into 20 MB.

// How a cell stands; its place here is its code, and the order in which outcomes are stacked from below.
export const CELL_STATES = ['completed', 'partial', 'open', 'late', 'failed', 'dropped', 'cancelled'];
const OPEN = CELL_STATES.indexOf('open');

function codeOf(state) {
    const code = CELL_STATES.indexOf(state);
    return code < 0 ? OPEN : code;
}

function emptyCells(count) {
    return {
        count,
        ordinals: new Uint32Array(count),
        states: new Uint8Array(count),
        done: new Float64Array(count),
        assigned: new Float64Array(count),
    };
}

function setCell(cells, i, [ordinal, state, done, assigned]) {
    cells.ordinals[i] = ordinal;
    cells.states[i] = codeOf(state);
    cells.done[i] = done;
    cells.assigned[i] = assigned;
}

function grown(cells) {
    const next = emptyCells(cells.count + 1);
    for (const name of ['ordinals', 'states', 'done', 'assigned'])
        next[name].set(cells[name]);
    return next;
}

// The share of its steps that cell i has done, 0 to 1.
export function fractionOf(cells, i) {
    const assigned = cells.assigned[i];
    return assigned > 0 ? Math.max(0, Math.min(1, cells.done[i] / assigned)) : 0;
}

// The order of a round's cells: by outcome and then by work done, or by device.
export function orderCells(cells, mode) {
    const order = Array.from({ length: cells.count }, (_, i) => i);
    const byDevice = (a, b) => cells.ordinals[a] - cells.ordinals[b];
    if (mode === 'device')
        return order.sort(byDevice);
    return order.sort((a, b) => cells.states[a] - cells.states[b]
        || fractionOf(cells, b) - fractionOf(cells, a) || byDevice(a, b));
}

const CELL_EVENTS = { update_accepted: true, task_dropped: true, task_failed: true };

function stateOfEvent({ type, data }) {
    if (type === 'update_accepted')
        return data.partial ? 'partial' : 'completed';
    return type === 'task_dropped' ? 'dropped' : 'failed';
}

// A store of rounds by number. put() takes items of GET /runs/{run}/work; apply() takes events and answers the
// round of which the server has to be asked again, or null: an event names one device, or only counts.
export function createWork() {
    const rounds = new Map();
    const work = {
        first: 0, last: -1, most: 0, highest: -1, cells: 0, outcomes: new Set(), get: (n) => rounds.get(n), has: (n) => rounds.has(n),
    };

    function put(item) {
        if (item.round < work.first)
            return;
        const cells = emptyCells(item.cells.length);
        item.cells.forEach((cell, i) => {
            setCell(cells, i, cell);
            work.highest = Math.max(work.highest, cell[0]);
        });
        work.cells += cells.count - (rounds.get(item.round)?.cells.count ?? 0);
        work.last = Math.max(work.last, item.round);
        work.most = Math.max(work.most, cells.count);
        work.outcomes.add(item.outcome);
        const { round, type, status, outcome } = item;
        rounds.set(round, { round, type, status, outcome, cells });
    }

    function putCell(row, cell) {
        let at = row.cells.ordinals.indexOf(cell[0]);
        if (at < 0) {
            at = row.cells.count;
            row.cells = grown(row.cells);
            work.cells += 1;
            work.most = Math.max(work.most, row.cells.count);
            work.highest = Math.max(work.highest, cell[0]);
        }
        setCell(row.cells, at, cell);
    }

    function apply(event) {
        const { type, data } = event;
        const row = rounds.get(data?.round);
        if (type === 'round_opened' || type === 'training_started' || type === 'round_closed')
            return data.round;
        if (!CELL_EVENTS[type] || (data.type ?? 'train') !== 'train')
            return null;
        if (!row || row.status === 'closed')
            return data.round;
        putCell(row, [data.ordinal, stateOfEvent(event), data.steps_done, data.steps_assigned]);
        return null;
    }

    // Rounds before n are no longer kept.
    function dropBefore(n) {
        for (let round = work.first; round < n; round++) {
            work.cells -= rounds.get(round)?.cells.count ?? 0;
            rounds.delete(round);
        }
        work.first = Math.max(work.first, n);
    }

    return Object.assign(work, { put, apply, dropBefore });
}

// How many cells of each state, and how much of the work, over some rounds.
export function countCells(list) {
    const counts = new Array(CELL_STATES.length).fill(0);
    let done = 0;
    let assigned = 0;
    for (const cells of list) {
        for (let i = 0; i < cells.count; i++) {
            counts[cells.states[i]] += 1;
            done += cells.done[i];
            assigned += cells.assigned[i];
        }
    }
    return { counts, done, assigned };
}
