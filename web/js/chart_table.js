// The values of a chart as a table, made when somebody opens it.
import { append, clear, h, isolated } from './dom.js';
import { valueText } from './scales.js';
import { tableOf } from './series.js';

const MOST_ROWS = 1000;

function columnsOf(series) {
    return series.flatMap((one) => [
        { name: String(one.name), points: one.points },
        ...(one.band && one.band.length > 0 ? [
            { name: `${one.name}, low`, points: one.band.map(([x, low]) => [x, low]) },
            { name: `${one.name}, high`, points: one.band.map(([x, , high]) => [x, high]) },
        ] : []),
    ]);
}

function fillTable(box, { title, x = {}, y = {}, series }) {
    const columns = columnsOf(series);
    const rows = tableOf(columns);
    const shown = rows.slice(-MOST_ROWS).reverse();
    const head = h('tr', null, h('th', { scope: 'col', class: 'numeric' }, x.title ?? 'x'),
        columns.map((c) => h('th', { scope: 'col', class: 'numeric' }, isolated(c.name))));
    const body = shown.map((row) => h('tr', null,
        h('th', { scope: 'row', class: 'numeric' }, (x.fmt ?? String)(row[0])),
        row.slice(1).map((v) => h('td', { class: 'numeric' }, v === undefined ? '–' : valueText(v, y.fmt)))));
    append(clear(box), rows.length > shown.length
        ? h('p', { class: 'muted small' }, `The last ${shown.length} of ${rows.length} rows.`) : null,
    h('table', { class: 'table chart-table' },
        h('caption', { class: 'unseen' }, `Values of: ${title}`), h('thead', null, head), h('tbody', null, body)));
}

// node: a <details> that holds the table and what stands above it; update(options) renews it where it is open.
export function chartTable(above) {
    const box = h('div', { class: 'table-box chart-values', tabindex: 0, role: 'group', 'aria-label': 'Values' });
    const summary = h('summary', null, above ? 'Values and files' : 'Values');
    const node = h('details', { class: 'chart-details' }, summary, above, box);
    let current = null;
    const renew = () => {
        if (node.open && current)
            fillTable(box, current);
    };
    node.addEventListener('toggle', renew);
    return {
        node,
        update(options) {
            current = options;
            box.setAttribute('aria-label', `Values of ${options.title}`);
            renew();
        },
        open() {
            node.open = true;
            renew();
        },
    };
}
