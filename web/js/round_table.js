// The tasks of a round: when each worked, what it did, and what stands out.
import { speedText } from './device_cells.js';
import { append, clear, h, quantity } from './dom.js';
import { fmtDuration, fmtLoss, fmtPercent } from './format.js';
import { gantt, ganttAxis, ganttLegend } from './gantt.js';
import { placeUrl } from './router.js';
import { FEWEST_FOR_OUTLIERS } from './stats.js';
import { dataTable } from './table.js';
import { BATCH_LOSSES, LOSS_AFTER, LOSS_BEFORE, taskState, taskStateCell, taskStepsCell } from './task_cells.js';

const TASKS_PAGE = 50;
const FIGURES = {
    duration: ['Time', fmtDuration, 'from claim to upload'],
    speed: ['Speed', (v) => (v === null ? '–' : `${speedText(v)} /s`), 'steps of a second of computing'],
    loss_before: ['Loss before', fmtLoss, LOSS_BEFORE],
    loss_after: ['Loss after', fmtLoss, LOSS_AFTER],
    gamma: ['Gamma', fmtLoss, 'how inexact its solution is: 0 is exact, 1 as it was given'],
    update_norm: ['Update norm', fmtLoss, 'how far the model moved'],
    train_loss: ['Training loss', fmtLoss, 'of the model that the round starts from'],
    test_loss: ['Test loss', fmtLoss, 'of the model that the round starts from'],
    accuracy: ['Accuracy', fmtPercent, 'on its test data, of the model that the round starts from'],
};

function figureCell(row, name) {
    const mark = row.marks[name];
    const value = quantity(FIGURES[name][1](row[name]));
    if (!mark)
        return value;
    return h('span', { class: 'outlier', title: `stands out: ${mark}` }, h('span', { 'aria-hidden': 'true' }, mark === 'high' ? '▲' : '▼'),
        h('span', { class: 'unseen' }, `${mark}: `), ' ', value);
}

function deviceCell({ task }) {
    return h('a', { href: placeUrl(['devices', task.device_id]) }, `device ${task.ordinal}`);
}

function figureColumn(name) {
    const [title, , hint] = FIGURES[name];
    return { id: name, title, hint, numeric: true, sortValue: (row) => row[name], cell: (row) => figureCell(row, name) };
}

function columnsFor(type, hasGamma, axis, span) {
    const times = { id: 'times', title: axis, cell: (row) => gantt(row, span) };
    const first = [
        { id: 'device', title: 'Device', header: true, sortValue: (row) => row.task.ordinal, cell: deviceCell },
        { id: 'state', title: 'State', sortValue: (row) => taskState(row.task), cell: (row) => taskStateCell(row.task) },
        times,
    ];
    if (type === 'evaluate')
        return [...first, ...['duration', 'train_loss', 'test_loss', 'accuracy'].map(figureColumn)];
    return [...first,
        { id: 'steps', title: 'Steps', numeric: true, hint: 'done of those assigned', sortValue: (row) => row.task.steps_done,
            cell: (row) => taskStepsCell(row.task) },
        ...['duration', 'speed', 'loss_before', 'loss_after', hasGamma ? 'gamma' : null, 'update_norm'].filter(Boolean).map(figureColumn)];
}

function outlierNote(rows, fences) {
    const found = rows.filter((row) => Object.keys(row.marks).length > 0).length;
    const looked = Object.values(fences).some(Boolean);
    const how = 'more than 1.5 interquartile ranges above the third or below the first quartile of this round\'s devices';
    if (!looked)
        return `Outliers are looked for from ${FEWEST_FOR_OUTLIERS} values on, where half of them are not equal.`;
    return found === 0 ? `No value stands out (${how}).` : `▲ and ▼ stand out: ${how}.`;
}

// → {node, update({rows, start, end, fences, marks})}; type: 'train' or 'evaluate'; hasGamma: whether the round asks for it.
export function roundTable(type, hasGamma, empty) {
    const span = { start: 0, end: 1, marks: [] };
    const axis = ganttAxis();
    const table = dataTable({ columns: columnsFor(type, hasGamma, axis.node, span), key: (row) => row.task.id, pageSize: TASKS_PAGE, empty,
        label: type === 'train' ? 'Training tasks' : 'Evaluation tasks', sort: { id: 'device', dir: 'asc' } });
    const note = h('p', { class: 'muted small' });
    return {
        node: h('div', { class: ['stack', 'round-table', 'many-columns', `of-${type}`] }, ganttLegend(), table.node, note),
        update({ rows, start, end, fences, marks }) {
            Object.assign(span, { start, end, marks });
            axis.update(span);
            table.update(rows);
            append(clear(note), rows.length > 0 ? outlierNote(rows, fences) : null,
                rows.length > 0 && type === 'train' ? ` ${BATCH_LOSSES}` : null);
        },
    };
}
