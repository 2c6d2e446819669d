// The two tables of the compare view: runs as columns, so that what differs stands side by side.
import { differingParams, lastValues, metricTitle, specInForce } from './compare.js';
import { h, isolated, quantity } from './dom.js';
import { fmtCount, fmtDuration, fmtLoss, fmtPercent } from './format.js';

function sideBySide(label, corner, labels, rows) {
    const head = (node, className) => h('th', { scope: 'col', class: className }, h('span', null, node));
    const heads = [head(corner), ...labels.map((text) => head(isolated(text), 'numeric'))];
    const body = rows.map(({ title, cells, isCode }) => (
        h('tr', null, h('th', { scope: 'row' }, isCode ? h('code', null, title) : title), cells)));
    return h('div', { class: 'table-box', role: 'region', 'aria-label': label, tabindex: 0 },
        h('table', { class: 'table compare-table', 'aria-label': label }, h('thead', null, h('tr', null, heads)), h('tbody', null, body)));
}

function cellOf(content, isBest) {
    return h('td', { class: ['numeric', isBest && 'best'], title: isBest ? 'The best of them' : null },
        content, isBest ? h('span', { class: 'unseen' }, ' best') : null);
}

export function diffTable(runs, labels) {
    const rows = differingParams(runs.map((run) => specInForce(run.spec, run.config)));
    if (rows.length === 0)
        return h('p', { class: 'muted' }, runs.length > 1 ? 'Nothing: they only differ in their names.' : 'There is nothing to compare with.');
    return sideBySide('What differs between their specs', 'Parameter', labels, rows.map(({ path, values }) => ({
        title: path, isCode: true,
        cells: values.map((value) => cellOf(value === null ? h('span', { class: 'muted' }, '–') : isolated(value))),
    })));
}

function lastValueText(metric, value) {
    return /accuracy/.test(metric) ? quantity(fmtPercent(value)) : fmtLoss(value);
}

function runTookMs(run) {
    const begin = Date.parse(run.started_at ?? '');
    const end = Date.parse(run.finished_at ?? '');
    return Number.isFinite(begin) && Number.isFinite(end) ? end - begin : null;
}

export function valuesTable(runs, labels) {
    const metrics = lastValues(runs).map(({ metric, values, best }) => ({
        title: metricTitle(metric), cells: values.map((value, i) => cellOf(lastValueText(metric, value), i === best)),
    }));
    return sideBySide('Last values', 'Figure', labels, [
        { title: 'Rounds done', cells: runs.map((run) => cellOf(fmtCount(run.round))) },
        { title: 'Took', cells: runs.map((run) => cellOf(quantity(fmtDuration(runTookMs(run))))) },
        ...metrics,
    ]);
}
