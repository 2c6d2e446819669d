// The rounds of a run as a table: the strip and the charts in numbers.
import { h, quantity } from './dom.js';
import { fmtBytes, fmtDuration, fmtLoss, fmtNumber, fmtPercent } from './format.js';
import { placeUrl } from './router.js';
import { stateBadge } from './states.js';
import { dataTable } from './table.js';
import { CELL_STATES, countCells } from './work.js';

const ROUNDS_PAGE = 10;

function makeRow(data, row) {
    const sum = countCells([row.cells]);
    const counts = Object.fromEntries(CELL_STATES.map((name, i) => [name, sum.counts[i]]));
    return {
        round: row.round, type: row.type, state: row.status === 'closed' ? row.outcome : row.status, counts,
        selected: row.cells.count, done: sum.assigned > 0 ? sum.done / sum.assigned : null,
        ...data.numbers.get(row.round),
    };
}

const count = (n) => (n > 0 ? String(n) : h('span', { class: 'muted' }, '0'));

function roundColumns(runId) {
    const number = (id, title, get, fmt, hint) => ({ id, title, hint, numeric: true, sortValue: get, cell: (r) => quantity(fmt(get(r) ?? null)) });
    const counted = (id, hint) => ({ id, title: id[0].toUpperCase() + id.slice(1), hint, numeric: true,
        sortValue: (r) => r.counts[id], cell: (r) => count(r.counts[id]) });
    return [
        { id: 'round', title: 'Round', numeric: true, header: true, sortValue: (r) => r.round,
            cell: (r) => h('a', { href: placeUrl(['runs', runId, 'rounds', r.round]) }, r.round, r.type === 'final' ? ', final' : null) },
        { id: 'state', title: 'State', sortValue: (r) => r.state, cell: (r) => stateBadge(r.state) },
        counted('completed', 'did all their steps'), counted('partial', 'did a part, which counted'),
        counted('late', 'gave no answer in time'), counted('failed', 'gave up'), counted('dropped', 'did a part, which was thrown away'),
        number('done', 'Steps', (r) => r.done, fmtPercent, 'done of those assigned'),
        number('loss', 'Loss', (r) => r.train_loss, fmtLoss, 'on the training data, before the round'),
        number('accuracy', 'Accuracy', (r) => r.test_accuracy, fmtPercent, 'on the test data, before the round'),
        number('mu', 'Mu', (r) => r.proximal_mu, fmtNumber),
        number('duration', 'Duration', (r) => r.duration_ms, fmtDuration),
        number('bytes', 'From devices', (r) => r.bytes_in, fmtBytes),
    ];
}

// → {node, update()}. Rows of closed rounds are made once.
export function runRounds(data) {
    const made = new Map();
    const table = dataTable({ columns: roundColumns(data.id), key: (r) => r.round, label: 'Rounds', pageSize: ROUNDS_PAGE,
        sort: { id: 'round', dir: 'desc' }, empty: 'No round has been opened yet.' });
    const node = h('section', { class: 'panel many-columns', 'aria-labelledby': 'run-rounds' }, h('h2', { id: 'run-rounds' }, 'Rounds'), table.node);
    return {
        node,
        update() {
            const rows = [];
            made.forEach((_, n) => n < data.work.first && made.delete(n));
            for (let n = data.work.first; n <= data.work.last; n++) {
                const row = data.work.get(n);
                if (!row)
                    continue;
                const known = made.get(n);
                if (!known || known.of !== row || row.status !== 'closed')
                    made.set(n, { of: row, row: makeRow(data, row) });
                rows.push(made.get(n).row);
            }
            table.update(rows);
        },
    };
}
