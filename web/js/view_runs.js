// All runs in one table that lives: filter, sort, choose and compare.

import { api, apiPath } from './api.js';
import { curlLine } from './command.js';
import { coalesce, h, icon, oneAtATime } from './dom.js';
import { fmtCount, nameOr } from './format.js';
import { isAbort, reportBug } from './http.js';
import { setQuery } from './router.js';
import { RUN_FILTERS, matchesText, newerRow, rowAfter, rowOfRun } from './run_row.js';
import { runFilter, runSelection } from './runs_bar.js';
import { RUN_COLUMNS } from './runs_columns.js';
import { session } from './session.js';
import { emptyState, loading } from './states.js';
import { dataTable } from './table.js';
import { toast } from './toast.js';

const FIRST_RUNS = 100;
const PAGE_RUNS = 200;
const MOST_RUNS = 2000;
const SPARK_POINTS = 30;
const WAITING_MOST = 1000;
const RUNS_REDRAW_MS = 400;
const ONE_AGAIN_MS = 4000;
const RUNS_SORT = { id: 'started', dir: 'desc' };

function sortOf(text) {
    const [id, dir] = (text || '').split('.');
    return RUN_COLUMNS.some((c) => c.id === id) ? { id, dir: dir === 'asc' ? 'asc' : 'desc' } : RUNS_SORT;
}

function newRunButton() {
    return session.can('run') ? h('a', { class: 'button primary', href: '#/runs/new' }, icon('plus'), 'New run') : null;
}

function noRuns() {
    const spec = { num_rounds: 20, dataset: 'fashion', model: { input: [784], layers: [{ type: 'dense', units: 10 }] }, training: { learning_rate: 0.03 } };
    return emptyState({ title: 'No runs yet',
        text: session.can('run') ? 'A run trains one model over your devices. Make one here, or submit one from a shell:'
            : 'Whoever has a token of role operator submits one so:',
        action: newRunButton(), command: curlLine('POST', '/api/v1/runs', spec) });
}

class RunList {
    constructor(ctx) {
        this.ctx = ctx;
        this.rows = new Map();
        this.filter = { q: ctx.query.q || '', status: ctx.query.status || '' };
        this.most = MOST_RUNS;
        this.asking = 0;
        this.turn = 0;
        this.waiting = new Map();
        this.cursor = null;
        this.redraw = coalesce(() => this.draw(), RUNS_REDRAW_MS, ctx.signal);
        this.makeNodes();
    }

    makeNodes() {
        this.count = h('p', { role: 'status' });
        this.filterBar = runFilter(this.filter, (filter) => this.setFilter(filter));
        this.selection = runSelection({
            onClear: () => this.table.select([]),
            onChanged: (runs) => {
                runs.forEach((run) => this.put(run));
                this.draw();
            },
        });
        this.table = dataTable({ columns: RUN_COLUMNS, label: 'Runs', sort: sortOf(this.ctx.query.sort), empty: this.nothingFits(),
            select: { label: (row) => nameOr(row.name, row.id) },
            onSort: ({ id, dir }) => setQuery({ sort: id === RUNS_SORT.id && dir === RUNS_SORT.dir ? null : `${id}.${dir}` }),
            onSelect: () => this.showSelection() });
        this.older = h('button', { type: 'button', class: 'button', hidden: true, on: { click: oneAtATime(() => this.loadOlder()) } }, 'Load older runs');
        this.node = h('div', { class: 'stack' },
            h('div', { class: 'head' }, h('div', null, h('h1', null, 'Runs'), this.count), newRunButton()),
            h('div', { class: 'runs-bar' }, this.filterBar.node, this.selection.node),
            h('div', { class: 'runs' }, this.table.node), this.older);
    }

    nothingFits() {
        return ['No run fits. ', h('button', { type: 'button', class: 'button quiet', on: { click: () => this.filterBar.clear() } }, 'Show all')];
    }

    setFilter(filter) {
        this.filter = filter;
        setQuery({ q: filter.q || null, status: filter.status || null });
        this.table.showFirstPage();
        this.draw();
    }

    // A run as a request found it: events may have told more by now, or may wait for it.
    put(run, rows = this.rows) {
        const row = newerRow(rows.get(run.id), rowOfRun(run));
        const waiting = this.waiting.get(run.id) || [];
        this.waiting.delete(run.id);
        rows.set(run.id, waiting.reduce(rowAfter, row));
    }

    // Events of runs that are not there yet, as long as somebody asks for them.
    keep(event) {
        if (!this.asking)
            return;
        if (this.waiting.size >= WAITING_MOST)
            this.waiting.clear();
        const events = this.waiting.get(event.run_id) || [];
        events.push(event);
        this.waiting.set(event.run_id, events);
    }

    async ask(path, query) {
        if (this.asking++ === 0)
            this.waiting.clear();
        try {
            return await api.get(path, { query, signal: this.ctx.signal });
        } finally {
            this.asking--;
        }
    }

    page(limit, cursor) {
        return this.ask('/api/v1/runs', { limit, cursor, sparkline: SPARK_POINTS });
    }

    async load() {
        const turn = ++this.turn;
        const page = await this.page(FIRST_RUNS, null);
        if (turn !== this.turn)
            return;
        const rows = new Map();
        page.items.forEach((run) => this.put(run, rows));
        Object.assign(this, { rows, cursor: page.next_cursor });
        this.draw();
        this.loadRest();
    }

    // The first page stands already; the others come when they come, unless all has begun anew meanwhile.
    async loadRest() {
        const { turn } = this;
        try {
            while (this.cursor && this.rows.size < this.most) {
                const page = await this.page(PAGE_RUNS, this.cursor);
                if (turn !== this.turn)
                    return;
                page.items.forEach((run) => this.put(run));
                this.cursor = page.next_cursor;
                this.draw();
            }
        } catch (error) {
            if (!isAbort(error))
                toast(`Older runs could not be read: ${error.message}`, 'bad');
        }
        this.older.hidden = !this.cursor;
    }

    loadOlder() {
        this.most = this.rows.size + MOST_RUNS;
        return this.loadRest();
    }

    draw() {
        const { host } = this.ctx;
        const shown = this.rows.size ? this.node : this.none || (this.none = h('div', null, h('h1', null, 'Runs'), noRuns()));
        if (!shown.isConnected)
            host.replaceChildren(shown);
        if (!this.rows.size)
            return;
        const fits = RUN_FILTERS[this.filter.status] || (() => true);
        const rows = [...this.rows.values()].filter((row) => fits(row) && (!this.filter.q || matchesText(row, this.filter.q)));
        const active = [...this.rows.values()].filter(RUN_FILTERS.active).length;
        const all = `${fmtCount(this.rows.size)}${this.cursor ? '+' : ''} ${this.rows.size === 1 ? 'run' : 'runs'}`;
        const words = `${rows.length === this.rows.size ? all : `${fmtCount(rows.length)} of ${all}`}, ${active ? fmtCount(active) : 'none'} active`;
        if (this.count.textContent !== words)
            this.count.textContent = words;
        this.table.update(rows);
        this.showSelection();
    }

    showSelection() {
        this.selection.show(this.table.selection().map((id) => this.rows.get(id)).filter(Boolean));
    }

    onEvent(event) {
        const row = this.rows.get(event.run_id);
        if (!row) {
            this.keep(event);
            if (event.type === 'run_created')
                this.fetchOne(event.run_id);
            return;
        }
        const after = rowAfter(row, event);
        if (after !== row) {
            this.rows.set(after.id, after);
            this.redraw();
        }
    }

    async fetchOne(id) {
        try {
            this.put(await this.ask(apiPath('runs', id)));
            this.redraw();
        } catch (error) {
            reportBug(error);
            if (error.isPassing)
                setTimeout(() => this.ctx.signal.aborted || this.rows.has(id) || this.fetchOne(id), ONE_AGAIN_MS);
        }
    }
}

export function viewRuns(ctx) {
    const list = new RunList(ctx);
    ctx.host.append(loading('Loading the runs…'));
    ctx.follow({ load: () => list.load(), onEvent: (event) => list.onEvent(event) });
}
