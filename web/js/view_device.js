// One device: what it is, what it has, what it did in which round.
import { api, apiPath } from './api.js';
import { confirmDialog } from './confirm.js';
import { lineChart } from './charts.js';
import { countBars, labelTags, speedNode, taskLink, workerLink } from './device_cells.js';
import { append, clear, h, isolated, quantity } from './dom.js';
import { FLEET_RENEW_MS, classCounts, eventPause, gentlePause, renewedHistory, runsOfDevices } from './fleet.js';
import { fmtCount, fmtDuration, fmtLoss, nameOr, parseNumber, plainText, shortId } from './format.js';
import { curlDetails, factList, pressButton, titledSection } from './parts.js';
import { plainJson } from './pretty_json.js';
import { setQuery } from './router.js';
import { lookAgain, renewal } from './renewal.js';
import { RunNames } from './run_names.js';
import { byRound, curvesOf, roundsBetween, valuesThere } from './series.js';
import { session } from './session.js';
import { loading, stateBadge } from './states.js';
import { pickerField, steady } from './steady.js';
import { dataTable } from './table.js';
import { BATCH_LOSSES, LOSS_AFTER, LOSS_BEFORE, taskState, taskStateCell, taskStepsCell } from './task_cells.js';
import { timeNode } from './time.js';
import { toast } from './toast.js';

const MOST_HISTORY = 500;
const NEWEST = 20; // of the history, when it is looked at again
const MOST_POINTS = 600;
const EVALUATED = { all_devices: 'All devices', selected: 'Selected devices' }; // by evaluation.on

function taskTookMs(task) {
    const [begin, end] = [Date.parse(task.claimed_at ?? ''), Date.parse(task.uploaded_at ?? '')];
    return Number.isFinite(begin) && Number.isFinite(end) ? end - begin : null;
}

function historyColumns(runNames) {
    const report = (key) => (task) => parseNumber(task.report?.[key]);
    return [
        { id: 'round', title: 'Round', header: true, newestFirst: true, sortValue: (t) => t.created_at,
            cell: (t) => taskLink(t, runNames()) },
        { id: 'type', title: 'Work', sortValue: (t) => t.type, cell: (t) => (t.type === 'train' ? 'train' : 'evaluate') },
        { id: 'status', title: 'Outcome', sortValue: taskState, cell: taskStateCell },
        { id: 'steps', title: 'Steps done of assigned', numeric: true, sortValue: (t) => t.steps_done,
            cell: (t) => (t.type === 'train' ? taskStepsCell(t) : h('span', { class: 'muted' }, '–')) },
        { id: 'start', title: 'Loss before', numeric: true, hint: LOSS_BEFORE, sortValue: report('train_loss_start'),
            cell: (t) => fmtLoss(report('train_loss_start')(t)) },
        { id: 'end', title: 'Loss after', numeric: true, sortValue: report('train_loss_end'),
            hint: `${LOSS_AFTER}. Of an evaluation: the mean over all its training examples`,
            cell: (t) => fmtLoss(report('train_loss_end')(t) ?? t.train_loss) },
        { id: 'gamma', title: 'Gamma', numeric: true, hint: 'How inexactly it solved its local problem',
            sortValue: report('gamma'), cell: (t) => fmtLoss(report('gamma')(t)) },
        { id: 'norm', title: 'Update norm', numeric: true, sortValue: report('update_norm'),
            cell: (t) => fmtLoss(report('update_norm')(t)) },
        { id: 'took', title: 'Took', numeric: true, hint: 'From the claim to the update', sortValue: taskTookMs,
            cell: (t) => quantity(fmtDuration(taskTookMs(t))) },
        { id: 'when', title: 'When', numeric: true, newestFirst: true, sortValue: (t) => t.created_at,
            cell: (t) => timeNode(t.uploaded_at ?? t.claimed_at ?? t.created_at) },
    ];
}

class DeviceView {
    constructor(ctx) {
        const { run = '', type } = ctx.query;
        Object.assign(this, { ctx, id: ctx.place.device, run, type: type === 'evaluate' ? type : 'train',
            tasks: null, course: null, runs: new Set(), turn: 0 });
        this.runNames = new RunNames(ctx.signal);
        this.table = dataTable({ columns: historyColumns(() => this.runNames), label: 'History', pageSize: 50, sort: { id: 'when', dir: 'desc' },
            empty: 'It has had no such task yet. A run selects it when its turn comes.' });
        this.makePage();
        ctx.host.append(loading());
        this.again = lookAgain(() => this.look(), ctx.signal);
        this.refresh = renewal(() => this.look(), () => eventPause(this.pause), ctx.signal);
        ctx.follow({ load: () => this.load(), onEvent: (event) => this.concerns(event) && this.refresh() });
        ctx.signal.addEventListener('abort', () => this.chart?.destroy());
    }

    concerns({ type, data }) {
        if (type.startsWith('worker_'))
            this.worker = null;
        return data?.device_id === this.id || (type.startsWith('worker_') && data?.worker_id === this.device?.worker_id);
    }

    makePage() {
        this.head = h('div', { class: 'head' });
        this.facts = h('section', { class: 'panel stack', 'aria-label': 'Facts' });
        this.chartHost = h('div');
        this.chartPanel = h('section', { class: 'panel', 'aria-label': 'Course of its loss', hidden: true }, this.chartHost);
        this.drawHead = steady(this.head);
        this.drawFacts = steady(this.facts);
        this.runPick = pickerField({ id: 'device-run', title: 'Run', choices: [['', 'All']], value: this.run,
            onChange: (run) => this.choose({ run }) });
        this.typePick = pickerField({ id: 'device-type', title: 'Work', value: this.type,
            choices: [['train', 'Train'], ['evaluate', 'Evaluate']], onChange: (type) => this.choose({ type }) });
        this.more = h('p', { class: 'muted small' });
        this.page = [this.head, this.facts, this.chartPanel,
            titledSection('device-history', 'History', [
                h('div', { class: 'filters' }, this.runPick.node, this.typePick.node),
                h('p', { class: 'muted small' }, BATCH_LOSSES), this.table.node, this.more]),
            curlDetails(apiPath('devices', this.id), `${apiPath('devices', this.id, 'tasks')}?type=train`)];
    }

    async choose(changes) {
        Object.assign(this, changes);
        setQuery({ run: this.run, type: this.type === 'train' ? null : this.type });
        this.table.showFirstPage();
        try {
            await this.load();
        } catch (error) {
            this.again(FLEET_RENEW_MS);
            if (!this.ctx.signal.aborted)
                toast(`The history could not be loaded: ${error.message}`, 'bad');
        }
    }

    async load() {
        this.tasks = null;
        this.course = null;
        await this.look();
    }

    // All of it the first time, then what is new.
    async look() {
        const { signal } = this.ctx;
        const turn = ++this.turn;
        const begin = performance.now();
        const [device, tasks] = await Promise.all([
            api.get(apiPath('devices', this.id), { signal }),
            this.readHistory(),
        ]);
        const worker = await this.readWorker(device.worker_id);
        const took = performance.now() - begin;
        tasks.forEach((task) => this.runs.add(task.run_id));
        await this.runNames.learn([this.run, ...runsOfDevices([device]), ...this.runs].filter(Boolean));
        if (turn !== this.turn) {
            return; // another run or kind of work has been chosen meanwhile
        }
        Object.assign(this, { device, tasks, worker });
        this.show();
        this.pause = gentlePause(took + await this.showCourse());
        this.again(this.pause);
    }

    async readHistory() {
        const path = apiPath('devices', this.id, 'tasks');
        const query = { run: this.run, type: this.type };
        const { ctx: { signal }, tasks: known } = this;
        if (known) {
            const page = await api.get(path, { signal, query: { ...query, limit: NEWEST } });
            const renewed = renewedHistory(known, page.items, !page.next_cursor);
            if (renewed)
                return Object.assign(renewed.slice(0, MOST_HISTORY), { isMore: known.isMore || renewed.length > MOST_HISTORY });
        }
        return api.all(path, { signal, max: MOST_HISTORY, query });
    }

    // Only its name and version are shown, which change with an event.
    readWorker(id) {
        if (!id || id === this.worker?.id)
            return id ? this.worker : null;
        return api.get(apiPath('workers', id), { signal: this.ctx.signal });
    }

    show() {
        const { ctx, device } = this;
        if (ctx.signal.aborted)
            return;
        ctx.setTitle(device.name);
        if (!this.table.node.isConnected)
            append(clear(ctx.host), this.page);
        this.drawHead(JSON.stringify([device.name, device.status, device.revoked_at, this.worker?.name]), () => this.headNodes());
        this.drawFacts(JSON.stringify([device, this.worker?.name, this.worker?.version]), () => this.factNodes());
        const known = [...new Set([this.run, ...this.runs].filter(Boolean))];
        this.runPick.fill([['', 'All'], ...known.map((id) => [id, this.runNames.get(id)])], this.run);
        this.table.update(this.tasks);
        this.more.textContent = this.tasks.isMore ? `The newest ${MOST_HISTORY}; the API has them all.` : '';
    }

    headNodes() {
        const { device } = this;
        const revoke = session.can('revoke') && !device.revoked_at
            ? pressButton('Revoke', () => this.revoke(), { kind: 'danger' }) : null;
        const trail = h('p', { class: 'small' }, h('a', { href: '#/devices' }, 'Devices'),
            device.worker_id ? [' / ', workerLink(this.worker, device.worker_id)] : null);
        return [h('div', null, trail, h('h1', null, isolated(nameOr(device.name, shortId(device.id)))),
            h('p', null, stateBadge(device.status), device.revoked_at ? [' ', timeNode(device.revoked_at)] : null)), revoke];
    }

    async revoke() {
        const { device } = this;
        const isSure = await confirmDialog({ title: `Revoke ${plainText(device.name)}?`, action: 'Revoke', danger: true,
            text: 'Its open tasks fail and its own token ends. Its past work stays. To come back it has to be enrolled anew.' });
        if (!isSure)
            return;
        try {
            await api.del(apiPath('devices', this.id));
        } catch (error) {
            toast(`Not revoked: ${error.message}`, 'bad');
            return;
        }
        toast(`${plainText(device.name)} is revoked`);
        this.look().catch(() => this.refresh());
    }

    factNodes() {
        const { device, worker } = this;
        const open = device.open_tasks ?? [];
        const unit = (...nodes) => h('span', { class: 'unit' }, nodes);
        const classes = classCounts(device);
        const other = Object.entries(device.capabilities ?? {}).filter(([key]) => key !== 'label_counts');
        return [
            factList([
                ['Last seen', timeNode(device.last_seen_at)],
                ['Speed', speedNode(device.steps_per_second)],
                ['Examples', fmtCount(device.num_examples), unit(` and ${fmtCount(device.num_test_examples)} to test`)],
                ['Data set', isolated(device.dataset), unit(` number ${device.ordinal}`)],
                ['Input', device.input?.length > 0 ? device.input.join(' × ') : '–'],
                ['Classes', device.classes > 0 ? fmtCount(device.classes) : '–'],
                ['Worker', workerLink(worker, device.worker_id), worker ? unit(' ', isolated(worker.version)) : null],
                ['Enrolled', timeNode(device.created_at)],
                ['Works on', open.length > 0 ? open.map((task, i) => [i > 0 ? ', ' : null, taskLink(task, this.runNames)]) : 'nothing'],
                Object.keys(device.labels ?? {}).length > 0 ? ['Labels', labelTags(device)] : null,
            ]),
            classes ? [h('h3', null, 'Examples by class'),
                countBars(classes, { label: 'Examples by class', total: classes.reduce((sum, [, n]) => sum + n, 0) })] : null,
            other.length > 0 ? [h('h3', null, 'Capabilities'), h('pre', { class: 'spec', tabindex: 0, role: 'group', 'aria-label': 'Capabilities' },
                plainJson(JSON.stringify(Object.fromEntries(other), null, 2)))] : null,
        ];
    }

    // Curves as [[round, value]], of this device and of all: what came after those that are there, while that is little.
    async readCourse(run) {
        const known = this.course?.run === run && this.course.all.length < 2 * MOST_POINTS ? this.course : { own: [], all: [] };
        const last = known.all[known.all.length - 1];
        const since = last ? last[0] + 1 : null;
        const get = (device) => api.get(apiPath('runs', run, 'metrics'), { signal: this.ctx.signal,
            query: { name: 'train_loss', device, since_round: since, max_points: MOST_POINTS } });
        const [own, all] = (await Promise.all([get(this.id), get('aggregate')]))
            .map(({ items }) => byRound(curvesOf(items.map((p) => ({ ...p, ordinal: null }))).get('train_loss') ?? []));
        const before = (curve) => curve.filter(([round]) => since === null || round < since);
        this.course = { run, own: [...before(known.own), ...own], all: [...known.all, ...all] };
        return [this.course.own, this.course.all];
    }

    // Its loss over the rounds of the run that is chosen, or of its newest, beside that of all devices. How long asking took.
    async showCourse() {
        const { turn } = this;
        const run = this.run || this.tasks[0]?.run_id;
        if (!run) {
            this.chartPanel.hidden = true;
            return 0;
        }
        const begin = performance.now();
        const [own, all] = await this.readCourse(run);
        const took = performance.now() - begin;
        if (turn !== this.turn)
            return took;
        const evaluation = this.runNames.evaluation(run);
        const there = valuesThere(all.map(([round]) => ({ round })), MOST_POINTS, roundsBetween('train_loss', evaluation));
        const series = [{ name: 'This device', points: own }, { name: EVALUATED[evaluation?.on] ?? 'Devices evaluated', points: all, there }];
        this.chartPanel.hidden = series.every((one) => one.points.length === 0);
        const options = { title: `Train loss in ${this.runNames.get(run)}`, x: { title: 'Round' }, y: { title: 'Train loss' },
            series, height: 240, file: { name: `${this.device?.name || 'device'} train loss`, x: 'round',
                all: '“Metrics as CSV” on the run’s page' } };
        if (this.chartPanel.hidden || this.ctx.signal.aborted)
            return took;
        if (this.chart)
            this.chart.update(options);
        else
            this.chart = lineChart(this.chartHost, options);
        return took;
    }
}

export function viewDevice(ctx) {
    return new DeviceView(ctx);
}
