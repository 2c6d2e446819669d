// The round strip in words: for its readout, for screen readers, for the legend.
import { fmtCount, fmtPercent } from './format.js';
import { placedCells } from './strip_layout.js';
import { CELL_STATES, countCells, fractionOf } from './work.js';

export const STATE_WORDS = {
    completed: 'all steps done',
    partial: 'part of the steps done, and counted',
    open: 'still open',
    late: 'late: no answer by the deadline',
    failed: 'failed',
    dropped: 'dropped: unfinished work thrown away',
    cancelled: 'cancelled: no longer needed',
};

// What a stroke under a column says of its round.
export const OUTCOME_WORDS = {
    skipped: ['late', 'no update of the round counted, or the run was stopped in it: the weights stayed as they were'],
    failed: ['failed', 'the round failed, and the run with it'],
};

function countsText({ counts }) {
    const parts = CELL_STATES.map((name, i) => (counts[i] > 0 ? `${fmtCount(counts[i])} ${name}` : null));
    return parts.filter(Boolean).join(', ') || 'no device was to train';
}

// first: the first round that is kept here.
function roundWords(n, row, first = 0) {
    if (!row)
        return n < first ? `Round ${n}: too long ago to be shown here; open it by its number` : `Round ${n}: not opened yet`;
    const about = row.type === 'final' ? 'final evaluation of the last model, no training'
        : row.status !== 'closed' ? row.status : row.outcome;
    if (row.type === 'final')
        return `Round ${n}: ${about}`;
    const sum = countCells([row.cells]);
    const work = sum.assigned > 0 ? `; ${fmtPercent(sum.done / sum.assigned)} of the steps` : '';
    return `Round ${n}: ${about}; ${countsText(sum)}${work}`;
}

// All rounds that are kept, together.
export function historyWords(work) {
    const list = [];
    for (let n = work.first; n <= work.last; n++) {
        const row = work.get(n);
        if (row && row.type !== 'final')
            list.push(row.cells);
    }
    const sum = countCells(list);
    const share = sum.assigned > 0 ? `; ${fmtPercent(sum.done / sum.assigned)} of the steps` : '';
    return `${fmtCount(list.length)} ${list.length === 1 ? 'round' : 'rounds'}: ${countsText(sum)}${share}`;
}

function cellWords(cells, i) {
    const state = CELL_STATES[cells.states[i]];
    const steps = cells.assigned[i] > 0
        ? `, ${fmtCount(cells.done[i])} of ${fmtCount(cells.assigned[i])} steps (${fmtPercent(fractionOf(cells, i))})` : '';
    return `device ${cells.ordinals[i]}: ${state}${steps}`;
}

// The cell of a round at a row of the strip: its index, or -1.
function cellAtRow(cells, layout, mode, row) {
    const found = placedCells(cells, layout, mode).find(([at]) => at === row);
    return found ? found[1] : -1;
}

export function placeWords(work, layout, mode, cursor) {
    const row = work.get(cursor.round);
    const text = roundWords(cursor.round, row, work.first);
    if (!row || cursor.row === null || layout.dense)
        return text;
    const i = cellAtRow(row.cells, layout, mode, cursor.row);
    if (i >= 0)
        return `${text} · ${cellWords(row.cells, i)}`;
    return layout.lanes ? `${text} · device ${cursor.row}: not selected` : text;
}
