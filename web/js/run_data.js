// Everything about one run that its page shows, kept up to date by events: a curve, a cell or a number arrives without
// asking again for the rest.
import { api, apiPath } from './api.js';
import { countTexts } from './fleet.js';
import { parseNumber } from './format.js';
import { troubleOf } from './run_trouble.js';
import { curvesOf, roundsBetween, thinPoints, valuesThere } from './series.js';
import { createWork } from './work.js';

const MAX_POINTS = 500; // of a curve: a chart is about as many pixels wide
const WINDOW = 500; // rounds of one request
const MOST_CELLS = 1000000;
// What is drawn of a round besides its cells, as GET /runs/{run}/work says it.
const ROUND_NUMBERS = ['proximal_mu', 'mean_gamma', 'dissimilarity_b', 'grad_variance_weighted',
    'grad_variance_uniform', 'duration_ms', 'bytes_in', 'bytes_out', 'train_loss', 'test_accuracy'];

const DEADLINE_EVENTS = { round_opened: true, training_started: true, round_extended: true };

function hasCome(round, run) {
    return round < run.round || (round === run.round && run.status !== 'pending' && run.status !== 'waiting_for_devices');
}

// The first round whose cells are kept: of a very long run only its end.
export function firstKept(run, selected) {
    return Math.max(0, run.round + 1 - Math.floor(MOST_CELLS / Math.max(1, selected)));
}

// While a round is open, its bytes still grow: only mu is settled.
function numbersOf(item) {
    const settled = item.status === 'closed' ? ROUND_NUMBERS : ['proximal_mu'];
    return Object.fromEntries(settled.map((name) => [name, parseNumber(item[name])]));
}

export class RunData {
    constructor(id, signal) {
        this.id = id;
        this.signal = signal;
        this.run = null;
        this.curves = new Map();
        this.numbers = new Map();
        this.work = createWork();
        this.dirty = Infinity;
        this.isWhole = false; // all that is kept of the work has been read
        this.failure = null;
        this.deadline = null;
        this.deadlines = 0; // how often it was set anew
    }

    get(...path) {
        const query = typeof path[path.length - 1] === 'object' ? path.pop() : {};
        return api.get(apiPath('runs', this.id, ...path), { query, signal: this.signal });
    }

    get selected() {
        const { spec } = this.run;
        return Math.round((spec.selection?.devices_per_round ?? 10) * (spec.selection?.over_selection ?? 1));
    }

    async loadRun() {
        this.learn(await this.get());
    }

    // Replies may come out of order: what knows more events stays.
    learn(run) {
        if (!this.run || run.last_event >= this.run.last_event)
            this.run = run;
    }

    async loadCurves() {
        const { items } = await this.get('metrics', { device: 'aggregate', max_points: MAX_POINTS });
        const former = this.curves;
        this.curves = curvesOf(items);
        for (const [name, curve] of former)
            this.addNewer(name, curve);
    }

    // What events have told while the server still wrote its answer.
    addNewer(name, points) {
        const curve = this.curves.get(name) ?? [];
        const last = curve.length > 0 ? curve[curve.length - 1].round : -1;
        const newer = points.filter((p) => p.round > last);
        if (newer.length > 0)
            this.curves.set(name, [...curve, ...newer]);
    }

    // The newest rounds first, so that the page shows the present while the past comes in. onPart after each piece.
    async loadWork(onPart) {
        const first = firstKept(this.run, this.selected);
        this.work.dropBefore(first);
        for (let end = this.run.round + 1; end > first; end -= WINDOW) {
            const since = Math.max(first, end - WINDOW);
            await this.loadRounds(since, end - 1, onPart);
        }
        this.isWhole = true;
    }

    get trouble() {
        return this.isWhole ? troubleOf(this.work) : null;
    }

    // Why tasks of the first round with failed ones failed; asked for once.
    get needsFailure() {
        const round = this.trouble?.firstFailed ?? null;
        return round !== null && this.failure?.round !== round;
    }

    async loadFailure() {
        const round = this.trouble?.firstFailed ?? null;
        if (round === null)
            return;
        this.failure = { round, codes: [] }; // where it cannot be read, the note stands without
        const { items } = await this.get('rounds', String(round), 'tasks', { type: 'train', limit: 100 });
        this.failure = { round, codes: countTexts(items.filter((task) => task.status === 'failed' && task.code).map((task) => task.code)) };
    }

    // Whether it is not known until when the open round waits.
    get needsDeadline() {
        const { run, deadline } = this;
        const row = this.work.get(run.round);
        return run.status === 'running' && Boolean(row) && row.status !== 'closed' && deadline?.round !== run.round;
    }

    // A round that selects by loss gets the deadline that closes it when its training starts.
    async loadDeadline() {
        const turn = this.deadlines;
        const { round, type, status, grace_until: until, extensions } = await this.get('rounds', String(this.run.round));
        if (turn === this.deadlines && (type === 'final' || status === 'training'))
            this.deadline = { round, until, extensions, isFinal: type === 'final' };
    }

    // A page ends early where its rounds have many devices.
    async loadRounds(first, last, onPart) {
        for (let since = first; since <= last;) {
            const { items, next_cursor: more } = await this.get('work', { since_round: since, limit: Math.min(WINDOW, last - since + 1) });
            this.putWork(items);
            onPart();
            if (items.length === 0 || !more)
                return;
            since = items[items.length - 1].round + 1;
        }
    }

    putWork(items) {
        for (const item of items) {
            this.work.put(item);
            if (item.round >= this.work.first)
                this.numbers.set(item.round, numbersOf(item));
        }
        this.forgetOld();
    }

    // A page may stay open for days.
    forgetOld() {
        while (this.work.cells > MOST_CELLS * 1.1) {
            const next = this.work.first + Math.ceil((this.work.last + 1 - this.work.first) / 10);
            for (let round = this.work.first; round < next; round++)
                this.numbers.delete(round);
            this.work.dropBefore(next);
        }
    }

    // Whether the curves have grown so that the server should thin them again.
    get isThick() {
        return [...this.curves.values()].some((curve) => curve.length > 4 * MAX_POINTS);
    }

    // Whether the page should ask again for the rounds that events told too little about.
    get isDirty() {
        return this.dirty < Infinity;
    }

    async refreshWork() {
        const since = this.dirty;
        this.dirty = Infinity;
        try {
            await this.loadRounds(since, Infinity, () => {});
            this.isWhole = this.isWhole || since <= firstKept(this.run, this.selected);
        } catch (error) {
            this.dirty = Math.min(this.dirty, since);
            throw error;
        }
    }

    // All rounds again.
    markAll() {
        this.dirty = firstKept(this.run, this.selected);
    }

    // The open round again: how far its devices are comes with no event.
    markOpenRound() {
        if (this.run && this.run.status === 'running' && hasCome(this.run.round, this.run))
            this.dirty = Math.min(this.dirty, this.run.round);
    }

    apply(event) {
        const round = this.work.apply(event);
        if (round !== null && round !== undefined)
            this.dirty = Math.min(this.dirty, round);
        if (DEADLINE_EVENTS[event.type]) {
            this.deadline = null;
            this.deadlines += 1;
        }
        if (event.type === 'round_closed')
            this.addPoints(event);
    }

    addPoints({ data, at }) {
        for (const [name, value] of Object.entries(data.metrics ?? {})) {
            const curve = this.curves.get(name) ?? [];
            this.curves.set(name, curve);
            if (curve.length === 0 || curve[curve.length - 1].round < data.round)
                curve.push({ round: data.round, value: parseNumber(value), at });
        }
    }

    // A number that every round has, as lineChart wants it: [[round, value]]; rounds without it are left out.
    numberSeries(name) {
        const points = [...this.numbers.entries()].filter(([, n]) => n[name] !== null && n[name] !== undefined)
            .map(([round, n]) => [round, n[name]]).sort((a, b) => a[0] - b[0]);
        return { points: thinPoints(points, MAX_POINTS), there: points.length };
    }

    curvePoints(name) {
        return (this.curves.get(name) ?? []).map((p) => [p.round, p.value]);
    }

    curveSeries(name) {
        const evaluation = { ...this.run?.spec.evaluation, ...this.run?.config?.evaluation };
        return { points: this.curvePoints(name),
            there: valuesThere(this.curves.get(name) ?? [], MAX_POINTS, roundsBetween(name, evaluation)) };
    }
}
