// The columns of the table of runs.

import { h, isolated, quantity } from './dom.js';
import { fmtCount, fmtDuration, fmtLoss, fmtNumber, fmtPercent, nameOr, parseNumber, shortId } from './format.js';
import { placeUrl } from './router.js';
import { sparkline } from './sparkline.js';
import { progressColour, runStatus, stateBadge } from './states.js';
import { serverNow, sinceNode, timeNode } from './time.js';

function nameCell(row) {
    return [
        h('a', { class: 'run-name', href: placeUrl(['runs', row.id]), title: row.name }, isolated(nameOr(row.name, shortId(row.id)))),
        h('div', { class: 'sub' }, isolated(row.experiment), row.dataset ? [' · ', isolated(row.dataset)] : null),
    ];
}

function statusCell(row) {
    const isTold = row.reason && (row.status === 'waiting_for_devices' || row.outcome === 'failed');
    const reason = isTold ? row.reason.replace(/^waiting for devices: /, '') : '';
    return [stateBadge(runStatus(row)), isTold ? h('div', { class: 'sub reason', title: row.reason }, reason) : null];
}

// A number, or what a dynamic one began with.
function isDynamic(mu) {
    return mu !== null && typeof mu === 'object';
}

function muStart(mu) {
    const start = isDynamic(mu) ? mu.dynamic && mu.dynamic.start : mu;
    return start === undefined ? 0 : parseNumber(start);
}

function muCell(row) {
    if (!isDynamic(row.mu))
        return fmtNumber(row.mu);
    return h('span', { title: `It begins at ${fmtNumber(muStart(row.mu))} and follows the loss.` }, 'dynamic');
}

function roundsCell(row) {
    const share = row.numRounds > 0 ? Math.min(1, row.round / row.numRounds) : 0;
    return [
        h('span', null, fmtCount(row.round), h('span', { class: 'unit' }, ` / ${fmtCount(row.numRounds)}`)),
        h('span', { class: 'bar-track', 'aria-hidden': 'true', vars: { w: `${(share * 100).toFixed(1)}%`, st: progressColour(row) } },
            h('span', { class: 'bar-fill' })),
    ];
}

function courseCell(text, values) {
    return h('span', { class: 'course' }, quantity(text), values.length ? sparkline(values, { color: 'var(--muted)' }) : null);
}

function devicesCell(row) {
    if (!row.perRound)
        return '–';
    return [fmtCount(row.perRound), h('span', { class: 'unit' }, row.population ? ` of ${fmtCount(row.population)}` : ' a round')];
}

function durationOf(row) {
    if (!row.startedAt)
        return null;
    return (row.finishedAt ? Date.parse(row.finishedAt) : serverNow()) - Date.parse(row.startedAt);
}

function durationCell(row) {
    if (!row.startedAt)
        return '–';
    return row.finishedAt ? quantity(fmtDuration(durationOf(row))) : sinceNode(row.startedAt);
}

function timeOf(row) {
    return Date.parse(row.startedAt || row.createdAt);
}

export const RUN_COLUMNS = [
    { id: 'name', title: 'Run', header: true, cell: nameCell, sortValue: (r) => r.name || r.id },
    { id: 'status', title: 'Status', cell: statusCell, sortValue: runStatus },
    { id: 'strategy', title: 'Strategy', cell: (r) => r.strategy || '–', sortValue: (r) => r.strategy },
    { id: 'mu', title: 'Mu', numeric: true, hint: 'Proximal coefficient', cell: muCell, sortValue: (r) => muStart(r.mu) },
    { id: 'rounds', title: 'Rounds', numeric: true, hint: 'Closed rounds of all', cell: roundsCell,
        sortValue: (r) => (r.numRounds ? r.round / r.numRounds : 0) },
    { id: 'loss', title: 'Loss', numeric: true, hint: 'Training loss of the newest round that has one, and its course',
        cell: (r) => courseCell(fmtLoss(r.loss), r.losses), sortValue: (r) => parseNumber(r.loss) },
    { id: 'accuracy', title: 'Accuracy', numeric: true, hint: 'Test accuracy of the newest round that has one, and its course',
        cell: (r) => courseCell(fmtPercent(r.accuracy), r.accuracies), sortValue: (r) => parseNumber(r.accuracy) },
    { id: 'devices', title: 'Devices', numeric: true, hint: 'Devices a round, of those that take part', cell: devicesCell,
        sortValue: (r) => r.perRound },
    { id: 'started', title: 'Started', numeric: true, cell: (r) => timeNode(r.startedAt), sortValue: timeOf },
    { id: 'duration', title: 'Duration', numeric: true, cell: durationCell, sortValue: durationOf },
];
