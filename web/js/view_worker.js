// One worker process: what it runs on and which devices live in it.
import { api, apiPath } from './api.js';
import { confirmDialog } from './confirm.js';
import { deviceColumns } from './device_cells.js';
import { append, clear, h, isolated } from './dom.js';
import { eventPause, gentlePause, runsOfDevices, statusCounts } from './fleet.js';
import { fmtBytes, fmtCount, fmtNumber, nameOr, plainText, shortId } from './format.js';
import { curlDetails, factList, pressButton, titledSection } from './parts.js';
import { plainJson } from './pretty_json.js';
import { lookAgain, renewal } from './renewal.js';
import { RunNames } from './run_names.js';
import { session } from './session.js';
import { loading, stateBadge } from './states.js';
import { steady } from './steady.js';
import { dataTable } from './table.js';
import { timeNode } from './time.js';
import { toast } from './toast.js';

const MOST_DEVICES_OF_WORKER = 10000;
// What a worker tells of its machine, in words; anything else is shown as it came.
const RESOURCES = new Map([
    ['threads', ['Threads for training', fmtCount]],
    ['cpus', ['Processors', fmtCount]],
    ['memory_bytes', ['Memory of the machine', fmtBytes]],
    ['slowdown', ['Slowed down', (x) => (x === 1 ? 'no' : `${fmtNumber(x, 3)} times`)]],
]);

function anyFact(title, value) {
    return [isolated(title), isolated(typeof value === 'string' ? value : plainJson(JSON.stringify(value)))];
}

function resourceFacts(resources) {
    return Object.entries(resources ?? {}).map(([key, value]) => {
        const [title, text] = RESOURCES.get(key) ?? [];
        return title ? [title, text(value)] : anyFact(key, value);
    });
}

class WorkerView {
    constructor(ctx) {
        Object.assign(this, { ctx, id: ctx.place.worker, workers: new Map(), runNames: new RunNames(ctx.signal), turn: 0 });
        this.table = dataTable({ columns: deviceColumns(() => this, { ofWorker: true }), label: 'Devices',
            sort: { id: 'name', dir: 'asc' }, empty: 'It has no device.' });
        this.head = h('div', { class: 'head' });
        this.facts = h('section', { class: 'panel', 'aria-label': 'Facts' });
        this.drawHead = steady(this.head);
        this.drawFacts = steady(this.facts);
        this.count = h('p', { class: 'muted' });
        this.page = [this.head, this.facts,
            titledSection('worker-devices', 'Devices', [this.count, this.table.node]), curlDetails(apiPath('workers', this.id))];
        ctx.host.append(loading());
        this.again = lookAgain(() => this.load(), ctx.signal);
        this.refresh = renewal(() => this.load(), () => eventPause(this.pause), ctx.signal);
        const concerns = ({ type, data }) => data?.worker_id === this.id || type.startsWith('device_');
        ctx.follow({ load: () => this.load(), onEvent: (event) => concerns(event) && this.refresh() });
    }

    async load() {
        const { signal } = this.ctx;
        const turn = ++this.turn;
        const begin = performance.now();
        const [worker, devices] = await Promise.all([
            api.get(apiPath('workers', this.id), { signal }),
            api.all('/api/v1/devices', { signal, max: MOST_DEVICES_OF_WORKER, query: { worker: this.id } }),
        ]);
        this.pause = gentlePause(performance.now() - begin);
        await this.runNames.learn(runsOfDevices(devices));
        if (turn !== this.turn) {
            return; // a later look has been taken meanwhile
        }
        Object.assign(this, { worker, devices });
        this.show();
        this.again(this.pause);
    }

    show() {
        const { ctx, worker, devices } = this;
        if (ctx.signal.aborted)
            return;
        ctx.setTitle(worker.name);
        if (!this.table.node.isConnected)
            append(clear(ctx.host), this.page);
        this.drawHead(JSON.stringify([worker.name, worker.status, worker.revoked_at]), () => this.headNodes());
        this.drawFacts(JSON.stringify({ ...worker, devices: null }), () => this.factNodes());
        const counts = statusCounts(devices);
        const others = devices.isMore ? '; the API has the others' : '';
        this.count.textContent = `${fmtCount(devices.length)} in all, ${fmtCount(counts.online)} online${others}`;
        this.table.update(devices);
    }

    headNodes() {
        const { worker } = this;
        const revoke = session.can('revoke') && !worker.revoked_at
            ? pressButton('Revoke', () => this.revoke(), { kind: 'danger' }) : null;
        return [h('div', null, h('p', { class: 'small' }, h('a', { href: '#/devices' }, 'Devices')), h('h1', null, isolated(nameOr(worker.name, shortId(worker.id)))),
            h('p', null, stateBadge(worker.status), worker.revoked_at ? [' ', timeNode(worker.revoked_at)] : null)), revoke];
    }

    factNodes() {
        const { worker } = this;
        const capabilities = Object.entries(worker.capabilities ?? {})
            .map(([key, value]) => anyFact(key.charAt(0).toUpperCase() + key.slice(1), value));
        return factList([
            ['Last seen', timeNode(worker.last_seen_at)], ['Version', isolated(worker.version || '–')], ...capabilities,
            ...resourceFacts(worker.resources), ['Enrolled', timeNode(worker.created_at)], ['Id', h('code', null, worker.id)],
        ]);
    }

    async revoke() {
        const { worker } = this;
        const n = worker.num_devices;
        const isSure = await confirmDialog({ title: `Revoke ${plainText(worker.name)}?`, action: 'Revoke', danger: true,
            text: `Its token ends, ${n === 1 ? 'its device is' : `its ${fmtCount(n)} devices are`} revoked and open tasks fail. `
                + 'Past work stays. To come back it has to be enrolled anew.' });
        if (!isSure)
            return;
        try {
            await api.del(apiPath('workers', this.id));
        } catch (error) {
            toast(`Not revoked: ${error.message}`, 'bad');
            return;
        }
        toast(`${plainText(worker.name)} is revoked`);
        this.load().catch(() => this.refresh());
    }
}

export function viewWorker(ctx) {
    return new WorkerView(ctx);
}
