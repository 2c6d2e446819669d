// All runs in a table.

import { api } from './api.js';
import { coalesce, h, isolated } from './dom.js';
import { placeUrl } from './router.js';
import { loading, runStatus, stateBadge } from './states.js';
import { dataTable } from './table.js';
import { timeNode } from './time.js';

const RUN_COLUMNS = [
    { id: 'name', title: 'Run', header: true, sortValue: (r) => r.name,
        cell: (r) => h('a', { href: placeUrl(['runs', r.id]) }, isolated(r.name || r.id)) },
    { id: 'status', title: 'Status', sortValue: runStatus, cell: (r) => stateBadge(runStatus(r)) },
    { id: 'rounds', title: 'Rounds', numeric: true, sortValue: (r) => r.round, cell: (r) => `${r.round} / ${r.num_rounds}` },
    { id: 'started', title: 'Started', numeric: true, sortValue: (r) => r.started_at, cell: (r) => timeNode(r.started_at) },
];

export function viewRuns(ctx) {
    const table = dataTable({ columns: RUN_COLUMNS, label: 'Runs' });
    ctx.host.append(loading());
    const load = async () => {
        table.update(await api.all('/api/v1/runs', { signal: ctx.signal, max: 500 }));
        if (!table.node.isConnected)
            ctx.host.replaceChildren(h('div', { class: 'head' }, h('h1', null, 'Runs')), table.node);
    };
    ctx.follow({ load, onEvent: coalesce(() => load().catch(() => {}), 1000, ctx.signal) });
}
