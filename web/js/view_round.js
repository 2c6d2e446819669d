// One round, live while it is open: its figures, the Gantt of its tasks, what it measured.
import { api, apiPath } from './api.js';
import { commandBox, curlLine } from './command.js';
import { append, clear, h, isolated, quantity } from './dom.js';
import { fmtCount, fmtLoss, fmtNumber, fmtPercent, nameOr } from './format.js';
import { isAbort } from './http.js';
import { renewal } from './renewal.js';
import { roundHead } from './round_head.js';
import { roundRows } from './round_rows.js';
import { roundTable } from './round_table.js';
import { placeUrl, setQuery } from './router.js';
import { emptyState, errorState, loading } from './states.js';
import { serverNow } from './time.js';
import { noSuchRun } from './view_run.js';

const ROUND_ASK_MS = 1000;
const OPEN_MS = 2000;
const ROUND_ASK_SHARE = 300; // a round of very many tasks is asked for more rarely: so many times as long as it takes
const MOST_TASKS = 5000;

function metricText(name, value) {
    if (/accuracy/.test(name))
        return fmtPercent(value);
    return /loss/.test(name) ? fmtLoss(value) : fmtNumber(value);
}

function metricTable(metrics) {
    const names = Object.keys(metrics).sort();
    if (names.length === 0)
        return h('p', { class: 'muted' }, 'This round has no measurements.');
    return h('div', { class: 'table-box', tabindex: 0, role: 'region', 'aria-label': 'Measurements' }, h('table', { class: 'table' },
        h('caption', { class: 'unseen' }, 'Measurements over all devices'),
        h('thead', null, h('tr', null, h('th', { scope: 'col' }, h('span', null, 'Metric')),
            h('th', { scope: 'col', class: 'numeric' }, h('span', null, 'Value')))),
        h('tbody', null, names.map((name) => h('tr', null, h('th', { scope: 'row' }, isolated(name)),
            h('td', { class: 'numeric' }, quantity(metricText(name, metrics[name]))))))));
}

const msOf = (iso) => (iso ? Date.parse(iso) : NaN);

// One round that has been opened, n or after it; none: an empty list.
async function roundsFrom(ctx, n) {
    const query = { since_round: n, limit: 1 };
    return (await api.get(apiPath('runs', ctx.place.run, 'work'), { query, signal: ctx.signal })).items;
}

class RoundPage {
    constructor(ctx, n) {
        Object.assign(this, { ctx, n, run: null, round: null, tasks: { train: null, evaluate: null }, hasNext: false, took: 0, turn: 0 });
        this.type = ctx.query.tasks === 'evaluate' ? 'evaluate' : 'train';
        this.head = roundHead();
        this.tables = null;
        this.tableBox = h('div');
        this.state = h('div', { hidden: true });
        this.tabs = { train: this.tab('train'), evaluate: this.tab('evaluate') };
        this.more = h('p', { class: 'muted small', hidden: true });
        this.metrics = h('section', { class: 'panel stack', 'aria-labelledby': 'round-metrics' });
        const path = apiPath('runs', ctx.place.run, 'rounds', String(n));
        this.node = h('div', { class: 'stack' }, this.head.node,
            h('section', { class: 'panel stack', 'aria-labelledby': 'round-tasks' },
                h('div', { class: 'row panel-head' }, h('h2', { id: 'round-tasks' }, 'Tasks'),
                    h('div', { class: 'row', role: 'group', 'aria-label': 'Which tasks' }, this.tabs.train, this.tabs.evaluate)),
                this.tableBox, this.state, this.more),
            h('div', { class: 'cols-2' }, this.metrics, h('section', { class: 'panel stack', 'aria-labelledby': 'round-curl' },
                h('h2', { id: 'round-curl' }, 'With curl'), commandBox(curlLine('GET', path)),
                commandBox(curlLine('GET', `${path}/tasks?limit=1000`)))));
    }

    tab(type) {
        return h('button', { type: 'button', class: 'button', on: { click: () => this.choose(type) } });
    }

    async choose(type) {
        this.type = type;
        setQuery({ tasks: type === 'train' ? null : type });
        this.paint();
        try {
            await this.loadTasks();
        } catch (error) {
            if (isAbort(error) || this.tasks[type])
                return; // what stands there is as old as before; the next event renews it
            this.state.replaceChildren(errorState(error, () => this.choose(type), 3));
        }
    }

    get(...path) {
        return api.get(apiPath('runs', this.ctx.place.run, ...path), { signal: this.ctx.signal });
    }

    // Once there is a next round there always is.
    async loadNext() {
        if (!this.hasNext)
            this.hasNext = (await roundsFrom(this.ctx, this.n + 1)).length > 0;
    }

    async load() {
        const begin = performance.now();
        const turn = ++this.turn;
        const [run, round] = await Promise.all([this.get(), this.get('rounds', String(this.n))]);
        if (turn !== this.turn)
            return;
        Object.assign(this, { run, round });
        if (round.type === 'final')
            this.type = 'evaluate';
        // There is no other round while one is open.
        await Promise.all([this.readTasks(), this.isOpen ? null : this.loadNext()]);
        this.took = performance.now() - begin;
        this.paint();
    }

    async loadTasks() {
        await this.readTasks();
        this.paint();
    }

    async readTasks() {
        const { type } = this;
        const path = apiPath('runs', this.ctx.place.run, 'rounds', String(this.n), 'tasks');
        const tasks = await api.all(path, { query: { type }, max: MOST_TASKS, signal: this.ctx.signal });
        this.tasks[type] = tasks;
    }

    get isOpen() {
        return this.round !== null && this.round.status !== 'closed';
    }

    get counts() {
        return { train: this.round.selected, evaluate: this.round.evaluators };
    }

    // What the columns are the round's settings say.
    makeTables() {
        const asksGamma = Boolean((this.round.config ?? this.run.spec).evaluation?.gamma);
        this.tables = { train: roundTable('train', asksGamma, 'No device was selected to train in this round.'),
            evaluate: roundTable('evaluate', false, 'No device was asked only to evaluate in this round.') };
        this.tableBox.append(this.tables.train.node, this.tables.evaluate.node);
    }

    paint() {
        const { run, round } = this;
        if (!this.tables)
            this.makeTables();
        this.ctx.setTitle(`Round ${this.n} of ${nameOr(run.name, 'a run')}`);
        this.head.update(run, round, this.hasNext);
        for (const [type, words] of [['train', 'Training'], ['evaluate', 'Evaluation']]) {
            const text = `${words} (${fmtCount(this.counts[type])})`;
            if (this.tabs[type].textContent !== text)
                this.tabs[type].textContent = text;
            this.tabs[type].setAttribute('aria-pressed', String(this.type === type));
            this.tabs[type].hidden = this.counts[type] === 0 && this.type !== type;
            this.tables[type].node.hidden = this.type !== type || !this.tasks[type];
        }
        this.paintTasks();
        this.paintMetrics();
    }

    paintTasks() {
        const { round, type } = this;
        const tasks = this.tasks[type];
        this.more.hidden = !tasks?.isMore;
        if (!tasks && this.state.hidden)
            this.state.replaceChildren(loading('Loading the tasks…', () => this.choose(type)));
        this.state.hidden = Boolean(tasks);
        if (!tasks)
            return;
        const end = msOf(round.closed_at);
        const laid = roundRows(tasks, type, { now: serverNow(), roundStart: msOf(round.opened_at), roundEnd: end });
        this.tables[type].update({ ...laid, marks: [msOf(round.deadline_at)].filter((t) => t <= laid.end) });
        this.more.textContent = `These are the first ${fmtCount(tasks.length)} tasks; curl gives all.`;
    }

    paintMetrics() {
        const key = JSON.stringify(this.round.metrics);
        if (this.metrics.dataset.key === key)
            return;
        this.metrics.dataset.key = key;
        append(clear(this.metrics), h('h2', { id: 'round-metrics' }, 'Measured'),
            h('p', { class: 'muted small' }, 'Of the model that the round starts from, over all devices that evaluated it.'),
            metricTable(this.round.metrics));
    }
}

// newest: the number of the newest round, -1 where there is none.
function noSuchRound(run, n, newest) {
    const isToCome = n > newest && n <= run.num_rounds && run.status !== 'finished';
    const text = newest < 0 ? `No round of this run has been opened yet: ${run.status_reason || run.status}.`
        : `The newest round of this run is ${newest}; ${run.num_rounds} are planned.`;
    return emptyState({
        title: isToCome ? `Round ${n} is still to come` : 'There is no such round',
        text: isToCome ? `${text} This page shows it as soon as it opens.` : text,
        action: h('div', { class: 'row' }, h('a', { class: 'button', href: placeUrl(['runs', run.id]) }, 'The run'),
            newest >= 0 ? h('a', { class: 'button', href: placeUrl(['runs', run.id, 'rounds', newest]) }, `Round ${newest}`) : null),
    });
}

async function newestRound(ctx, run) {
    for (const n of [run.round, run.round - 1]) {
        if (n >= 0 && (await roundsFrom(ctx, n)).length > 0)
            return n;
    }
    return -1;
}

// What stands on the page where the round cannot be read: of a run that is not there, or of a round that is not there.
async function showMissing(ctx, n) {
    try {
        const run = await api.get(apiPath('runs', ctx.place.run), { signal: ctx.signal });
        ctx.host.replaceChildren(noSuchRound(run, n, await newestRound(ctx, run)));
    } catch (error) {
        if (error.status !== 404)
            throw error;
        ctx.host.replaceChildren(noSuchRun(ctx.place.run));
    }
}

export function viewRound(ctx) {
    const n = /^\d{1,7}$/.test(ctx.place.round) ? Number(ctx.place.round) : NaN;
    const page = new RoundPage(ctx, n);
    ctx.host.append(loading('Loading the round…'));
    const load = async () => {
        try {
            await page.load();
        } catch (error) {
            if (error.status !== 404 && error.status !== 400)
                throw error;
            await showMissing(ctx, n);
            return;
        }
        if (page.round && !page.node.isConnected)
            ctx.host.replaceChildren(page.node);
    };
    const fail = (error) => error.status === 404 && ctx.fail(error);
    const renew = renewal(load, () => Math.max(ROUND_ASK_MS, ROUND_ASK_SHARE * page.took), ctx.signal, fail);
    const renewSoon = renewal(load, ROUND_ASK_MS, ctx.signal, fail);
    const findNext = renewal(async () => {
        await page.loadNext();
        page.paint();
    }, ROUND_ASK_MS, ctx.signal, fail);
    const timer = setInterval(() => document.hidden || !page.isOpen || renew(), OPEN_MS);
    ctx.signal.addEventListener('abort', () => clearInterval(timer));
    ctx.follow({ load, onEvent: ({ type, data }) => {
        if (type.startsWith('run_') || (data.round === n && type.startsWith('round_')))
            renewSoon();
        else if (data.round === n)
            renew();
        else if (type === 'round_opened' && page.round && !page.hasNext)
            findNext();
    } });
}
