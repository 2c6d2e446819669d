// Up to ten runs over each other: one metric as curves, what differs between their specs, and how they ended.
import { api } from './api.js';
import { lineChart } from './charts.js';
import { COMPARE_AXES, MOST_COMPARED, ROUND_METRICS, comparePoints, compareSettings, metricTitle, runLabels } from './compare.js';
import { CompareData, POINTS_DRAWN } from './compare_data.js';
import { diffTable, valuesTable } from './compare_tables.js';
import { append, clear, coalesce, h, icon, isolated, svgEl } from './dom.js';
import { fmtCount, fmtDuration, fmtNumber, nameOr, shortId } from './format.js';
import { pressButton, titledSection } from './parts.js';
import { renewal } from './renewal.js';
import { go, placeUrl, setQuery } from './router.js';
import { roundsBetween, valuesThere } from './series.js';
import { session } from './session.js';
import { emptyState, loading, runStatus, stateBadge } from './states.js';
import { pickerField, steady } from './steady.js';
import { dataTable } from './table.js';
import { timeNode } from './time.js';
import { toast } from './toast.js';

const AXIS_TITLES = { round: 'Round', wall: 'Time since the start', steps: 'Steps done by all devices' };
const CSV_AXES = { round: 'round', wall: 'seconds', steps: 'steps' };
const COMPARE_RENEW_MS = 3000;
const CHOICES = 200;
const PICKER_DRAW_MS = 500;
const LIST_EVENTS = /^(run_|devices_frozen)/; // which runs there are, and how they stand
const TOLD_EVENTS = /^(run_|round_closed|devices_frozen|config_changed)/; // what changes a run as it is shown here

function axisOptions(x) {
    if (x === 'wall')
        return { title: AXIS_TITLES.wall, fmt: (s) => fmtDuration(s * 1000) };
    return { title: AXIS_TITLES[x], fmt: x === 'steps' ? (n) => fmtNumber(n, 4) : undefined };
}

// ---- which runs ----

function tooFewRuns(count) {
    const there = `Comparing takes two runs; there is ${count === 1 ? 'one' : 'none'}.`;
    const mayRun = session.can('run');
    return emptyState({ title: 'There is nothing to compare yet', level: 1,
        text: mayRun ? `${there} Make ${count === 1 ? 'another' : 'one'} here, or submit a spec from a shell:`
            : `${there} Whoever has a token of role operator submits one so:`,
        command: 'fedlane run submit SPEC.json',
        action: mayRun ? h('a', { class: 'button primary', href: '#/runs/new' }, icon('plus'), 'New run')
            : h('a', { class: 'button', href: '#/runs' }, 'All runs') });
}

class RunPicker {
    constructor(ctx) {
        this.ctx = ctx;
        this.chosen = compareSettings(ctx.query).runs;
        this.items = [];
        this.button = pressButton('Compare', () => this.compare(), { kind: 'primary', icon: icon('compare') });
        this.table = dataTable({
            label: 'Runs', select: { label: (r) => nameOr(r.name, shortId(r.id)) }, onSelect: (ids) => this.choose(ids), pageSize: 50,
            columns: [
                { id: 'name', title: 'Run', header: true, sortValue: (r) => r.name,
                    cell: (r) => h('a', { href: placeUrl(['runs', r.id]) }, isolated(nameOr(r.name, shortId(r.id)))) },
                { id: 'status', title: 'Status', sortValue: runStatus, cell: (r) => stateBadge(runStatus(r)) },
                { id: 'strategy', title: 'Strategy', sortValue: (r) => r.spec.strategy?.name,
                    cell: (r) => r.spec.strategy?.name ?? '–' },
                { id: 'rounds', title: 'Rounds', numeric: true, sortValue: (r) => r.round,
                    cell: (r) => `${fmtCount(r.round)} / ${fmtCount(r.num_rounds)}` },
                { id: 'created', title: 'Created', numeric: true, newestFirst: true, sortValue: (r) => r.created_at,
                    cell: (r) => timeNode(r.created_at) },
            ],
            sort: { id: 'created', dir: 'desc' },
        });
        ctx.host.append(loading());
        const renew = renewal(() => this.load(), COMPARE_RENEW_MS, ctx.signal);
        ctx.follow({ load: () => this.load(), onEvent: (event) => (LIST_EVENTS.test(event.type) ? renew() : this.take(event)) });
        this.draw = coalesce(() => this.table.update(this.items), PICKER_DRAW_MS, ctx.signal);
        this.choose(this.chosen);
    }

    async load() {
        const { items, next_cursor } = await api.get('/api/v1/runs', { signal: this.ctx.signal, query: { limit: CHOICES } });
        if (items.length < 2) {
            this.ctx.host.replaceChildren(tooFewRuns(items.length));
            return;
        }
        this.items = items;
        this.table.update(items);
        if (!this.table.node.isConnected) {
            this.table.select(this.chosen.filter((id) => items.some((run) => run.id === id)));
            const text = `Choose 2 to ${MOST_COMPARED} runs${next_cursor ? ` of the newest ${CHOICES}` : ''}.`;
            append(clear(this.ctx.host), h('div', { class: 'head' },
                h('div', null, h('h1', null, 'Compare'), h('p', null, text)), this.button), this.table.node);
        }
    }

    // How far they are comes with the event.
    take({ type, run_id: id, data }) {
        if (type !== 'round_closed' || data.type === 'final')
            return;
        this.items = this.items.map((run) => (run.id === id ? { ...run, round: Math.min(data.round + 1, run.num_rounds) } : run));
        this.draw();
    }

    choose(ids) {
        this.chosen = ids;
        this.button.disabled = ids.length < 2 || ids.length > MOST_COMPARED;
        this.button.title = ids.length > MOST_COMPARED ? `Select at most ${MOST_COMPARED} runs`
            : ids.length < 2 ? 'Select at least two runs' : '';
    }

    compare() {
        go(placeUrl(['compare'], { ...this.ctx.query, choose: null, runs: this.chosen.join(',') }));
    }
}

// The colour of a run's curve.
function runSwatch(i) {
    return svgEl('svg', { class: ['swatch', `series-${i % 8}`], width: 18, height: 8, viewBox: '0 0 18 8', 'aria-hidden': 'true' },
        svgEl('path', { d: 'M0 4h18', 'stroke-dasharray': i < 8 ? null : '6 4' }));
}

// ---- the comparison ----

class CompareView {
    constructor(ctx, settings) {
        Object.assign(this, { ctx, settings, data: new CompareData(settings.runs, ctx.signal), dirty: new Set(), chart: null });
        this.makePage();
        ctx.host.append(loading());
        this.refresh = renewal(() => this.renew(), COMPARE_RENEW_MS, ctx.signal);
        ctx.follow({ load: () => this.load(), onEvent: (event) => this.take(event) });
        ctx.signal.addEventListener('abort', () => this.chart?.destroy());
    }

    makePage() {
        const { settings } = this;
        this.notes = h('div', { class: 'stack' });
        this.runList = h('ul', { class: 'compare-runs', 'aria-label': 'Runs' });
        this.chartHost = h('div');
        this.diff = h('div');
        this.values = h('div');
        this.drawNotes = steady(this.notes);
        this.drawRuns = steady(this.runList);
        this.drawDiff = steady(this.diff);
        this.drawValues = steady(this.values);
        this.metricPick = pickerField({ id: 'compare-metric', title: 'Metric', choices: [], value: settings.metric,
            onChange: (metric) => this.set({ metric }) });
        const axis = pickerField({ id: 'compare-x', title: 'Over', choices: COMPARE_AXES.map((x) => [x, AXIS_TITLES[x]]),
            value: settings.x, onChange: (x) => this.set({ x }) });
        this.page = [
            h('div', { class: 'head' }, h('div', null, h('h1', null, 'Compare')), pressButton('Other runs', () => this.chooseOthers())),
            this.notes,
            this.runList,
            h('section', { class: 'panel stack', 'aria-label': 'Curves' },
                h('div', { class: 'filters compare-settings' }, this.metricPick.node, axis.node, this.makeSmoothing(), this.makeLog()),
                this.chartHost),
            titledSection('compare-diff', 'What differs between their specs', this.diff),
            titledSection('compare-last', 'Last values', this.values),
        ];
    }

    makeSmoothing() {
        const shown = h('output', { for: 'compare-smooth', class: 'num' }, String(this.settings.smooth));
        const input = h('input', { id: 'compare-smooth', type: 'range', min: 0, max: 0.99, step: 0.01,
            prop: { value: String(this.settings.smooth) }, on: { input: () => {
                shown.textContent = input.value;
                this.set({ smooth: Number(input.value) });
            } } });
        return h('div', { class: 'field' }, h('label', { for: 'compare-smooth' }, 'Smoothing ', shown), input);
    }

    makeLog() {
        const input = h('input', { id: 'compare-log', type: 'checkbox', prop: { checked: this.settings.log },
            on: { change: () => this.set({ log: input.checked }) } });
        return h('label', { class: 'check', for: 'compare-log' }, input, 'Logarithmic scale');
    }

    async set(changes) {
        Object.assign(this.settings, changes);
        setQuery(this.query());
        try {
            await this.data.complete(this.settings);
            this.showChart();
        } catch (error) {
            if (!this.ctx.signal.aborted)
                toast(`The curves could not be loaded: ${error.message}`, 'bad');
        }
    }

    async load() {
        const { ctx, data } = this;
        await data.load(this.settings);
        if (data.shown.length === 0 && data.missing.size > 0)
            throw [...data.missing.values()][0];
        this.show();
        data.loadNames().then(() => ctx.signal.aborted || this.showMetrics(), () => {});
    }

    take(event) {
        if (this.data.runs.has(event.run_id) && TOLD_EVENTS.test(event.type)) {
            this.dirty.add(event.run_id);
            this.refresh();
        }
    }

    // Only the runs of which something has come, and of those only what is shown.
    async renew() {
        const { data, settings, ctx } = this;
        const ids = [...this.dirty];
        this.dirty.clear();
        try {
            await Promise.all(ids.map((id) => data.reload(id, settings)));
            await data.complete(settings);
            if (!ctx.signal.aborted)
                this.show();
        } catch (error) {
            ids.forEach((id) => this.dirty.add(id));
            throw error;
        }
    }

    show() {
        const { ctx } = this;
        if (ctx.signal.aborted)
            return;
        if (!this.chartHost.isConnected)
            append(clear(ctx.host), this.page);
        this.showNotes();
        this.showRuns();
        this.showMetrics();
        this.showChart();
        const runs = this.data.shown;
        const labels = runLabels(runs);
        this.drawDiff(JSON.stringify([labels, runs.map((r) => r.config)]), () => diffTable(runs, labels));
        const values = JSON.stringify([labels, runs.map((r) => [r.metrics, r.round, r.status])]);
        this.drawValues(values, () => valuesTable(runs, labels));
    }

    showNotes() {
        const { missing, shown } = this.data;
        const gone = [...missing].map(([id, error]) => `Run ${shortId(id)} is not shown: ${error.message}`);
        const alone = shown.length === 1 ? ['One run alone: choose others with “Other runs”'] : [];
        const all = [...this.settings.wrong, ...gone, ...alone];
        this.drawNotes(JSON.stringify(all), () => all.map((text) => (
            h('p', { class: 'note warn' }, icon('alert'), h('span', null, isolated(text))))));
    }

    showRuns() {
        const runs = this.data.shown;
        const labels = runLabels(runs);
        this.drawRuns(JSON.stringify(runs.map((r) => [r.name, runStatus(r), r.round])), () => runs.map((run, i) => h('li', null,
            runSwatch(i),
            h('a', { href: placeUrl(['runs', run.id]) }, isolated(labels[i])), stateBadge(runStatus(run)),
            h('span', { class: 'muted num rounds' }, `${fmtCount(run.round)} of ${fmtCount(run.num_rounds)} rounds`),
            runs.length > 1 ? pressButton(null, () => this.leaveOut(run.id),
                { kind: 'quiet icon-only', icon: icon('close'), label: `Leave out ${labels[i]}` }) : null)));
    }

    leaveOut(id) {
        go(placeUrl(['compare'], { ...this.query(), runs: this.settings.runs.filter((one) => one !== id).join(',') }));
    }

    chooseOthers() {
        go(placeUrl(['compare'], { ...this.query(), runs: this.settings.runs.join(','), choose: '1' }));
    }

    query() {
        const { metric, x, smooth, log } = this.settings;
        return { metric, x: x === 'round' ? null : x, smooth: smooth || null, log: log ? '1' : null };
    }

    showMetrics() {
        const { metric } = this.settings;
        this.metricPick.fill(this.data.metricNames(metric).map((name) => [name, metricTitle(name)]), metric);
    }

    series() {
        const runs = this.data.shown;
        const labels = runLabels(runs);
        const curve = (run) => this.data.curve(run.id, this.settings) ?? [];
        const { metric } = this.settings;
        const every = (run) => roundsBetween(metric, { ...run.spec?.evaluation, ...run.config?.evaluation });
        return runs.map((run, i) => ({ name: labels[i], points: comparePoints(curve(run), this.settings, run),
            there: valuesThere(curve(run), POINTS_DRAWN, every(run)) }));
    }

    showChart() {
        const { settings, ctx } = this;
        if (ctx.signal.aborted)
            return;
        const title = metricTitle(settings.metric);
        ctx.setTitle(`Compare ${title.toLowerCase()}`);
        const options = { title, x: axisOptions(settings.x), y: { title }, series: this.series(), log: settings.log, height: 420,
            file: { name: `compare-${settings.metric}-by-${settings.x}`, x: CSV_AXES[settings.x], isShown: true,
                all: ROUND_METRICS.has(settings.metric) ? 'GET /api/v1/runs/RUN/rounds' : '“Metrics as CSV” on the page of each run' },
            emptyText: 'None of these runs has this metric yet. Choose another, or wait for the first round to close.' };
        if (this.chart) {
            this.chart.update(options);
        } else {
            this.chart = lineChart(this.chartHost, options);
        }
    }
}

export function viewCompare(ctx) {
    const settings = compareSettings(ctx.query);
    const isChoice = ctx.query.choose === '1' || (settings.runs.length === 0 && settings.wrong.length === 0);
    return isChoice ? new RunPicker(ctx) : new CompareView(ctx, settings);
}
