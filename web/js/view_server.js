// How the server is: its health, how quick it answers, what it keeps and what waits. Asked for only while somebody looks.
import { api } from './api.js';
import { append, clear, h, quantity, svgEl } from './dom.js';
import { fmtBytes, fmtCount, fmtDuration, fmtNumber } from './format.js';
import { reportBug, unreadable } from './http.js';
import { curlDetails, titledSection } from './parts.js';
import { parseProm } from './prom.js';
import { lookAgain } from './renewal.js';
import { buildFacts, keepFacts, routeFacts, serverFacts } from './server_facts.js';
import { sparkline } from './sparkline.js';
import { loading, stateBadge } from './states.js';
import { dataTable } from './table.js';

const LOOK_MS = 5000;
const FIRST_LOOK_MS = 1500; // rates need two looks
const KEPT_MS = 10 * 60 * 1000;

function quantileText(quantile) {
    if (!quantile)
        return '–';
    const ms = quantile.value * 1000;
    const text = ms < 10 ? `${fmtNumber(ms, 2)} ms` : fmtDuration(ms);
    return quantile.isMore ? `over ${text}` : text;
}

function rateText(perSecond, unit = '/s') {
    return Number.isFinite(perSecond) ? `${fmtNumber(perSecond, 3)} ${unit}` : '–';
}

function bytesRate(perSecond) {
    return Number.isFinite(perSecond) ? `${fmtBytes(perSecond)}/s` : '–';
}

// What is shown at a glance: title, figure, what its course is made of, and what it means.
const GLANCES = [
    { title: 'Requests', text: (f) => rateText(f.quick.perSecond), course: (f) => f.quick.perSecond,
        hint: 'Answered a second, without those that wait for events or work' },
    { title: 'Half are answered within', text: (f) => quantileText(f.quick.p50), course: (f) => f.quick.p50?.value,
        hint: 'Median time of a request' },
    { title: '99 % within', text: (f) => quantileText(f.quick.p99), course: (f) => f.quick.p99?.value,
        hint: '99th percentile of the time of a request' },
    { title: 'Memory', text: (f) => fmtBytes(f.memory), course: (f) => f.memory, hint: 'Resident memory of the process' },
    { title: 'Database', text: (f) => fmtBytes(f.database), course: (f) => f.database,
        hint: 'Runs, rounds, tasks, devices: fedlane.db' },
    { title: 'Weights', text: (f) => fmtBytes(f.weights), course: (f) => f.weights,
        hint: 'Models and updates that are kept: blobs.db' },
    { title: 'Writer queue', text: (f) => fmtCount(f.queue), course: (f) => f.queue,
        hint: 'Operations that wait for the writer thread' },
    { title: 'Writes', text: (f) => rateText(f.operations.perSecond), course: (f) => f.operations.perSecond,
        hint: 'Operations that change the database' },
    { title: 'Commits', text: (f) => rateText(f.commits.perSecond), course: (f) => f.commits.perSecond,
        hint: 'Many operations share one commit' },
    { title: 'Connections', text: (f) => fmtCount(f.connections), course: (f) => f.connections, hint: 'Open connections' },
    { title: 'Waiters', text: (f) => fmtCount(f.waiters), course: (f) => f.waiters, hint: 'Parked long-polls and event streams' },
    { title: 'Received', text: (f) => bytesRate(f.received.perSecond), course: (f) => f.received.perSecond,
        hint: 'Bodies of requests' },
    { title: 'Sent', text: (f) => bytesRate(f.sent.perSecond), course: (f) => f.sent.perSecond, hint: 'Bodies of replies' },
    { title: 'Rounds', text: (f) => fmtCount(f.rounds.total), course: (f) => f.rounds.total,
        hint: 'That made a model version, over all runs' },
];

function waitingTag() {
    const title = 'Its time says how long it waited, not how quick the server is';
    return h('span', { class: 'tag waits-tag', title }, 'waits on purpose');
}

const ROUTE_COLUMNS = [
    { id: 'route', title: 'Route', header: true, sortValue: (r) => r.route,
        cell: (r) => [h('code', null, r.route), ' ', r.isWaiting ? waitingTag() : null] },
    { id: 'rate', title: 'Rate', numeric: true, sortValue: (r) => r.perSecond, cell: (r) => quantity(rateText(r.perSecond)) },
    { id: 'p50', title: 'Median', numeric: true, sortValue: (r) => r.p50?.value ?? null,
        cell: (r) => quantity(quantileText(r.p50)) },
    { id: 'p99', title: '99 %', numeric: true, sortValue: (r) => r.p99?.value ?? null,
        cell: (r) => quantity(quantileText(r.p99)) },
    { id: 'failed', title: 'Failed', numeric: true, hint: 'Answered with 5xx, or left by the client before its reply',
        sortValue: (r) => r.failed, cell: (r) => fmtCount(r.failed) },
    { id: 'total', title: 'Since the start', numeric: true, sortValue: (r) => r.total, cell: (r) => fmtCount(r.total) },
];

function glanceNode({ title, hint }) {
    const figure = h('dd');
    const course = h('span', { class: 'glance-course' });
    return { figure, course, node: h('div', { class: 'glance', title: hint }, h('dt', null, title), figure, course) };
}

// As wide as what will stand there.
function emptySpark() {
    return svgEl('svg', { class: 'spark', width: 72, height: 22, 'aria-hidden': 'true' });
}

class ServerView {
    constructor(ctx) {
        Object.assign(this, { ctx, last: null, history: [], isFirst: true });
        this.table = dataTable({ columns: ROUTE_COLUMNS, label: 'Routes', key: (r) => r.route,
            sort: { id: 'rate', dir: 'desc' }, empty: 'No request yet.' });
        this.makePage();
        ctx.host.append(loading());
        this.again = lookAgain(() => this.look(), ctx.signal);
        this.again(0);
    }

    makePage() {
        this.health = h('p', { class: 'row', role: 'status' });
        this.version = h('span');
        this.glances = GLANCES.map(glanceNode);
        this.windowText = h('p', { class: 'muted small' });
        this.page = [
            h('div', { class: 'head' }, h('div', null, h('h1', null, 'Server'), this.health), this.version),
            h('dl', { class: 'glances', 'aria-label': 'Figures' }, this.glances.map((g) => g.node)),
            titledSection('server-routes', 'Routes', [this.windowText, this.table.node]),
            curlDetails('/metrics', '/readyz'),
        ];
    }

    async look() {
        const { signal } = this.ctx;
        try {
            const [text, health] = await Promise.all([api.text('/metrics', 'text/plain', { signal }), this.askHealth()]);
            const samples = parseProm(text);
            if (samples.size === 0)
                throw unreadable('The server\'s figures are not what they should be. Is there something between this page and the server?');
            this.take(samples, health);
        } catch (error) {
            if (signal.aborted)
                return;
            reportBug(error);
            this.lost(error);
        }
        this.again(this.history.length > 1 ? LOOK_MS : FIRST_LOOK_MS);
    }

    // Each of the two says itself what is wrong.
    async askHealth() {
        const ask = async (path) => {
            try {
                await api.get(path, { signal: this.ctx.signal });
                return null;
            } catch (error) {
                return error;
            }
        };
        const [alive, ready] = await Promise.all([ask('/healthz'), ask('/readyz')]);
        return { alive, ready };
    }

    take(samples, health) {
        const now = { at: performance.now(), samples };
        const facts = serverFacts(this.last, now);
        this.history = keepFacts(this.history, facts, KEPT_MS);
        if (this.history.length === 1 && this.last) {
            this.last = null; // it has started again
        }
        this.show(facts, now, health);
        this.last = now;
    }

    lost(error) {
        if (this.isFirst) {
            this.ctx.fail(error, () => this.look());
            return;
        }
        append(clear(this.health), stateBadge('failed', `The server does not answer: ${error.message}`));
    }

    show(facts, now, { alive, ready }) {
        if (!this.table.node.isConnected) {
            append(clear(this.ctx.host), this.page);
            this.isFirst = false;
        }
        const bad = alive ?? ready;
        append(clear(this.health), bad
            ? stateBadge('failed', `It answers, but ${alive ? 'is not well' : 'its database cannot be read'}: ${bad.message}`)
            : stateBadge('completed', 'It answers and its database can be read.'));
        const build = buildFacts(now.samples);
        append(clear(this.version), h('span', { class: 'tag' }, `version ${build.version ?? 'unknown'}`));
        GLANCES.forEach((glance, i) => this.showGlance(this.glances[i], glance, facts));
        this.windowText.textContent = this.last
            ? `Rates and times are of the last ${fmtDuration(now.at - this.last.at)}; times come from a histogram's steps.`
            : 'Times are since the server started; rates come with the next look, in a few seconds.';
        this.table.update(routeFacts(this.last, now));
    }

    showGlance({ figure, course }, { text, course: value, title }, facts) {
        append(clear(figure), quantity(text(facts)));
        const values = this.history.map((f) => value(f) ?? null);
        clear(course).append(values.length > 1 ? sparkline(values) : emptySpark());
        course.title = values.length > 1 ? `${title}, the last ${fmtDuration(facts.at - this.history[0].at)}` : '';
    }
}

export function viewServer(ctx) {
    return new ServerView(ctx);
}
