// The fleet: all devices, how fast each is for the data it has, and the workers they live in.
import { api } from './api.js';
import { countBars, deviceColumns, speedText, workerColumns } from './device_cells.js';
import { append, clear, h, isolated } from './dom.js';
import {
    DEVICE_STATUSES, countTexts, eventPause, fleetFilter, gentlePause, labelCounts, passesFilter, runsOfDevices, speedPoints, statusCounts,
} from './fleet.js';
import { countOf, fmtCount } from './format.js';
import { pressButton, titledSection } from './parts.js';
import { go, placeUrl, setQuery } from './router.js';
import { lookAgain, renewal } from './renewal.js';
import { RunNames } from './run_names.js';
import { scatter } from './scatter.js';
import { emptyState, loading, stateBadge } from './states.js';
import { pickerField, steady } from './steady.js';
import { dataTable } from './table.js';

const MOST_DEVICES = 10000;
const FLEET_EVENTS = /^(device|worker)_/; // what devices work on is renewed by time: rounds close too often
const MOST_LABELS = 12;

function statusChoices(counts) {
    const count = (n) => (counts ? ` (${fmtCount(n)})` : '');
    const all = counts ? DEVICE_STATUSES.reduce((sum, s) => sum + counts[s], 0) : 0;
    return [['serving', `Not revoked${count(all - (counts?.revoked ?? 0))}`],
        ...DEVICE_STATUSES.map((s) => [s, s.charAt(0).toUpperCase() + s.slice(1) + count(counts?.[s])]), ['all', `All${count(all)}`]];
}

class FleetView {
    constructor(ctx) {
        Object.assign(this, { ctx, filter: fleetFilter(ctx.query), devices: [], workers: new Map(), turn: 0 });
        this.runNames = new RunNames(ctx.signal);
        const sort = /^(\w+)\.(asc|desc)$/.exec(ctx.query.sort ?? '');
        this.table = dataTable({
            columns: deviceColumns(() => this), label: 'Devices', pageSize: 100,
            sort: sort ? { id: sort[1], dir: sort[2] } : { id: 'name', dir: 'asc' },
            empty: 'No device matches these filters.', onSort: ({ id, dir }) => setQuery({ sort: `${id}.${dir}` }),
        });
        this.workerTable = dataTable({ columns: workerColumns(), label: 'Workers', sort: { id: 'name', dir: 'asc' },
            empty: 'No worker is enrolled; these devices came by themselves.' });
        this.makePage();
        ctx.host.append(loading());
        ctx.follow({ load: () => this.load(), onEvent: (event) => FLEET_EVENTS.test(event.type) && this.refresh() });
        this.again = lookAgain(() => this.load(), ctx.signal);
        this.refresh = renewal(() => this.load(), () => eventPause(this.pause), ctx.signal);
        ctx.signal.addEventListener('abort', () => this.plot.destroy());
    }

    makePage() {
        this.summary = h('p');
        this.statuses = h('dl', { class: 'facts' });
        this.labels = h('div', { class: 'stack' });
        this.drawLabels = steady(this.labels);
        this.note = h('p', { class: 'note', hidden: true });
        const plotHost = h('div');
        this.plot = scatter(plotHost, {
            kinds: ['revoked', 'offline', 'suspect', 'online'], xTitle: 'Examples to train with', yTitle: 'steps/s',
            hint: 'Both axes are logarithmic. Point at a device to read it, click to open it.',
            empty: 'No device shown here has a measured speed yet; it comes with its first training.',
            label: (points) => `Speed against data size of ${countOf(points.length, 'device')}; the table below has the same figures.`,
            tell: (p) => `${speedText(p.y)} steps/s, ${fmtCount(p.x)} examples, ${p.kind}`,
            open: (p) => go(placeUrl(['devices', p.key])),
        });
        this.top = h('div', { class: 'fleet-top' },
            titledSection('fleet-status', 'Status', [this.statuses, this.labels], 'panel fleet-status'),
            titledSection('fleet-plot', 'Speed against data size', plotHost, 'panel fleet-plot'));
        this.page = [
            h('div', { class: 'head' }, h('div', null, h('h1', null, 'Devices'), this.summary)),
            this.note,
            this.top,
            h('section', { class: 'stack', 'aria-label': 'Devices' }, this.makeFilters(), this.table.node),
            titledSection('fleet-workers', 'Workers', this.workerTable.node),
        ];
    }

    makeFilters() {
        const set = (key) => (value) => this.setFilter({ [key]: value }, { [key]: value });
        const all = [['', 'All']];
        this.pickers = {
            status: pickerField({ id: 'fleet-status-pick', title: 'Status', choices: statusChoices(null), value: this.filter.status,
                onChange: (v) => this.setFilter({ status: v }, { status: v === 'serving' ? null : v }) }),
            dataset: pickerField({ id: 'fleet-dataset', title: 'Data set', choices: all, value: this.filter.dataset, onChange: set('dataset') }),
            worker: pickerField({ id: 'fleet-worker', title: 'Worker', choices: all, value: this.filter.worker, onChange: set('worker') }),
        };
        this.search = h('input', { class: 'input', id: 'fleet-search', type: 'search', prop: { value: this.filter.text },
            on: { input: () => this.setFilter({ text: this.search.value }, { q: this.search.value }) } });
        this.labelFilter = h('div', { class: 'row' });
        this.drawLabelFilter = steady(this.labelFilter);
        return h('div', { class: 'filters' }, this.pickers.status.node, this.pickers.dataset.node, this.pickers.worker.node,
            h('div', { class: 'field' }, h('label', { for: 'fleet-search' }, 'Name, id or label'), this.search), this.labelFilter);
    }

    setFilter(changes, query) {
        Object.assign(this.filter, changes);
        setQuery(query);
        this.table.showFirstPage();
        this.show();
    }

    async load() {
        const { signal } = this.ctx;
        const turn = ++this.turn;
        const begin = performance.now();
        const [devices, workers] = await Promise.all([
            api.all('/api/v1/devices', { signal, max: MOST_DEVICES }),
            api.all('/api/v1/workers', { signal, max: MOST_DEVICES }),
        ]);
        this.pause = gentlePause(performance.now() - begin);
        await this.runNames.learn(runsOfDevices(devices));
        if (turn !== this.turn) {
            return; // a later look has been taken meanwhile
        }
        this.devices = devices;
        this.isMore = devices.isMore;
        this.workers = new Map(workers.map((w) => [w.id, w]));
        this.show();
        this.again(this.pause);
    }

    show() {
        const { ctx } = this;
        if (ctx.signal.aborted)
            return;
        if (this.devices.length === 0) {
            ctx.host.replaceChildren(this.emptyNode());
            return;
        }
        if (!this.table.node.isConnected)
            append(clear(ctx.host), this.page);
        this.showSummary();
        this.showLabels();
        this.showPickers();
        const shown = this.devices.filter((d) => passesFilter(d, this.filter));
        this.table.update(shown);
        this.plot.update(speedPoints(shown));
        this.workerTable.update([...this.workers.values()]);
    }

    showSummary() {
        const counts = statusCounts(this.devices);
        const workers = [...this.workers.values()].filter((w) => w.status !== 'revoked').length;
        const serving = this.devices.length - counts.revoked;
        this.summary.textContent = `${countOf(serving, 'device')} of ${countOf(workers, 'worker')}`;
        append(clear(this.statuses), DEVICE_STATUSES.map((s) => (
            h('div', null, h('dt', null, stateBadge(s)), h('dd', null, fmtCount(counts[s]))))));
        this.note.hidden = !this.isMore;
        this.note.textContent = `The first ${fmtCount(MOST_DEVICES)} devices are shown; the API has them all, page by page.`;
    }

    showLabels() {
        const serving = this.devices.filter((d) => d.status !== 'revoked');
        const counts = labelCounts(serving);
        this.top.classList.toggle('has-labels', counts.length > 0);
        this.drawLabels(JSON.stringify([counts, serving.length, this.filter.label]), () => (counts.length === 0 ? [] : [
            h('h3', null, 'Labels'),
            countBars(counts.slice(0, MOST_LABELS), { total: serving.length, label: 'Devices by label', pressed: this.filter.label,
                pick: (label) => this.toggleLabel(label) }),
            counts.length > MOST_LABELS ? h('p', { class: 'muted small' }, `and ${countOf(counts.length - MOST_LABELS, 'more label')}`) : null,
        ]));
    }

    toggleLabel(label) {
        const next = this.filter.label === label ? '' : label;
        this.setFilter({ label: next }, { label: next });
    }

    showPickers() {
        const { filter, pickers } = this;
        pickers.status.fill(statusChoices(statusCounts(this.devices)), filter.status);
        const datasets = countTexts(this.devices.map((d) => d.dataset)).map(([text, n]) => [text, `${text} (${fmtCount(n)})`]);
        const workers = [...this.workers.values()].map((w) => [w.id, `${w.name} (${fmtCount(w.num_devices)})`]);
        pickers.dataset.fill([['', 'All'], ...datasets], filter.dataset);
        pickers.worker.fill([['', 'All'], ...workers], filter.worker);
        this.drawLabelFilter(filter.label, () => (filter.label
            ? pressButton(['Only ', isolated(filter.label), ' – show all'], () => this.toggleLabel(filter.label))
            : []));
    }

    emptyNode() {
        return emptyState({
            level: 1,
            title: 'No device is enrolled yet',
            text: 'A worker brings its devices along. Start one beside the data, with the enrollment token of the server’s folder:',
            command: `fedlane-worker --server ${location.origin} --enroll-token-file enrollment.token --data data.json `
                + '--devices 0-9 --state-dir worker',
        });
    }
}

export function viewDevices(ctx) {
    return new FleetView(ctx);
}
