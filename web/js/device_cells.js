// How devices and workers are told in tables: shared by the fleet, a worker's page and a device's page.
import { h, isolated, quantity } from './dom.js';
import { currentTask, labelTexts } from './fleet.js';
import { fmtCount, fmtNumber, nameOr, shortId } from './format.js';
import { placeUrl } from './router.js';
import { stateBadge } from './states.js';
import { timeNode } from './time.js';

function deviceLink(device) {
    const name = nameOr(device.name, shortId(device.id));
    return h('a', { class: 'device-name', href: placeUrl(['devices', device.id]), title: name }, isolated(name));
}

export function workerLink(worker, id) {
    const name = nameOr(worker?.name, shortId(id));
    return id ? h('a', { class: 'device-name', href: placeUrl(['workers', id]), title: name }, isolated(name))
        : h('span', { class: 'muted', title: 'It was enrolled by itself, without a worker process.' }, 'none');
}

// Three digits: a speed is measured, never exact.
export function speedText(stepsPerSecond) {
    return fmtNumber(Number(Number(stepsPerSecond).toPrecision(3)), 3);
}

export function speedNode(stepsPerSecond) {
    return quantity(stepsPerSecond === null ? '–' : `${speedText(stepsPerSecond)} steps/s`);
}

export function labelTags(device, most = Infinity) {
    const texts = labelTexts(device);
    if (texts.length === 0)
        return h('span', { class: 'muted' }, '–');
    const more = texts.length - most;
    return h('span', { class: 'tags' }, texts.slice(0, most).map((text) => h('span', { class: 'tag' }, isolated(text))),
        more > 0 ? h('span', { class: 'muted small', title: texts.slice(most).join('\n') }, `+${more}`) : null);
}

export function taskLink(task, runNames) {
    const name = runNames.get(task.run_id);
    return h('a', { class: 'task-link', href: placeUrl(['runs', task.run_id, 'rounds', String(task.round)]), title: name },
        h('bdi', { class: 'device-name' }, name), `, round ${task.round}`);
}

function taskCell(device, runNames) {
    const task = currentTask(device);
    if (!task)
        return h('span', { class: 'muted' }, 'none');
    const more = device.open_tasks.length - 1;
    return [task.type === 'train' ? 'trains ' : 'evaluates ', taskLink(task, runNames), more > 0 ? ` and ${more} more` : null];
}

function withMuted(node, text) {
    return h('span', { class: 'dataset-cell' }, node, h('span', { class: 'muted' }, ' ', isolated(text)));
}

// facts: {workers: Map of id -> worker, runNames: RunNames}, asked for at each drawing.
export function deviceColumns(facts, { ofWorker = false } = {}) {
    const worker = (device) => facts().workers.get(device.worker_id);
    return [
        { id: 'name', title: 'Device', header: true, sortValue: (d) => d.name, cell: deviceLink },
        { id: 'status', title: 'Status', sortValue: (d) => d.status, cell: (d) => stateBadge(d.status) },
        { id: 'seen', title: 'Last seen', numeric: true, newestFirst: true, sortValue: (d) => d.last_seen_at,
            cell: (d) => timeNode(d.last_seen_at) },
        { id: 'speed', title: 'Speed', numeric: true, hint: 'Steps a second, a moving average over its tasks',
            sortValue: (d) => d.steps_per_second, cell: (d) => speedNode(d.steps_per_second) },
        { id: 'examples', title: 'Examples', numeric: true, hint: 'To train with', sortValue: (d) => d.num_examples,
            cell: (d) => fmtCount(d.num_examples) },
        { id: 'dataset', title: 'Data set', sortValue: (d) => d.dataset,
            cell: (d) => withMuted(isolated(d.dataset), String(d.ordinal)) },
        { id: 'labels', title: 'Labels', cell: (d) => labelTags(d, 2) },
        ...(ofWorker ? [] : [
            { id: 'worker', title: 'Worker', hint: 'And its version', sortValue: (d) => worker(d)?.name ?? null,
                cell: (d) => withMuted(workerLink(worker(d), d.worker_id), worker(d)?.version ?? '') },
        ]),
        { id: 'task', title: 'Current task', sortValue: (d) => currentTask(d)?.round ?? null,
            cell: (d) => taskCell(d, facts().runNames) },
    ];
}

export function workerColumns() {
    return [
        { id: 'name', title: 'Worker', header: true, sortValue: (w) => w.name, cell: (w) => workerLink(w, w.id) },
        { id: 'status', title: 'Status', sortValue: (w) => w.status, cell: (w) => stateBadge(w.status) },
        { id: 'seen', title: 'Last seen', numeric: true, newestFirst: true, sortValue: (w) => w.last_seen_at,
            cell: (w) => timeNode(w.last_seen_at) },
        { id: 'devices', title: 'Devices', numeric: true, sortValue: (w) => w.num_devices, cell: (w) => fmtCount(w.num_devices) },
        { id: 'threads', title: 'Threads', numeric: true, hint: 'For training', sortValue: (w) => w.resources?.threads ?? null,
            cell: (w) => fmtCount(w.resources?.threads) },
        { id: 'version', title: 'Version', sortValue: (w) => w.version, cell: (w) => isolated(w.version || '–') },
    ];
}

function shareText(share) {
    return `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;
}

// Bars of counts: [[text, count]], as a list. pick: makes each a button.
export function countBars(counts, { total, label, pick, pressed }) {
    const most = Math.max(1, ...counts.map(([, n]) => n));
    return h('ul', { class: 'count-bars', 'aria-label': label }, counts.map(([text, n]) => {
        const press = () => h('button', { type: 'button', class: 'button quiet', 'aria-pressed': String(pressed === text),
            on: { click: () => pick(text) } }, isolated(text));
        const name = pick ? press() : isolated(text);
        return h('li', null, h('span', { class: 'count-name' }, name),
            h('span', { class: 'bar-track' }, h('span', { class: 'bar-fill', vars: { w: `${(100 * n) / most}%` } })),
            h('span', { class: 'num' }, fmtCount(n)), h('span', { class: 'num muted' }, shareText(n / total)));
    }));
}
